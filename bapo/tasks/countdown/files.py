"""Countdown problems from a file the user names, in the schema of Countdown-Tasks-3to4."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

from bapo.config.errors import ConfigError, ConfigProblem
from bapo.tasks.countdown.problems import CountdownProblem

MAX_OPERANDS = 32


def read_problems(path: str, *, field: str) -> list[CountdownProblem]:
    """The problems of a parquet or JSONL file with columns `nums` (list of whole numbers) and `target`.

    Rows count from 1. Other columns are ignored.

    Raises:
        ConfigError: no such file, not parquet or JSONL, empty, wrong columns, a bad row, or the same problem twice;
            `field` is the config field that named the file.
    """
    first_rows: dict[CountdownProblem, int] = {}
    for row_number, nums, target in _rows(path, field):
        problem = _checked(nums, target)
        if problem is None:
            raise _error(
                field,
                path,
                f"row {row_number}: nums must be a list of 2 to {MAX_OPERANDS} whole numbers ≥ 0 and target a whole "
                f"number, not nums = {nums!r:.80}, target = {target!r:.80}; correct or remove the row",
            )
        earlier = first_rows.setdefault(problem, row_number)
        if earlier != row_number:
            raise _error(
                field,
                path,
                f"rows {earlier} and {row_number} are the same problem {list(problem.nums)} → {problem.target}; "
                "a problem is known by its prompt, so remove one of them",
            )
    if not first_rows:
        raise _error(field, path, "the file has no rows; name a file with problems, or leave the field empty")
    return list(first_rows)


def _rows(path: str, field: str) -> Iterator[tuple[int, Any, Any]]:
    """Row number, nums and target of each row, unchecked."""
    file = Path(path)
    if not file.is_file():
        raise _error(field, path, "there is no such file; give the path of a parquet or JSONL file")
    match file.suffix.lower():
        case ".parquet":
            return _parquet_rows(path, field)
        case ".jsonl":
            return _jsonl_rows(path, field)
        case suffix:
            raise _error(field, path, f"files end in .parquet or .jsonl, not {suffix!r}; convert or rename the file")


def _parquet_rows(path: str, field: str) -> Iterator[tuple[int, Any, Any]]:
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            _require_columns(file.schema_arrow.names, path, field, "the file")
            row_number = 0
            for batch in file.iter_batches(columns=["nums", "target"]):
                for row in batch.to_pylist():
                    row_number += 1
                    yield row_number, row["nums"], row["target"]
    except pyarrow.ArrowException as error:
        raise _error(field, path, f"the file is not readable as parquet ({error}); write it again") from error


def _jsonl_rows(path: str, field: str) -> Iterator[tuple[int, Any, Any]]:
    with Path(path).open(encoding="utf-8") as lines:
        try:
            for row_number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    row = json.loads(line)
                except ValueError as error:
                    raise _error(field, path, f"row {row_number} is not JSON ({error}); correct it") from error
                if not isinstance(row, dict):
                    raise _error(field, path, f"row {row_number} is not a JSON object; write one object per line")
                _require_columns(list(row), path, field, f"row {row_number}")
                yield row_number, row["nums"], row["target"]
        except UnicodeDecodeError as error:
            raise _error(field, path, f"the file is not UTF-8 text ({error}); convert it") from error


def _require_columns(names: list[str], path: str, field: str, holder: str) -> None:
    missing = [name for name in ("nums", "target") if name not in names]
    if missing:
        raise _error(
            field,
            path,
            f"{holder} has no column {' and no column '.join(missing)} (found: {', '.join(names) or 'none'}); "
            "name the columns nums and target",
        )


def _checked(nums: Any, target: Any) -> CountdownProblem | None:
    """The problem, or None where these are not whole numbers of the right kind (true and 3.0 are none)."""
    if not isinstance(nums, list) or not 2 <= len(nums) <= MAX_OPERANDS:
        return None
    if any(type(number) is not int or number < 0 for number in nums) or type(target) is not int:
        return None
    return CountdownProblem(tuple(nums), target)


def _error(field: str, path: str, remedy: str) -> ConfigError:
    return ConfigError([ConfigProblem(field, path, remedy)])
