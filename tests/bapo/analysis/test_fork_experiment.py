"""Fork experiments, worked by hand: what is paired with what, what repeats, and what may be said of it."""

from __future__ import annotations

import pytest

from bapo.analysis.fork.fresh_prompts import fresh_difference
from bapo.analysis.fork.results import repetition_text
from bapo.analysis.fork.runs import Arm, ForkPoint
from bapo.analysis.result import MeanEstimate, Verdict
from tests.support.compared_forks import C1, FORK, ROWS, compared, measured, run, visits


def test_identical_arms_differ_by_exactly_0() -> None:
    same = run(0.25, 0.75, 0.5, rows=ROWS)
    found = compared([Arm({}, [same]), Arm({"training.seed": 7}, [same])], [ForkPoint(FORK, 1, same.visits)])
    arm = found.arms[1]
    assert arm.against_baseline == MeanEstimate(value=0.0, low=None, high=None, n=3)
    assert arm.fresh is not None
    assert arm.fresh.difference == MeanEstimate(value=0.0, low=None, high=None, n=3)
    assert (arm.differences.y, arm.differences.low, arm.differences.high) == ([0, 0], [0, None], [0, None])
    assert found.repetition is not None
    # Steps 11 and 12; what was before the fork is copied, and no repetition.
    assert (found.repetition.num_steps, found.repetition.num_equal) == (2, 2)
    assert repetition_text(found) == "Check: the unchanged arm repeats its parent in all 2 common steps."


def test_one_checkpoint_is_no_evidence_of_a_setting() -> None:
    # Differences 0.1, 0.2, 0.3: mean 0.2, s = 0.1, t(0.975, 2) = 4.303: ± 4.303 · 0.1 / √3 = 0.248.
    arms = [Arm({}, [run(0.1, 0.2, 0.3)]), Arm(C1, [run(0.2, 0.4, 0.6)])]
    found = compared(arms, [ForkPoint(FORK, 1)])
    difference = found.arms[1].against_baseline
    assert difference is not None
    assert (difference.value, difference.low, difference.n) == (pytest.approx(0.2), pytest.approx(-0.048, abs=1e-3), 3)
    assert (found.outcome.verdict, found.outcome.paired_over) == (Verdict.NO_DIFFERENCE, "problem")
    assert "which includes 0: no evidence of a difference" in found.text
    # Without spread there is no interval.
    found = compared([arms[0], Arm(C1, [run(0.3, 0.4, 0.5)])], [ForkPoint(FORK, 1)])
    assert found.outcome.verdict is Verdict.NO_SPREAD
    assert "over 3 problems the paired difference is +20.0 points each time, which gives no interval" in found.text
    # 0.2, 0.21 and 0.22: these policies differ, and still one pair says nothing of c1.
    found = compared([arms[0], Arm(C1, [run(0.3, 0.41, 0.52)])], [ForkPoint(FORK, 1)])
    assert found.outcome.verdict is Verdict.ONE_SEED
    assert "which excludes 0: the policies differ, but one run of each cannot tell a setting from chance" in found.text
    assert "better" not in found.text


def test_checkpoints_of_one_seed_and_seeds_are_told_apart() -> None:
    base = [run(0.2, 0.2), run(0.3, 0.3), run(0.4, 0.4)]
    # Differences by checkpoint: 0.1, 0.2, 0.3.
    better = [run(0.3, 0.3), run(0.5, 0.5), run(0.7, 0.7)]
    points = [ForkPoint(FORK, seed) for seed in (1, 1, 1)]
    found = compared([Arm({}, base), Arm(C1, better)], points)
    assert (found.outcome.paired_over, found.arms[1].against_baseline and found.arms[1].against_baseline.n) == (
        "checkpoint",
        3,
    )
    assert "over 3 checkpoints the paired difference is +20.0 points [-4.8, +44.8]" in found.text
    assert "not other seeds" in found.covers
    # The first two are of one seed and count as their mean, 0.15; with 0.3: mean 0.225, n = 2.
    found = compared([Arm({}, base), Arm(C1, better)], [ForkPoint(FORK, seed) for seed in (1, 1, 2)])
    difference = found.arms[1].against_baseline
    assert found.outcome.paired_over == "seed"
    assert difference is not None
    assert (difference.value, difference.n) == (pytest.approx(0.225), 2)


def test_a_difference_over_seeds_may_be_told() -> None:
    base = [run(0.2, 0.2)] * 3
    points = [ForkPoint(FORK, seed) for seed in (1, 2, 3)]
    found = compared([Arm({}, base), Arm(C1, [run(0.3, 0.3), run(0.31, 0.31), run(0.32, 0.32)])], points)
    assert found.outcome.verdict is Verdict.DIFFERENCE
    assert "over 3 seeds the paired difference is +11.0 points [+8.5, +13.5], which excludes 0." in found.text


