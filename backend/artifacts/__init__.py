"""Files made of runs to be downloaded."""
