"""Processes of the services: commands that start them, variables kept from them, the event that stops them."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

_FOREIGN = re.compile(r"PG[A-Z]+|(CELERY|DASH|FLASK|UVICORN)_\w+|WEB_CONCURRENCY|FORWARDED_ALLOW_IPS")
"""libpq reads PGOPTIONS, PGSERVICE, PGPORT and others where an address does not set them, PostgreSQL's server some of
them; Celery takes CELERY_BROKER_URL before the address that it is given; Dash serves under DASH_URL_BASE_PATHNAME."""


def is_foreign(name: str) -> bool:
    """Return whether a variable is meant for another program's database, broker or web server."""
    return _FOREIGN.fullmatch(name) is not None


@contextmanager
def without_foreign_variables() -> Iterator[Mapping[str, str]]:
    """Take them out of this process's environment, and so out of that of its children; gives what was taken out."""
    taken = {name: os.environ.pop(name) for name in list(os.environ) if is_foreign(name)}
    try:
        yield taken
    finally:
        os.environ.update(taken)


Service = Literal["backend", "frontend", "worker"]


def service_command(service: Service, *arguments: str) -> list[str]:
    """Return `python -m SERVICE ...` with the Python that runs this."""
    return [sys.executable, "-m", service, *arguments]


class Stop(threading.Event):
    """Can be set by a handler that interrupts its own `wait`; wait with a timeout.

    A handler runs in the main thread between any two instructions. Where these are `wait`'s, which holds the event's
    lock, setting a plain `threading.Event` waits for that lock forever.
    """

    def __init__(self) -> None:
        super().__init__()
        self._cond = threading.Condition()  # Its lock may be taken again by the thread that holds it.
