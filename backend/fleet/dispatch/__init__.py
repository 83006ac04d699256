"""Gives queued runs to workers, and follows each attempt from its claim to its end."""
