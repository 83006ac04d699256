"""Conditions on any column of the run list, as text: `config.method.c1 >= 0.25`, `method = bapo, grpo`, `name ~ wide`.

| condition | holds where the column |
|---|---|
| `COLUMN = A, B` | is one of these; `["a, b"]` for values with commas |
| `COLUMN != A, B` | is none of these |
| `COLUMN >= A`, `<=`, `>`, `<` | is a number, or a time, in that range |
| `COLUMN ~ TEXT` | contains this text, in upper or lower case |
| `COLUMN is missing`, `COLUMN is present` | has no value, has one |
"""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, cast, func, literal, not_
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, JSONB
from sqlalchemy.types import DateTime, Text

from backend.kit.errors import Problem
from backend.runs.columns import NO_NUMBER, NO_TIME, NO_VALUE, Column, as_text, column

_FORM = re.compile(r"(?P<name>[^\s=!<>~]+)\s*(?P<operator>!=|>=|<=|=|>|<|~|\bis\b)\s*(?P<value>.*)", re.DOTALL)
_NO_TEXT = literal("", Text)


class _Condition(NamedTuple):
    """One condition, with the text that it was read from."""

    text: str
    operator: str
    value: str


def condition(text: str) -> ColumnElement[bool]:
    """Return the condition in SQL. Raises Problem 422 if it does not parse, or for an unknown column or unfit value."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise _refused(text, "write COLUMN, an operator (= != >= <= > < ~) and a value, such as config.method.c1>=0.25")
    of = column(found["name"], "where")
    asked = _Condition(text, found["operator"], found["value"].strip())
    if not asked.value:
        raise _refused(text, f"nothing follows {asked.operator}: give a value, or write “{of.name} is missing”")
    match asked.operator:
        case "is":
            return _presence(of, asked)
        case "~":
            return as_text(of).icontains(asked.value, autoescape=True)
        case "=" | "!=":
            among = of.expression.in_([_operand(of, asked, value) for value in _values(asked)])
            return among if asked.operator == "=" else not_(among)
    return _range(of, asked)


def _refused(text: str, remedy: str) -> Problem:
    return Problem(422, "invalid_request", remedy, field="where", value=text)


def _presence(of: Column, asked: _Condition) -> ColumnElement[bool]:
    absent = {"number": NO_NUMBER, "time": NO_TIME, "text": _NO_TEXT, "json": NO_VALUE}[of.kind]
    match asked.value:
        case "missing":
            return of.expression == absent
        case "present":
            return of.expression != absent
    raise _refused(asked.text, f"write “{of.name} is missing” or “{of.name} is present”")


def _values(asked: _Condition) -> list[Any]:
    """Return the values of a set: a JSON list, or texts between commas."""
    if asked.value.startswith("["):
        try:
            return list(json.loads(asked.value))
        except ValueError:
            raise _refused(asked.text, 'this is no JSON list: write ["a", "b"]') from None
    values = [part.strip() for part in asked.value.split(",") if part.strip()]
    if not values:
        raise _refused(asked.text, "there is no value between the commas: give one")
    return values


def _operand(of: Column, asked: _Condition, value: Any) -> ColumnElement[Any]:
    match of.kind:
        case "number":
            return literal(_number(asked, value), DOUBLE_PRECISION)
        case "time":
            return literal(_time(asked, value), DateTime(timezone=True))
        case "text":
            return literal(value if isinstance(value, str) else json.dumps(value), Text)
    return cast(literal(json.dumps(_json(asked, value)), Text), JSONB)


def _json(asked: _Condition, value: Any) -> Any:
    """Return the value between commas as a number or a truth value if it reads like one, else as a text."""
    if not isinstance(value, str) or asked.value.startswith("["):
        return value
    try:
        read = json.loads(value)
    except ValueError:
        return value
    return value if isinstance(read, float) and not math.isfinite(read) else read


def _number(asked: _Condition, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise _refused(asked.text, f"{value!r} is no number: give one such as 0.25")
    return number


def _time(asked: _Condition, value: Any) -> datetime:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        raise _refused(asked.text, f"{value!r} is no time: give one such as 2026-05-01T00:00Z") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _range(of: Column, asked: _Condition) -> ColumnElement[bool]:
    if of.kind == "text":
        raise _refused(asked.text, f"{of.name} is a text: use = for its values, or ~ for a part of it")
    if of.kind == "time":
        return and_(of.expression != NO_TIME, of.expression.op(asked.operator)(_time(asked, asked.value)))
    number = _number(asked, asked.value)
    if of.kind == "number":
        return and_(of.expression != NO_NUMBER, of.expression.op(asked.operator)(number))
    bound = cast(literal(json.dumps(number), Text), JSONB)
    return and_(func.jsonb_typeof(of.expression) == "number", of.expression.op(asked.operator)(bound))
