"""Responses kept as text."""
