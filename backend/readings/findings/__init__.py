"""Findings: what is wrong with a run's data, and what to do about it."""
