"""Replay of a recorded stream of accuracies under other settings."""
