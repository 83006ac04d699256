"""Turns rows of the database into bodies of the API."""

from __future__ import annotations

from typing import TypeVar

from bapo.api.base import Body

BodyT = TypeVar("BodyT", bound=Body)

_MISSING = object()


def rendered(model: type[BodyT], *rows: object, **fields: object) -> BodyT:
    """Return a body with these fields; each other field is the attribute of its name of the first row that has one.

    Raises AttributeError for a field that none of the rows has, even where the body has a default for it.
    """
    for name in model.model_fields.keys() - fields.keys():
        for row in rows:
            value = getattr(row, name, _MISSING)
            if value is not _MISSING:
                fields[name] = value
                break
        else:
            raise AttributeError(f"no row has {name!r} for {model.__name__}")
    return model.model_validate(fields)
