"""Storage: sizes of runs, retention, deletion."""
