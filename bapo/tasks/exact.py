"""Answers that are compared as texts."""

from __future__ import annotations

from collections.abc import Mapping

from bapo.tasks.base import ANSWER_TEXT, Problem
from bapo.tasks.mathematics import last_boxed

_OPEN, _CLOSE = "<answer>", "</answer>"


def last_tagged(text: str) -> str | None:
    """Returns the content of the last <answer>…</answer>; None without one, or if the last is not closed."""
    start = text.rfind(_OPEN)
    end = text.find(_CLOSE, start)
    return text[start + len(_OPEN) : end].strip() if start >= 0 and end >= 0 else None


def exact_reward(problem: Problem, response_text: str) -> int:
    """1 if the text in the last <answer>…</answer>, or else in the last \\boxed{…}, is the correct answer, else 0.

    Only whitespace around it is ignored.
    """
    answer = last_tagged(response_text) if _OPEN in response_text else last_boxed(response_text)
    return int(answer is not None and answer == str(problem.answer[ANSWER_TEXT]).strip())


def text_answer_problem(answer: Mapping[str, object]) -> str | None:
    """Returns why an answer is not a text to compare with; None if it is one."""
    text = answer.get(ANSWER_TEXT)
    if text is None:
        return f"the answer has the fields {', '.join(answer) or 'none'}, where this verifier needs one text or number"
    return None if str(text).strip() else "the answer is empty"
