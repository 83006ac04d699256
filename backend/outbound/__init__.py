"""Connections to addresses that users name: what may be called, and the call."""
