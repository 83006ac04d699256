"""What runs take up, what of it goes after a while, and what waits to be deleted."""
