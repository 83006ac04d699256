"""Files of a dump, and errors that name file, row and field."""

from __future__ import annotations

from typing import Any, NamedTuple

from bapo.config import ConfigError, ConfigProblem


class DumpFile(NamedTuple):
    """A file of a dump."""

    parts: tuple[str, ...]
    """Names of the folders that lead to it, and its own."""
    num_bytes: int
    step: int | None
    """Step of all its rows; `None` if the file's name does not contain it."""

    @property
    def name(self) -> str:
        """Path within the folder."""
        return "/".join(self.parts)


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
