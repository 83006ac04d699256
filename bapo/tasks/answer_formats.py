"""Forms in which a response gives its answer: what the prompt asks for, how an answer is written and extracted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from bapo.answer_text import after_hashes, last_boxed, last_line, last_tagged
from bapo.config.task import AnsweredTaskSection, AnswerFormatName

Extract = Callable[[str], str | None]
"""Returns the answer that a response gives; None without one."""
_HASHES = re.compile(r"\s*####[^\n]*\s*$")


class AnswerFormat(NamedTuple):
    """A form of the final answer."""

    template: str
    """The answer as written, with `{answer}` in its place."""
    extract: Extract
    instruction: str
    """Text after the problem that asks for this form, plain enough for a model of 100M parameters."""

    def completed(self, solution: str, answer: str) -> str:
        """Return a worked solution that ends with its answer in this form, in place of `#### 72` at its end."""
        if self.extract(solution):
            return solution.strip()
        return f"{_HASHES.sub('', solution).strip()}\n{self.template.replace('{answer}', answer)}"


ANSWER_FORMATS: Mapping[AnswerFormatName, AnswerFormat] = {
    "tags": AnswerFormat("<answer>{answer}</answer>", last_tagged, "Give the final answer within <answer> </answer>."),
    "line": AnswerFormat(
        "Answer: {answer}",
        last_line,
        'Solve it step by step. End with "Answer:" and the result, as in "Answer: 42".',
    ),
    "hashes": AnswerFormat(
        "#### {answer}", after_hashes, 'Solve it step by step. End with "####" and the result, as in "#### 42".'
    ),
    "boxed": AnswerFormat(
        r"\boxed{{answer}}", last_boxed, r"Solve it step by step. Put the result in \boxed{}, as in \boxed{42}."
    ),
}


def answer_format(section: AnsweredTaskSection) -> AnswerFormat:
    """Return the form that a task's responses answer in: the chosen one, or its verifier's usual one."""
    return ANSWER_FORMATS[section.answer_format or ("boxed" if section.verifier == "math" else "tags")]
