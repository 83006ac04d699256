"""Answers that are compared as texts."""

from __future__ import annotations

import pytest

from bapo.tasks import Problem
from bapo.tasks.verifiers import load_verifier


@pytest.mark.parametrize(
    ("response", "reward"),
    [
        ("<answer>Paris</answer>", 1),
        ("<answer> Paris\n</answer>", 1),
        ("<answer>Rome</answer> no, <answer>Paris</answer>", 1),
        (r"\boxed{Paris}", 1),
        ("Paris", 0),
        ("<answer>paris</answer>", 0),
        ("<answer>Paris</answer> <answer>Rome</answer>", 0),
        # Cut in its last answer.
        (r"\boxed{Paris} <answer>Par", 0),
        ("", 0),
    ],
)
def test_the_last_answer_is_compared_as_a_text(response: str, reward: int) -> None:
    assert load_verifier("exact")(Problem("q:1", "q", "?", {"text": "Paris"}), response) == reward
