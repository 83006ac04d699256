"""Views of the run list that people keep and share."""
