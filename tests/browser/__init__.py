"""The browser tests: a package, whose fixtures of that scope end with its last test."""
