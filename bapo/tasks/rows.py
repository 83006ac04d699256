"""Rows of a parquet or JSONL file that a config names."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bapo.config.errors import ConfigError, ConfigProblem
from bapo.config.model_files import LFS_POINTER
from bapo.files.column_paths import has_column, outer_paths

Row = tuple[int, Mapping[str, Any]]
"""Number of a row, from 1, and its values by column."""


def read_rows(path: str, *, field: str, columns: Sequence[str], also: Sequence[str] = ()) -> Iterator[Row]:
    """Yield each row with these columns; those in `also` only where the file has them. Other columns are ignored.

    Dots lead into structures, as in `reward_model.ground_truth`: see `bapo.files.column_paths`.

    Raises:
        ConfigError: no such file, not parquet or JSONL, or a column is missing; `field` is the config field that named
            the file.
    """
    file = Path(path)
    if not file.is_file():
        raise file_error(field, path, "there is no such file; give the path of a parquet or JSONL file")
    with file.open("rb") as opened:
        if opened.read(len(LFS_POINTER)) == LFS_POINTER:
            raise file_error(
                field, path, "this is a Git LFS pointer, not the file: run `git lfs pull` where it was cloned"
            )
    match file.suffix.lower():
        case ".parquet":
            return _parquet_rows(path, field, columns, also)
        case ".jsonl":
            return _jsonl_rows(path, field, columns)
        case suffix:
            raise file_error(
                field, path, f"files end in .parquet or .jsonl, not {suffix!r}; convert or rename the file"
            )


def _parquet_rows(path: str, field: str, columns: Sequence[str], also: Sequence[str]) -> Iterator[Row]:
    import pyarrow  # noqa: PLC0415 - reports and findings import tasks, and come without pyarrow
    import pyarrow.parquet  # noqa: PLC0415

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            # Of a structure that a path leads into, the whole column is read.
            columns = [next((name for name in (each, *outer_paths(each)) if name in names), each) for each in columns]
            _require_columns(names, columns, path, field, "the file")
            also = [next((name for name in (each, *outer_paths(each)) if name in names), each) for each in also]
            wanted = list(dict.fromkeys([*columns, *(name for name in also if name in names)]))
            row_number = 0
            for batch in file.iter_batches(batch_size=1024, columns=wanted):
                for row in batch.to_pylist():
                    row_number += 1
                    yield row_number, row
    except ConfigError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        # Texts that are no UTF-8, and times that Python has not, are not Arrow's to refuse.
        raise file_error(field, path, f"the file is not readable as parquet ({error}); write it again") from error


def _jsonl_rows(path: str, field: str, columns: Sequence[str]) -> Iterator[Row]:
    with Path(path).open(encoding="utf-8") as lines:
        try:
            for row_number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise file_error(field, path, f"row {row_number} is not JSON ({error}); correct it") from error
                if not isinstance(row, dict):
                    raise file_error(field, path, f"row {row_number} is not a JSON object; write one object per line")
                _require_columns(row, columns, path, field, f"row {row_number}")
                yield row_number, row
        except UnicodeDecodeError as error:
            raise file_error(field, path, f"the file is not UTF-8 text ({error}); convert it") from error


def _require_columns(
    names: Sequence[str] | Mapping[str, Any], columns: Sequence[str], path: str, field: str, holder: str
) -> None:
    row = names if isinstance(names, Mapping) else dict.fromkeys(names)
    missing = [name for name in columns if not has_column(row, name)]
    if missing:
        raise file_error(
            field,
            path,
            f"{holder} has no column {' and no column '.join(missing)} (found: {', '.join(names) or 'none'}); "
            f"name the columns {' and '.join(columns)}",
        )


def file_error(field: str, path: str, remedy: str) -> ConfigError:
    """Return the error of a file, at the config field that names it."""
    return ConfigError([ConfigProblem(field, path, remedy)])
