"""Prices of compute hours, with their history."""
