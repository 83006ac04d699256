"""Server-sent events: a log in the database, announced by NOTIFY, streamed to every listening browser."""
