"""Studies: declared before the first run, made through the queue, read as one report."""
