"""What the server refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bapo.client import ApiError


@contextmanager
def refuses(status: int, code: str | None = None, *, field: str | None = None) -> Iterator[None]:
    """Expects a refusal of what is asked inside: with this status, and this code and field where they are given."""
    with pytest.raises(ApiError) as refusal:
        yield
    body = refusal.value.body
    assert refusal.value.status == status
    assert code in (None, body.code)
    assert field in (None, body.field)
