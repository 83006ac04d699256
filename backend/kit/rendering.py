"""Turns rows of the database into bodies of the API."""

from __future__ import annotations

from typing import TypeVar

from bapo.api.base import Body

BodyT = TypeVar("BodyT", bound=Body)


def rendered(model: type[BodyT], *rows: object, **fields: object) -> BodyT:
    """A body with these fields; each other field is the attribute of its name of the first row that has one.

    Raises AttributeError for a field that none of the rows has, even where the body has a default for it.
    """
    for name in model.model_fields.keys() - fields.keys():
        row = next((row for row in rows if hasattr(row, name)), rows[-1])
        fields[name] = getattr(row, name)
    return model.model_validate(fields)
