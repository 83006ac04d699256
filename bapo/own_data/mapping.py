"""Proposes which column is what, and makes rows of ours."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from bapo.answer_text import ANSWER_TEXT
from bapo.message_text import content_text
from bapo.own_data.report import OPTIONAL, REQUIRED, ColumnMapping, DataPreview
from bapo.own_data.result_marks import MARKS, column_value, mark_of
from bapo.own_data.storable import unstorable
from bapo.tasks.base import Turn
from bapo.tasks.countdown.files import MAX_OPERANDS
from bapo.tasks.problem_files import IMAGE_MARK, RowError, answer_of, is_image, prompt_turns

_NAMES: Mapping[str, Sequence[str]] = {
    "prompt": ("prompt", "question", "problem", "query", "instruction", "input", "text"),
    "answer": (
        "answer",
        "final_answer",
        "reward_model.ground_truth",
        "ground_truth",
        "solution",
        "target",
        "label",
        "output",
    ),
    "solution": ("solution", "rationale", "reasoning", "generated_solution"),
    "images": ("images", "image"),
    "data_source": ("data_source",),
    "nums": ("nums", "numbers"),
    "target": ("target",),
}
"""Usual names of each of our columns, the likeliest first."""
_MISSING = frozenset({"nan", "<na>", "nat", "null"})
"""Texts that tables write where a value is missing."""
MOST_DIGITS = 18
MOST_NUMBER = 10**MOST_DIGITS
"""Largest number of Countdown."""
_NUMBER = re.compile(r"\s*[-+]?[\d.,\s]*\d[\d.,]*\s*%?\s*")
_MATHEMATICS = re.compile(r"[\\^_{}$]|\d\s*/\s*\d")


def proposal(seen: DataPreview) -> ColumnMapping:
    """Return the likeliest mapping of a file's columns; what no column gives is left out."""
    names = {name.lower(): name for name in reversed(seen.columns)}
    countdown = _numbers_and_target(names)
    if countdown is not None:
        return ColumnMapping(task="countdown", columns=countdown, verifier="countdown")
    columns: dict[str, str] = {}
    for field in (*REQUIRED["file"], *OPTIONAL["file"]):
        column = _first(names, field)
        if column and column not in columns.values():
            columns[field] = column
    if "answer" in columns:
        whole, columns["answer"] = columns["answer"], _result_column(seen, columns["answer"])
        if columns["answer"] != whole:
            # The text around a marked result is how it was worked out.
            columns.setdefault("solution", whole)
    return ColumnMapping(task="file", columns=columns, verifier=_verifier(seen, columns.get("answer")))


def completed(mapping: ColumnMapping, seen: DataPreview) -> ColumnMapping:
    """Return the mapping with what it lacks, where the names of the columns say which it is."""
    names = {name.lower(): name for name in reversed(seen.columns)}
    found = {field: column for field in mapping.missing if (column := _first(names, field)) is not None}
    return mapping.model_copy(update={"columns": {**found, **mapping.columns}}) if found else mapping


def _numbers_and_target(names: Mapping[str, str]) -> dict[str, str] | None:
    """Return numbers and target of Countdown, of the row itself or of one of its structures."""
    outer = dict.fromkeys(["", *(f"{name.rpartition('.')[0]}." for name in names if "." in name)])
    for within in outer:
        parts = [
            next((names[within + name] for name in _NAMES[field] if within + name in names), None)
            for field in ("nums", "target")
        ]
        if parts[0] and parts[1]:
            return {"nums": parts[0], "target": parts[1]}
    return None


def _first(names: Mapping[str, str], field: str) -> str | None:
    """Return the column of that name, or else the part of a structure that is called so."""
    whole = next((names[name] for name in _NAMES[field] if name in names), None)
    if whole is not None:
        return whole
    return next((names[path] for name in _NAMES[field] for path in names if path.endswith(f".{name}")), None)


def _result_column(seen: DataPreview, answer: str) -> str:
    """Return the result that the answer's texts mark, where they do; no response repeats a whole text."""
    return next((f"{answer}{mark}" for mark in MARKS if f"{answer}{mark}" in seen.columns), answer)


def _verifier(seen: DataPreview, answer: str | None) -> str:
    """Return `math` for numbers and formulas, `exact` for words."""
    if answer is None:
        return "math"
    place = list(seen.columns).index(answer)
    answers = [str(row[place]) for row in seen.rows]
    formulas = sum(bool(_NUMBER.fullmatch(text) or _MATHEMATICS.search(text)) for text in answers)
    return "math" if 2 * formulas >= len(answers) else "exact"


