"""Totals of each run's visits of prompts and sums over a project, cached so that no page reads all visits."""
