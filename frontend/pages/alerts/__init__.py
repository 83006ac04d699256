"""Alerts, the rules that open them, and the webhooks that they are sent to: three pages under one heading."""
