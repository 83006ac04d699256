"""Analyses of recorded runs: pure functions over their records, with result types of their own."""
