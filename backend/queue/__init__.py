"""What waits and why, and what runs where, for people."""