def test_means_are_over_the_checkpoints_that_all_arms_have() -> None:
    # The second arm lacks the second checkpoint: the baseline's 0.8 there is left out of its mean.
    arms = [Arm({}, [run(0.2, 0.2), run(0.8, 0.8)]), Arm(C1, [run(0.3, 0.3), None])]
    found = compared(arms, [ForkPoint(FORK, 1), ForkPoint(FORK, 2)])
    assert [arm.accuracy and arm.accuracy.value for arm in found.arms] == [0.2, 0.3]
    assert found.outcome.paired_over == "problem"
    assert found.covers.endswith("The other checkpoints have no result yet.")
    assert found.arms[1].num_steps == 0


def test_fresh_prompts_are_paired_by_step_and_prompt() -> None:
    baseline = run(rows=((11, "a", 1), (11, "b", 2), (12, "a", 1), (12, "c", 3)), last=12)
    arm = run(rows=((11, "b", 4), (11, "a", 2), (12, "a", 2), (12, "d", 4), (13, "c", 4)), last=13)
    found = fresh_difference([baseline], [arm], [ForkPoint(FORK, 1)])
    # Up to step 12, where the shorter ends: a twice by 1/4, b by 2/4; d has no partner.
    assert (found.num_pairs, found.num_groups) == (3, 4)
    assert found.difference is not None
    assert (found.difference.value, found.difference.n) == (pytest.approx(1 / 3), 2)
    # Prompt a: S = 1/2 - 2/3 = -1/6, b: 1/2 - 1/3 = 1/6. sqrt(2/1 · 2/36) / 3 = 1/9; t(0.975, 1) = 12.706.
    assert found.difference.high == pytest.approx(1 / 3 + 12.706 / 9, abs=1e-3)


def test_an_arm_of_other_prompts_has_no_pairs() -> None:
    found = fresh_difference([run(rows=((11, "a", 1),))], [run(rows=((11, "b", 1),))], [ForkPoint(FORK, 1)])
    assert (found.difference, found.num_pairs, found.num_groups) == (None, 0, 1)


def test_an_unchanged_arm_that_does_not_repeat_its_parent_is_told() -> None:
    parent = visits((11, "b", 2), (11, "c", 4), (12, "a", 3), (13, "a", 3))
    arms = [Arm({}, [run(rows=ROWS)]), Arm(C1, [run(rows=ROWS)])]
    found = compared(arms, [ForkPoint(FORK, 1, parent)])
    assert found.repetition is not None
    assert (found.repetition.num_equal, found.repetition.num_steps, found.repetition.first_difference) == (1, 2, 12)
    assert (repetition_text(found) or "").startswith("Check: the unchanged arm repeats its parent in 1 of 2")
    # Somebody changed the parent before step 12: up to there they are the same.
    found = compared(arms, [ForkPoint(FORK, 1, parent, unchanged_until=11)])
    assert found.repetition is not None
    assert found.repetition.first_difference is None
    # With shared changes the baseline is not meant to repeat anything.
    assert compared(arms, [ForkPoint(FORK, 1, parent)], is_unchanged=False).repetition is None


def test_before_any_evaluation_nothing_is_told() -> None:
    found = compared([Arm({}, [run(rows=ROWS)]), Arm(C1, [None])], [ForkPoint(FORK, 1)], is_running=True)
    assert (found.read_at, found.outcome.verdict) == (None, Verdict.NOT_EVALUATED)
    assert found.text == "No run has been evaluated yet."
    assert [curve.x for curve in found.history] == [[-2]]
    assert [curve.x for curve in found.training_history] == [[-1]]
    assert found.arms[0].training.x == [1, 2]
    with pytest.raises(ValueError, match="the runs were evaluated on CD-34"):
        compared([Arm({}, [run(0.1)]), Arm(C1, [None])], [ForkPoint(FORK, 1)], dataset="CD-4")


def test_while_arms_train_they_are_read_at_the_last_common_evaluation() -> None:
    ahead = run(0.2, 0.2)
    ahead.evaluations["CD-34"][FORK + 4] = measured(0.9, 0.9)  # type: ignore[index] # a dict of the test's own
    found = compared(
        [Arm({}, [ahead]), Arm(C1, [run(0.3, 0.3)])], [ForkPoint(FORK, 1)], further_steps=4, is_running=True
    )
    assert found.read_at == 2
    assert found.text.startswith("So far, at step 2 of 4, c1 = 0.25: 30.0")
