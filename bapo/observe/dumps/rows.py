"""Files of a dump and their rows, of JSONL or Parquet, one after the other; no link is followed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from bapo.config import ConfigError, ConfigProblem
from bapo.files.safe_paths import open_inside


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


Row = tuple[int, Mapping[str, Any]]
"""Number of a row, from 1, and its values by column."""

MOST_LINE_BYTES = 256_000_000
"""A longer line is no rollout."""
BATCH_ROWS = 256
"""Rows of a Parquet file that are in memory at once, so that long responses do not fill it."""


def read_rows(folder: Path, parts: Sequence[str], left_out: Counter[str]) -> Iterator[Row]:
    """Yield the rows of one file; a half-written last line is counted in `left_out`. Raises ConfigError and OSError."""
    if parts[-1].endswith(".parquet"):
        return _parquet_rows(folder, parts)
    return _jsonl_rows(folder, parts, left_out)


def _jsonl_rows(folder: Path, parts: Sequence[str], left_out: Counter[str]) -> Iterator[Row]:
    name = "/".join(parts)
    with open_inside(folder, parts) as file:
        number = 0
        while line := file.readline(MOST_LINE_BYTES):
            number += 1
            if len(line) == MOST_LINE_BYTES:
                raise row_error("line", name, number, line[:20], "it is too long for a rollout: give JSONL files")
            if line.isspace():
                continue
            try:
                values = orjson.loads(line)
            except orjson.JSONDecodeError:
                try:
                    # Python's writer puts NaN where JSON has no word.
                    values = json.loads(line)
                except (ValueError, RecursionError) as error:
                    if not line.endswith(b"\n"):
                        # Its trainer was killed, or is still writing.
                        left_out["half-written last line"] += 1
                        return
                    raise row_error("line", name, number, line[:40], f"not JSON ({error}): correct it") from None
            if not isinstance(values, dict):
                raise row_error("line", name, number, values, "not an object: give one JSON object per line")
            yield number, values


def _parquet_rows(folder: Path, parts: Sequence[str]) -> Iterator[Row]:
    # Not of the base installation, and slow to load: only who reads such files waits for it.
    import pyarrow  # noqa: PLC0415
    import pyarrow.parquet  # noqa: PLC0415

    name = "/".join(parts)
    number = 0
    try:
        with open_inside(folder, parts) as opened, pyarrow.parquet.ParquetFile(opened) as file:
            for batch in file.iter_batches(batch_size=BATCH_ROWS):
                for values in batch.to_pylist():
                    number += 1
                    yield number, values
    except (pyarrow.ArrowException, ValueError, OverflowError) as error:
        # Texts that are no UTF-8, and times that Python has not, are not Arrow's to refuse.
        remedy = f"not readable as Parquet after row {number} ({error}): remove it, or write it again"
        raise dump_error("file", name, remedy) from None


def number_types(folder: Path, parts: Sequence[str]) -> Mapping[str, bool | None]:
    """Return whether each column of a Parquet file is one of numbers with a fraction; None where it has no value.

    Raises ConfigError and OSError.
    """
    import pyarrow  # noqa: PLC0415
    import pyarrow.parquet  # noqa: PLC0415

    name = "/".join(parts)
    try:
        with open_inside(folder, parts) as opened:
            schema = pyarrow.parquet.read_schema(opened)
    except pyarrow.ArrowException as error:
        raise dump_error("file", name, f"not readable as Parquet ({error}): remove it, or write it again") from None
    types = pyarrow.types
    return {
        field.name: None if types.is_null(field.type) else types.is_floating(field.type) or types.is_decimal(field.type)
        for field in schema
    }
