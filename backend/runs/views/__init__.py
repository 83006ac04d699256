"""Saved views of the run list."""
