"""Request and response bodies of `/api/v1`, one definition for the server, `bapo.client` and the worker.

All times are UTC. Lists answer `{"items": …, "next_cursor": …}`. Errors answer `ErrorBody`.
"""
