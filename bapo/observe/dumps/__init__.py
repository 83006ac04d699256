"""Reads the files in which other trainers keep their rollouts, step by step, and makes an observed run of them."""
