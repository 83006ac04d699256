"""Registered data sets, models and verifiers."""
