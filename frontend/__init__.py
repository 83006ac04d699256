"""The dashboard: one more client of the API, with no power that the user's own session does not have."""
