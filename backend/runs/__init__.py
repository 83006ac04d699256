"""Runs: states, lifecycle, lists, details."""
