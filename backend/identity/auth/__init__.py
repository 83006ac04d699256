"""Logins: users, sessions, tokens, one-time codes."""
