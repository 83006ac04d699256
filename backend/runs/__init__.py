"""Runs: submit, list, read, steer."""
