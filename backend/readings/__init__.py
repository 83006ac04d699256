"""Readings of recorded runs: what prompts, samples and batches did, in one run and in several."""
