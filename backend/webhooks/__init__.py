"""Webhooks: whom to tell what happens, and the telling."""
