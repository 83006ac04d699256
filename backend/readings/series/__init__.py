"""Series of a run: metrics, groups and timings by step."""
