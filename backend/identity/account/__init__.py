"""A user's own account, and the workers' tokens."""
