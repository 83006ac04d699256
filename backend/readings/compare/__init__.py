"""Comparison of runs: configs, curves, accuracy, cost."""
