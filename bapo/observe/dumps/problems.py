"""Errors in a dump, named by file, line and field."""

from __future__ import annotations

from typing import Any

from bapo.config import ConfigError, ConfigProblem


def dump_error(field: str, value: Any, remedy: str) -> ConfigError:
    """Return the error of a whole dump, or of an option that describes it."""
    return ConfigError([ConfigProblem(field, value, remedy)])


def row_error(field: str, file: str, row: int, value: Any, remedy: str) -> ConfigError:
    """Return the error of one row: a line of a JSONL file, or a row of a Parquet file, from 1."""
    return ConfigError([ConfigProblem(field, f"{file}, row {row}: {shown(value)}", remedy)])


def shown(value: Any) -> str:
    """Return a value, short enough for a message."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
