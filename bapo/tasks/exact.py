"""Answers that are compared as texts."""

from __future__ import annotations

from collections.abc import Mapping

from bapo.answer_text import ANSWER_TEXT, last_answer
from bapo.tasks.answer_formats import Extract
from bapo.tasks.base import Problem


def exact_reward(problem: Problem, response_text: str, extract: Extract = last_answer) -> int:
    """Return 1 if the response's answer is the correct text, else 0.

    Only whitespace around it is ignored.
    """
    answer = extract(response_text)
    return int(answer is not None and answer == str(problem.answer[ANSWER_TEXT]).strip())


def text_answer_problem(answer: Mapping[str, object]) -> str | None:
    """Return why an answer is not a text to compare with; None if it is one."""
    text = answer.get(ANSWER_TEXT)
    if text is None:
        return f"the answer has the fields {', '.join(answer) or 'none'}, where this verifier needs one text or number"
    return None if str(text).strip() else "the answer is empty"
