"""Prompt lists: which prompts the next runs leave out, and which they see more or less often."""
