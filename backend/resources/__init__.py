"""Data sets, models and verifiers that are registered under a name."""
