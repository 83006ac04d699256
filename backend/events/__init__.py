"""Server-sent events: a log in the database, announced by NOTIFY, handed to every listening browser."""
