"""Countdown: reach a target with each of the given numbers exactly once (arXiv:2602.20722, planning)."""
