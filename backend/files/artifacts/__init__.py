"""Downloads: files of runs, packed on request."""
