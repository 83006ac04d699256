"""Boards: the list of a person's projects, and one board with its charts, texts and figures."""
