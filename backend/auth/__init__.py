"""Who is asking: users, sessions, tokens, one-time codes."""