def mapped(values: Mapping[str, Any], mapping: ColumnMapping) -> dict[str, Any]:
    """Return the row in our columns. Raises RowError."""
    given = {field: column_value(values, column) for field, column in mapping.columns.items()}
    row = (
        _countdown(given)
        if mapping.task == "countdown"
        else _problem(given, mark_of(values, mapping.columns["answer"]))
    )
    for name, value in row.items():
        if (what := unstorable(value)) is not None:
            raise RowError(f"{name} holds {what}, which a database cannot keep: remove it")
    return row


def _problem(given: Mapping[str, Any], mark: str | None) -> dict[str, Any]:
    *before, last = _prompt(given.get("prompt"))
    if mark is not None and not given.get("answer"):
        raise RowError(f"the answer's text has no {mark} with a result")
    row: dict[str, Any] = {"prompt": "", "answer": _answer(given.get("answer"))}
    source = given.get("data_source")
    if source is not None:
        if not isinstance(source, str):
            raise RowError(f"data_source must be a text, not {source!r:.80}")
        row["data_source"] = source
    solution = given.get("solution")
    if isinstance(solution, str) and solution.strip():
        row["solution"] = solution.strip()
    images = given.get("images")
    if images is not None:
        row["images"] = _images(images)
    num_images = len(row.get("images", ()))
    num_marks = sum(turn.content.count(IMAGE_MARK) for turn in (*before, last))
    if num_images and not num_marks:
        last = last._replace(content=IMAGE_MARK * num_images + last.content)
    elif num_images != num_marks and ("images" in row or _has_image_parts(given.get("prompt"))):
        raise RowError(f"the prompt has {num_marks} times {IMAGE_MARK}, and images holds {num_images}")
    row["prompt"] = [turn._asdict() for turn in (*before, last)] if before else last.content
    return row


def _prompt(given: Any) -> Sequence[Turn]:
    if given is None or (isinstance(given, str) and not given.strip()):
        raise RowError("the prompt is empty")
    return prompt_turns(given, "the prompt")


def _has_image_parts(prompt: Any) -> bool:
    """Return whether images of a chat are parts, and not marks in its texts, which may be there by chance."""
    contents = [message["content"] for message in prompt if "content" in message] if isinstance(prompt, list) else []
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return any(content_text([part], IMAGE_MARK) == IMAGE_MARK for part in parts if isinstance(part, dict))


def _answer(given: Any) -> str | Mapping[str, Any]:
    if given is None or (isinstance(given, str) and not given.strip()):
        raise RowError("the answer is empty")
    if isinstance(given, list) and len(given) == 1:
        given = given[0]
    if isinstance(given, str) and given.strip().casefold() in _MISSING:
        raise RowError(f"the answer is {given.strip()!r}, a missing value")
    answer = answer_of(given, "answer")
    text = answer.get(ANSWER_TEXT)
    return text.strip() if isinstance(text, str) and not isinstance(given, dict) else answer


def _images(given: Any) -> list[dict[str, Any]]:
    found = []
    for image in given if isinstance(given, list) else [given]:
        content = image.get("bytes") if isinstance(image, dict) else None
        if not isinstance(content, bytes) or not is_image(content):
            raise RowError("images must hold the bytes of a PNG, JPEG, WebP, GIF or BMP: paths lead nowhere here")
        found.append({"bytes": content, "path": None})
    return found


def _countdown(given: Mapping[str, Any]) -> dict[str, Any]:
    nums, target = _parsed(given.get("nums")), _whole(_parsed(given.get("target")))
    if not isinstance(nums, list) or not 2 <= len(nums) <= MAX_OPERANDS:
        raise RowError(f"nums must be a list of 2 to {MAX_OPERANDS} numbers, not {nums!r:.80}")
    nums = [_whole(number) for number in nums]
    if any(type(number) is not int or not 0 <= number < MOST_NUMBER for number in nums) or (
        type(target) is not int or abs(target) >= MOST_NUMBER
    ):
        raise RowError(f"nums and target must be whole numbers, not {nums!r:.80} and {target!r:.80}")
    return {"nums": nums, "target": target}


def _whole(number: Any) -> Any:
    """Return the number as an int where it is whole, as tables with gaps hold it as a float."""
    is_whole = isinstance(number, float | Decimal) and number == number // 1 and abs(number) < MOST_NUMBER
    return int(number) if is_whole else number


def _parsed(value: Any) -> Any:
    """Parse a list or number that is stored as text, as in CSV."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        words = value.replace(",", " ").split()
        # A number of thousands of digits is one that Python does not read.
        are_numbers = len(words) > 1 and all(word.isdecimal() and len(word) <= MOST_DIGITS for word in words)
        return [int(word) for word in words] if are_numbers else value
