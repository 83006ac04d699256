"""Converts published rows to ours, with one function per format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bapo.answer_text import ANSWER_TEXT
from bapo.tasks.countdown.files import MAX_OPERANDS
from bapo.tasks.problem_files import IMAGE_MARK, RowError, answer_of, is_image

Convert = Callable[[Mapping[str, Any]], dict[str, Any]]


def question(prompt_column: str, answer_column: str) -> Convert:
    """Return a conversion of rows with one text and one answer."""

    def convert(row: Mapping[str, Any]) -> dict[str, Any]:
        return {"prompt": _text(row, prompt_column), "answer": _answer(row[answer_column], answer_column)}

    return convert


def olympiad(row: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a row of OlympiadBench, whose answer is a list with one member that holds all values."""
    given = row["final_answer"]
    if not isinstance(given, list) or len(given) != 1:
        raise RowError(f"final_answer must be a list of one text, not {given!r:.80}")
    context = row.get("context")
    prompt = _text(row, "question")
    return {
        "prompt": f"{context.strip()}\n\n{prompt}" if isinstance(context, str) and context.strip() else prompt,
        "answer": _answer(given[0], "final_answer"),
    }


def countdown(row: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a row of Countdown-Tasks-3to4, whose columns are ours."""
    nums, target = row["nums"], row["target"]
    if not isinstance(nums, list) or not 2 <= len(nums) <= MAX_OPERANDS:
        raise RowError(f"nums must be a list of 2 to {MAX_OPERANDS} numbers, not {nums!r:.80}")
    if any(type(number) is not int or number < 0 for number in nums) or type(target) is not int:
        raise RowError(f"nums and target must be whole numbers, not {nums!r:.80} and {target!r:.80}")
    return {"nums": nums, "target": target}


def picture(row: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a row of Geometry3K, whose text has `<image>` in place of the diagram."""
    prompt, images = _text(row, "problem"), row["images"]
    if not isinstance(images, list) or not images:
        raise RowError(f"images must be a list of at least one image, not {images!r:.80}")
    found = []
    for image in images:
        data = image.get("bytes") if isinstance(image, dict) else None
        if not isinstance(data, bytes) or not is_image(data):
            raise RowError("images holds something that is no PNG, JPEG, WebP, GIF or BMP")
        found.append({"bytes": data, "path": None})
    marks = prompt.count(IMAGE_MARK)
    if marks == 0:
        prompt = IMAGE_MARK * len(found) + prompt
    elif marks != len(found):
        raise RowError(f"the problem has {marks} times {IMAGE_MARK}, and images holds {len(found)}")
    return {"prompt": prompt, "answer": _answer(row["answer"], "answer"), "images": found}


def _text(row: Mapping[str, Any], column: str) -> str:
    text = row[column]
    if not isinstance(text, str) or not text.strip():
        raise RowError(f"{column} must be a text, not {text!r:.80}")
    return text


def _answer(given: Any, column: str) -> str:
    if given is None or isinstance(given, dict):
        raise RowError(f"{column} must be a text or a number, not {given!r:.80}")
    text = str(answer_of(given, column)[ANSWER_TEXT]).strip()
    if not text:
        raise RowError(f"{column} is empty")
    return text
