"""Answers in boxes, and which of them are equal."""

from __future__ import annotations

import threading
import time

import pytest

from bapo.answer_text import last_boxed
from bapo.tasks import Problem
from bapo.tasks.mathematics import equal_answers, is_understood
from bapo.tasks.verifiers import Verdict, load_verifier
from tests.support.waiting import PATIENCE_SECONDS


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"so \boxed{42}.", "42"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"first \boxed{1}, no: \boxed{2}", "2"),
        (r"\boxed{x = \boxed{5}}", "5"),
        (r"\boxed {7}", "7"),
        (r"\fbox{7}", "7"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{}", ""),
        ("42", None),
        (r"\boxed 42", None),
        (r"\boxed{\frac{1}{2}", None),
        # The response was cut in its last box: the first is not its answer.
        (r"\boxed{1}, or rather \boxed{2", None),
        ("x" * 100_000 + r"\boxed{9}" + "y" * 100_000, "9"),
        (r"\boxed{" * 50_000, None),
    ],
)
def test_the_last_box_counts(text: str, answer: str | None) -> None:
    assert last_boxed(text) == answer


@pytest.mark.parametrize(
    ("right", "answer", "is_equal"),
    [
        ("42", "42", True),
        ("42", "042", True),
        ("42", "43", False),
        ("42", "-42", False),
        ("1/2", r"\frac12", True),
        ("0.5", r"\dfrac{1}{2}", True),
        ("0.5", r"\frac{1}{3}", False),
        ("90", r"90^\circ", True),
        (r"90^\circ", "90", True),
        ("5", r"5\text{ cm}", True),
        ("5", r"5\,\mathrm{cm}", True),
        ("5", r"6\text{ cm}", False),
        (r"10\%", "0.1", True),
        # 33.3333 % is written to the sixth place of 0.333333: 1/3 rounds to it, and 0.3334 does not.
        (r"33.3333\%", r"\frac{1}{3}", True),
        (r"\frac{2}{3}", r"66.6667\%", True),
        (r"33.3333\%", r"\frac{3334}{10000}", False),
        (r"\frac{6666}{10000}", r"66.6667\%", False),
        ("1000", "1,000", True),
        ("(1,2]", "(1, 2]", True),
        ("(1,2)", "[1,2]", False),
        (r"\{1,2\}", "2,1", True),
        ("x=5", "5", True),
        (r"\sqrt{8}", r"2\sqrt{2}", True),
        (r"10 \sqrt { 2 }", "14.142135623", True),
        (r"\frac{\pi}{2}", r"\pi/2", True),
        ("x^2+2x+1", "(x+1)^2", True),
        ("A", r"\text{A}", True),
        ("A", r"\text{B}", False),
        ("$12$", "12", True),
        ("12", "", False),
        ("", "", False),
        ("12", "\\", False),
        ("12", r"\frac{1}{", False),
        ("12", "1" * 1_000, False),
        ("1" * 400, "1" * 1_001, False),
    ],
)
def test_answers_are_compared_by_what_they_mean(right: str, answer: str, is_equal: bool) -> None:
    assert equal_answers(right, answer) is is_equal


@pytest.mark.parametrize("hostile", [r"9^{9^{9^{9}}}", r"\binom{10^9}{5\cdot 10^8}"])
def test_an_answer_that_would_never_be_compared_costs_its_reward_and_is_counted(hostile: str) -> None:
    verify = load_verifier("math")
    problem = Problem("m:1", "m", "?", {"text": "x^2+1"})
    begin = time.monotonic()
    assert verify.judge(problem, rf"\boxed{{{hostile}}}") == Verdict(0, failed=True)
    # Three seconds of computing, and the start of a new process, on a machine that may be busy.
    assert time.monotonic() - begin < PATIENCE_SECONDS
    assert verify.num_failures == 1
    # The next one is judged as ever.
    assert verify.judge(problem, r"\boxed{1 + x^2}") == Verdict(1, failed=False)


def test_an_answer_whose_parsing_takes_seconds_costs_its_reward() -> None:
    verify = load_verifier("math")
    problem = Problem("m:1", "m", "?", {"text": "x^2+1"})
    # Parsing it takes 1 to 7 s of CPU time, so that a fast machine comes to an end within the limit of 3 s.
    assert verify.judge(problem, rf"\boxed{{{'(' * 400}1{')' * 400}}}").reward == 0
    assert verify.judge(problem, r"\boxed{1 + x^2}") == Verdict(1, failed=False)


def test_answers_are_compared_outside_the_main_thread() -> None:
    found: list[bool] = []
    threads = [threading.Thread(target=lambda: found.append(equal_answers("1/2", r"\frac{2}{4}"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True, True, True]


@pytest.mark.parametrize(
    ("right", "understood"),
    [("42", True), (r"\frac{3}{4}", True), ("", False), (r"\frac{", False), ("7" * 2_000, False)],
)
def test_what_can_be_a_right_answer(right: str, understood: bool) -> None:
    assert is_understood(right) is understood
