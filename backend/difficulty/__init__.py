"""How a run's prompts move between accuracies."""
