"""Reports of runs and studies as downloads."""
