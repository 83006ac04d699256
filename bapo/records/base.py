"""The base of every journal line: its schema number, and how numbers are checked and written.

A reader accepts all schemas up to its own, and rejects a later one by name. Lines of schema 3 hold everything; lines of
schema 4, which observers of other trainers write, leave out what those do not report. Schemas 1 and 2, up to version
0.2, differ in the prompts of a step: one object for each, where 3 and 4 have one list per field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, GetPydanticSchema

from bapo.config.descriptions import describe_properties
from bapo.rollout import BatchSource

SCHEMA = 3
"""Schema of our trainer's records."""
OBSERVED_SCHEMA = 4
"""Schema of an observer's records: fields that may be None may be absent."""

RATIO_BIN_EDGES: tuple[float, ...] = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 1.02, 1.05, 1.1, 1.2, 1.4, 2.0)
"""Edges of the ratio histogram: 13 bins, the outer two open, bin i = [edge i-1, edge i)."""


def _known_schema(schema: int) -> int:
    if not 1 <= schema <= OBSERVED_SCHEMA:
        raise ValueError(f"schema {schema} is not known here, only 1 to {OBSERVED_SCHEMA}: update bapo")
    return schema


SchemaNumber = Annotated[int, AfterValidator(_known_schema)]


class Record(BaseModel):
    """Part of a journal line. Unknown fields of a newer minor writer are kept out, not fatal.

    A NaN or an infinity, as a diverging run has them, is written as the string "NaN", "Infinity" or "-Infinity": the
    line stays JSON and reads back as what it was.
    """

    model_config = ConfigDict(
        extra="ignore", frozen=True, json_schema_extra=describe_properties, ser_json_inf_nan="strings"
    )


# Pydantic checks and writes any sequence and any mapping by Python code, a list and a dictionary without: a quarter of
# what writing a step takes, and a fifth of reading it.
Counts = Annotated[Sequence[int], GetPydanticSchema(lambda _, schema_of: schema_of(list[int]))]
Figures = Annotated[Mapping[str, float], GetPydanticSchema(lambda _, schema_of: schema_of(dict[str, float]))]
BySource = Annotated[
    Mapping[BatchSource, float], GetPydanticSchema(lambda _, schema_of: schema_of(dict[BatchSource, float]))
]
