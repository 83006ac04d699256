"""A prompt over several runs: totals, their interval, and what responses agree on."""

from __future__ import annotations

import numpy as np
import pytest

from bapo.analysis.across_runs import MOST_ANSWERS, accuracy, agreement, run_totals
from bapo.analysis.findings.stream import Response, ResponseGroup
from bapo.analysis.visits import SOURCES, Visits
from bapo.rollout import BatchSource

FRESH, REUSED = SOURCES.index(BatchSource.FRESH), SOURCES.index(BatchSource.REUSED)


def visits(*rows: tuple[int, int, int, int]) -> Visits:
    """Rows of step, prompt, source and correct responses."""
    step, prompt, source, correct = np.array(rows).T if rows else np.zeros((4, 0))
    return Visits(
        tuple(f"p{number}" for number in range(int(prompt.max(initial=-1)) + 1)),
        8,
        step.astype(np.int32),
        prompt.astype(np.int32),
        source.astype(np.int8),
        correct.astype(np.int16),
        np.zeros(len(step), np.int32),
        np.ones(len(step), np.bool_),
    )


def test_totals_count_evaluations_and_not_their_reuse() -> None:
    totals = run_totals(
        visits((1, 0, FRESH, 2), (1, 1, FRESH, 0), (2, 0, REUSED, 2), (4, 0, FRESH, 6), (5, 0, REUSED, 6))
    )
    assert totals.num_visits.tolist() == [4, 1]
    assert totals.num_evaluations.tolist() == [2, 1]
    # 2 + 6.
    assert totals.num_correct.tolist() == [8, 0]
    assert (totals.first_correct.tolist(), totals.last_correct.tolist()) == ([2, 0], [6, 0])
    assert totals.last_step.tolist() == [5, 1]


def test_a_prompt_known_by_its_reuses_alone_counts_those() -> None:
    totals = run_totals(visits((3, 0, REUSED, 5)))
    assert (totals.num_evaluations.tolist(), totals.num_correct.tolist()) == ([1], [5])


def test_a_run_without_visits_has_no_rows() -> None:
    assert [len(column) for column in run_totals(visits())] == [0] * 9


def test_inherited_steps_are_part_of_a_run_and_not_its_own() -> None:
    # Steps 1 and 2 are the parent's; the reuse of step 3 repeats what step 1 has answered.
    totals = run_totals(
        visits((1, 0, FRESH, 2), (2, 1, FRESH, 8), (3, 0, REUSED, 2), (4, 0, FRESH, 6)), inherited_steps=[1, 2]
    )
    assert (totals.num_visits.tolist(), totals.own_visits.tolist()) == ([3, 1], [2, 0])
    assert (totals.num_evaluations.tolist(), totals.own_evaluations.tolist()) == ([2, 1], [1, 0])
    assert (totals.num_correct.tolist(), totals.own_correct.tolist()) == ([8, 8], [6, 0])
    assert totals.first_correct.tolist() == [2, 8]


def test_the_interval_is_that_of_the_posterior() -> None:
    # 0 of 8: Beta(1, 9) has the distribution 1 - (1 - p)^9; its upper quantile is 1 - 0.025^(1/9), and 0 is within.
    found = accuracy(0, 8)
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx((0.0, 0.0, 0.33627), abs=2e-4)
    # 8 of 8 is its mirror image.
    full = accuracy(8, 8)
    assert full is not None
    assert (full.low, full.high) == pytest.approx((1 - 0.33627, 1.0), abs=2e-4)
    # Of many, the normal interval: 0.3 ± 1.96·√(0.3·0.7/10,000) = 0.3 ± 0.00898.
    many = accuracy(3_000, 10_000)
    assert many is not None
    assert (many.low, many.high) == pytest.approx((0.29102, 0.30898), abs=2e-4)
    assert accuracy(0, 0) is None


def group(label: str | None, *answers: tuple[str | None, int], version: int = 0) -> ResponseGroup:
    return ResponseGroup(
        "p",
        1,
        version,
        label,
        [Response("no answer" if text is None else f"<answer>{text}</answer>", reward, 5) for text, reward in answers],
    )


def test_responses_are_pooled_by_their_answer_whatever_its_form() -> None:
    pooled = agreement(
        [
            ("small", group("41", ("42", 0), ("$42$", 0), ("41", 1), (None, 0))),
            ("large", group("41", ("42.", 0), ("42", 0), ("42", 0), ("{42}", 0))),
        ]
    )
    assert [(each.text, each.num_responses, each.num_correct, each.is_label) for each in pooled.answers] == [
        ("42", 6, 0, False),
        ("41", 1, 1, True),
    ]
    assert pooled.answers[0].by_model == {"large": 4, "small": 2}
    # 6 of 8 responses are 75 %, above the 60 % of the findings.
    assert (pooled.suspected, pooled.share) == ("42", 0.75)
    assert (pooled.num_responses, pooled.num_correct, pooled.num_without_answer) == (8, 1, 1)


def test_few_responses_or_no_majority_suspect_nothing() -> None:
    assert agreement([("m", group("41", ("42", 0), ("42", 0), ("42", 0), ("42", 0)))]).suspected is None
    split = agreement([("m", group("41", *[("42", 0)] * 4, *[("43", 0)] * 4))])
    assert (split.suspected, split.share) == (None, 0.5)
    assert agreement([]).answers == []


def test_the_label_in_another_form_judged_wrong_speaks_against_the_verifier() -> None:
    pooled = agreement([("m", group("1/2", *[("$1/2$", 0)] * 6, ("1/2", 1), ("2", 0)))])
    assert (pooled.num_label_refused, pooled.suspected) == (6, None)


def test_many_answers_are_cut_and_counted() -> None:
    pooled = agreement([("m", group("0", *[(str(number), 0) for number in range(30)]))])
    assert (len(pooled.answers), pooled.num_answers) == (MOST_ANSWERS, 30)
