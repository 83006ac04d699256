"""Problems of a config: field, value and remedy, in the same words in the UI, the API and the CLI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticCustomError

from bapo.config.descriptions import describe_properties


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One thing to correct."""

    field: str
    """Dotted path, such as `method.c1`."""
    value: Any
    """The given value; None if there is none."""
    remedy: str
    """The fault, and what to write instead."""

    def __str__(self) -> str:
        given = "" if self.value is None else f" = {self.value!r}"
        return f"{self.field}{given}: {self.remedy}"


class ConfigError(ValueError):
    """A config that cannot be run, with all its problems."""

    def __init__(self, problems: Sequence[ConfigProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(str(problem) for problem in self.problems))


BROKEN_RULE = "broken_rule"


def broken_rule(field: str, remedy: str) -> PydanticCustomError:
    """Return the error of a rule between fields, for validators to raise; `field` is the one to correct."""
    return PydanticCustomError(BROKEN_RULE, "{field}: {remedy}", {"field": field, "remedy": remedy})


class FieldProblem(BaseModel):
    """Problem of a request, with its remedy."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=describe_properties)

    field: str
    value: Any = None
    remedy: str
