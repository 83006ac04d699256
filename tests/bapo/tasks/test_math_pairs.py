"""Pairs of answers, equal and not: tests/data/math_pairs.txt."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bapo.tasks.mathematics import equal_answers

PAIRS = Path(__file__).parents[2] / "data" / "math_pairs.txt"
LINE = re.compile(r"(?P<right>.+?) (?P<relation>==|!=) (?P<answer>.+)")


def pairs() -> dict[str, list[tuple[str, str, bool]]]:
    """Return the pairs of each section: the right answer, the answer, and whether it counts."""
    sections: dict[str, list[tuple[str, str, bool]]] = {}
    for line in PAIRS.read_text(encoding="utf-8").split("\n"):
        if line.startswith("# ") or not line:
            continue
        if line.startswith("[") and line.endswith("]") and "==" not in line and "!=" not in line:
            sections[line[1:-1]] = []
            continue
        found = LINE.fullmatch(line)
        assert found is not None, line
        list(sections.values())[-1].append((found["right"], found["answer"], found["relation"] == "=="))
    return sections


@pytest.mark.parametrize("section", pairs())
def test_an_answer_counts_exactly_where_it_equals_the_right_one(section: str) -> None:
    wrong = [
        f"{right} {'==' if expected else '!='} {answer}"
        for right, answer, expected in pairs()[section]
        if equal_answers(right, answer) is not expected
    ]
    assert wrong == []


def test_the_table_is_large() -> None:
    assert sum(map(len, pairs().values())) >= 400
