"""All prompt visits of a run as columns, cached in the process."""
