"""Variables by which other programs configure the libraries that our services use."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

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
