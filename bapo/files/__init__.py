"""Archives, locks, and reading files beneath a folder and nowhere else."""
