"""Training prompts over a whole run."""
