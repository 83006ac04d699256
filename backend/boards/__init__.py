"""Boards of projects: what they hold, what their panels show, and the links that show them without a login."""
