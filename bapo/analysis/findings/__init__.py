"""Findings: what is wrong with a run's data, how sure that is, and what to do about it. One module per finding."""
