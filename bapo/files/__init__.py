"""Archives, and reading files beneath a folder and nowhere else."""
