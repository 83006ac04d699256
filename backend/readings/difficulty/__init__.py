"""Moves of a run's prompts between accuracies."""
