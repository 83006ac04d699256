"""Runs that were trained without a server."""
