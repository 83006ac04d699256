"""Webhooks: messages about runs and alerts to other services."""
