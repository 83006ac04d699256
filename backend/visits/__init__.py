"""All prompt visits of a run as columns, kept in the process while the run is looked at."""
