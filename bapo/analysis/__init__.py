"""Statistics over recorded runs."""
