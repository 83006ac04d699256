"""Starts, checks, configures and backs up the services."""
