"""Imports of runs that trained without a server."""
