"""Base of all tables."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import DateTime, MetaData, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase

ID_LETTERS = "abcdefghjkmnpqrstvwxyz0123456789"
"""Without i, l, o and u, which are misread or make words."""


class Base(DeclarativeBase):
    """Common base: constraint names are fixed, so that a later migration can name them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        str: Text(),
        datetime: DateTime(timezone=True),
        dict[str, Any]: JSONB(),
    }


def new_id() -> str:
    """Return a short random identifier, fit for an address, a folder name and reading aloud (49 bits)."""
    return "".join(secrets.choice(ID_LETTERS) for _ in range(10))
