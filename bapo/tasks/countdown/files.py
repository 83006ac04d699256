"""Countdown problems from a file the user names, in the schema of Countdown-Tasks-3to4."""

from __future__ import annotations

from typing import Any

from bapo.tasks.countdown.generation import CountdownProblem
from bapo.tasks.rows import file_error, read_rows

MAX_OPERANDS = 32


def read_problems(path: str, *, field: str) -> list[CountdownProblem]:
    """Return the problems of a parquet or JSONL file with columns `nums` (list of whole numbers) and `target`.

    Rows count from 1. Other columns are ignored.

    Raises:
        ConfigError: no such file, not parquet or JSONL, empty, wrong columns, a bad row, or the same problem twice;
            `field` is the config field that named the file.
    """
    first_rows: dict[CountdownProblem, int] = {}
    for row_number, row in read_rows(path, field=field, columns=("nums", "target")):
        nums, target = row["nums"], row["target"]
        problem = _checked(nums, target)
        if problem is None:
            raise file_error(
                field,
                path,
                f"row {row_number}: nums must be a list of 2 to {MAX_OPERANDS} whole numbers ≥ 0 and target a whole "
                f"number, not nums = {nums!r:.80}, target = {target!r:.80}; correct or remove the row",
            )
        earlier = first_rows.setdefault(problem, row_number)
        if earlier != row_number:
            raise file_error(
                field,
                path,
                f"rows {earlier} and {row_number} are the same problem {list(problem.nums)} → {problem.target}; "
                "a problem is known by its prompt, so remove one of them",
            )
    if not first_rows:
        raise file_error(field, path, "the file has no rows; name a file with problems, or leave the field empty")
    return list(first_rows)


def _checked(nums: Any, target: Any) -> CountdownProblem | None:
    """Return the problem, or None where these are not whole numbers of the right kind (true and 3.0 are none)."""
    if not isinstance(nums, list) or not 2 <= len(nums) <= MAX_OPERANDS:
        return None
    if any(type(number) is not int or number < 0 for number in nums) or type(target) is not int:
        return None
    return CountdownProblem(tuple(nums), target)
