"""What is wrong with a config: field, value and remedy, the same words in the UI, the API and the CLI."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One thing to mend."""

    field: str
    """Dotted path, such as `method.c1`."""
    value: Any
    """What was given; None where nothing was."""
    remedy: str
    """What is wrong with it and what to write instead."""

    def __str__(self) -> str:
        given = "" if self.value is None else f" = {self.value!r}"
        return f"{self.field}{given}: {self.remedy}"


class ConfigError(ValueError):
    """A config that cannot be run, with every problem found."""

    def __init__(self, problems: Sequence[ConfigProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(str(problem) for problem in self.problems))


def problems_of(error: ValidationError, known_fields: Iterable[str]) -> list[ConfigProblem]:
    """Translate pydantic's findings; a misspelt field gets the nearest known name as its remedy.

    Our own validators may begin a message with `field|` to name the field that a rule between fields concerns.
    """
    names = list(known_fields)
    problems = []
    for finding in error.errors(include_url=False):
        path = [str(part) for part in finding["loc"]]
        # A union puts the chosen member's tag into the path ("method", "bapo", "c1").
        if len(path) > 1 and path[0] == "method" and path[1] in ("grpo", "grpo_delayed", "bapo", "bapo_mini"):
            del path[1]
        field = ".".join(path) or "config"
        value = finding.get("input")
        message = finding["msg"].removeprefix("Value error, ")
        if finding["type"] == "extra_forbidden":
            near = difflib.get_close_matches(field, names, n=1, cutoff=0.6)
            leaf = [name for name in names if name.rsplit(".", 1)[-1] == path[-1]]
            guess = near[0] if near else (leaf[0] if leaf else None)
            remedy = "no such field" + (f": did you mean {guess}?" if guess else ": remove it")
        elif "|" in message and " " not in message.split("|", 1)[0]:
            field, remedy = message.split("|", 1)
            value = _value_at(value, field)
        else:
            remedy = message[0].lower() + message[1:]
        problems.append(ConfigProblem(field, value, remedy))
    return problems


def _value_at(given: Any, field: str) -> Any:
    """The value of the dotted field in the input of a failed model, or None."""
    for part in field.split("."):
        if isinstance(given, dict) and part in given:
            given = given[part]
        elif isinstance(given, dict):
            # The failed model may be the section itself, so its own name is not in the input.
            continue
        else:
            given = getattr(given, part, None)
    return given if isinstance(given, str | int | float | list | tuple) else None
