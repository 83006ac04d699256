"""Who did what on this server."""
