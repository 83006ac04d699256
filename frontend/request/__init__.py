"""The request at hand, for all rooms: its session, its prefix, its calls of callbacks, and answers to it."""
