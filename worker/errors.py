"""Errors that keep a worker from working."""

from __future__ import annotations


class WorkerError(Exception):
    """The worker cannot work; the message is one line with the remedy."""
