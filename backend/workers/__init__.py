"""Workers: registration, claims, heartbeats, and who gets which run."""
