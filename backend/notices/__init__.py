"""News for people and other services: event streams, alerts, webhooks."""
