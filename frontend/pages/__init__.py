"""Pages of the dashboard: a module with `PAGES` says which addresses it answers, one with `register` makes it react."""
