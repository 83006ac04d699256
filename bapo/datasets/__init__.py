"""Published data sets, from their authors' files to the files that tasks read."""
