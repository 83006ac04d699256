"""Prompts over all runs of a project: the list, and one prompt across runs."""
