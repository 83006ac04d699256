"""The outcome of a comparison, worked by hand: each verdict, and the sentence that tells it."""

from __future__ import annotations

from typing import Any

import pytest

from bapo.analysis.comparison import estimate
from bapo.analysis.outcome import Contender, outcome
from bapo.analysis.outcome_text import outcome_text
from bapo.analysis.result import MeanEstimate, Standing, Verdict
from bapo.analysis.seed_disagreement import seed_disagreement

ENDED = Standing(is_running=False, axis="step", position=150.0, is_cut=False, num_steps=150, final_steps=(150, 150))
WITHOUT = Contender("grpo", None, 0, None, None)


def alone(label: str, value: float, half: float | None, differences: list[float] | None = None) -> Contender:
    """A group of one run, with the interval over its problems."""
    low, high = (None, None) if half is None else (value - half, value + half)
    return Contender(label, MeanEstimate(value=value, low=low, high=high, n=200), 1, estimate(differences or []), None)


def seeds(label: str, accuracies: list[float], differences: list[float] | None = None) -> Contender:
    told = differences or []
    return Contender(label, estimate(accuracies), len(accuracies), estimate(told), seed_disagreement(told))


def told(*contenders: Contender, **standing: Any) -> tuple[Verdict, str]:
    found = outcome("CD-34", contenders, "grpo", ENDED.model_copy(update=standing))
    return found.verdict, outcome_text(found).replace("\u202f", " ")


def test_one_seed_shows_no_difference_where_intervals_overlap() -> None:
    # 44.8 - 3.8 = 41.0 is below 42.5 + 3.8 = 46.3.
    assert told(alone("grpo", 0.425, 0.038), alone("bapo", 0.448, 0.038, [0.023])) == (
        Verdict.ONE_SEED,
        "BAPO 44.8 % [41.0, 48.6], GRPO 42.5 % [38.7, 46.3] on CD-34: the intervals over problems overlap; one seed "
        "shows no difference.",
    )


def test_nor_does_it_show_one_where_they_do_not() -> None:
    verdict, text = told(alone("grpo", 0.425, 0.01), alone("bapo", 0.448, 0.01, [0.023]))
    assert verdict is Verdict.ONE_SEED
    assert text.endswith("the intervals over problems do not overlap, but one seed cannot tell a method from chance.")
    # Runs of different seeds are no pair.
    assert "one run of each cannot tell" in told(alone("grpo", 0.425, 0.01), alone("bapo", 0.448, 0.01))[1]
    # Between two evaluations there is no interval over problems.
    verdict, text = told(alone("grpo", 0.425, None), alone("bapo", 0.448, 0.01, [0.023]))
    assert text.endswith(
        "GRPO 42.5 % on CD-34: between two evaluations there is no interval; one seed shows no difference."
    )


def test_a_paired_difference_that_excludes_0_is_told_with_its_interval() -> None:
    # Mean 3, s = 1, t(0.975, 2) = 4.303: 3 ± 4.303 / √3 = 3 ± 2.48. The accuracies: 43 ± 4.303 · 1 / √3.
    bapo = seeds("bapo", [0.42, 0.43, 0.44], [0.02, 0.03, 0.04])
    assert told(seeds("grpo", [0.40, 0.40, 0.40]), bapo) == (
        Verdict.DIFFERENCE,
        "BAPO 43.0 % [40.5, 45.5], GRPO 40.0 % (n = 3) on CD-34: over 3 seeds the paired difference is "
        "+3.0 points [+0.5, +5.5], which excludes 0.",
    )


def test_where_the_reference_is_best_the_second_best_is_held_against_it() -> None:
    # GRPO minus BAPO: the sign and the bounds of the recorded difference turn.
    bapo = seeds("bapo", [0.38, 0.37, 0.36], [-0.02, -0.03, -0.04])
    verdict, text = told(seeds("grpo", [0.40, 0.40, 0.40]), bapo, seeds("dapo", [0.30, 0.30], [-0.1, -0.1]))
    assert verdict is Verdict.DIFFERENCE
    assert text.startswith("GRPO 40.0 % (n = 3), BAPO 37.0 % [34.5, 39.5] on CD-34: over 3 seeds")
    assert text.endswith("is +3.0 points [+0.5, +5.5], which excludes 0. Chance favours the best of 3 groups.")


def test_equal_differences_have_no_interval() -> None:
    verdict, text = told(seeds("grpo", [0.40, 0.41]), seeds("bapo", [0.42, 0.43], [0.02, 0.02]))
    assert verdict is Verdict.NO_SPREAD
    assert text.endswith("over 2 seeds the paired difference is +2.0 points each time, which gives no interval.")


def test_runs_of_one_seed_have_no_interval() -> None:
    # Two runs of one seed each: one replicate, without a seed in common.
    twice = Contender("bapo", estimate([0.45]), 2, None, None)
    verdict, text = told(twice, Contender("grpo", estimate([0.40]), 2, None, None))
    assert verdict is Verdict.ONE_SEED
    assert text == (
        "BAPO 45.0 % (n = 1), GRPO 40.0 % (n = 1) on CD-34: runs of one seed have no interval; a single seed shows no "
        "difference."
    )


def test_seeds_without_spread_say_so_where_nothing_pairs_them() -> None:
    text = told(seeds("grpo", [0.40, 0.40]), seeds("bapo", [0.45, 0.46]))[1]
    assert "seeds without any spread have no interval; no seed is in common" in text


def test_what_includes_0_is_no_evidence() -> None:
    # Mean 2, s = √2: 2 ± 12.706 · √2 / √2 = 2 ± 12.7, and the seeds vary by less than they differ.
    verdict, text = told(seeds("grpo", [0.40, 0.40]), seeds("bapo", [0.41, 0.43], [0.01, 0.03]))
    assert verdict is Verdict.NO_DIFFERENCE
    assert text.endswith(
        "over 2 seeds the paired difference is +2.0 points [-10.7, +14.7], which includes 0: no evidence of a "
        "difference."
    )


def test_seeds_that_disagree_say_how_many_would_be_needed() -> None:
    # As in test_seed_disagreement: mean 1 point, s = 4 points.
    verdict, text = told(seeds("grpo", [0.40] * 3), seeds("bapo", [0.45, 0.37, 0.41], [0.05, -0.03, 0.01]))
    assert verdict is Verdict.SEEDS_DISAGREE
    assert text.endswith(
        "over 3 seeds the paired difference is +1.0 points [-8.9, +10.9]: the seeds disagree by more than that, and "
        "about 128 seeds would be needed to show it."
    )


def test_groups_without_a_common_seed_are_not_paired() -> None:
    verdict, text = told(seeds("grpo", [0.40, 0.41]), seeds("bapo", [0.45, 0.46]))
    assert verdict is Verdict.UNPAIRED
    assert "the intervals over seeds overlap; no seed is in common" in text


def test_runs_that_train_are_told_at_equal_steps() -> None:
    both = (alone("grpo", 0.425, 0.038), alone("bapo", 0.448, 0.038, [0.023]))
    running: dict[str, Any] = {"is_running": True, "position": 50.0, "is_cut": True, "final_steps": (50, 75)}
    assert told(*both, **running)[1].startswith("So far, at step 50 of 150, BAPO 44.8 % [")
    # What ended early, or is not compared at equal steps, says so too.
    assert told(*both, **running | {"is_running": False})[1].startswith(
        "At step 50, the last at which all were evaluated, BAPO"
    )
    # Where one of them was evaluated before and after it only, it is no evaluation of all.
    cut = running | {"is_running": False, "is_interpolated": True}
    assert told(*both, **cut)[1].startswith("At step 50, the last up to which all were evaluated, BAPO")
    assert told(*both, position=None, final_steps=(50, 150))[1].startswith(
        "Each run at its last evaluation, after 50 to 150 steps, BAPO"
    )


@pytest.mark.parametrize(
    ("contenders", "standing", "verdict", "text"),
    [
        ([WITHOUT], {"is_running": True}, Verdict.NOT_EVALUATED, "No run has been evaluated yet."),
        (
            [WITHOUT],
            {},
            Verdict.NOT_EVALUATED,
            "None of the runs was evaluated: there is no accuracy to compare.",
        ),
        (
            [alone("grpo", 0.2, 0.03), alone("bapo", 0.2, 0.03, [0.0])],
            {"is_running": True, "position": 0.0},
            Verdict.UNTRAINED,
            "In every run only the base model has been evaluated so far: there is nothing to compare yet.",
        ),
        (
            [WITHOUT, alone("bapo", 0.448, 0.038)],
            {"is_running": True, "position": 50.0},
            Verdict.ALONE,
            "So far, at step 50 of 150, BAPO 44.8 % [41.0, 48.6] on CD-34; GRPO has not been evaluated yet.",
        ),
        (
            [alone("bapo", 0.448, 0.038)],
            {},
            Verdict.ALONE,
            "BAPO 44.8 % [41.0, 48.6] on CD-34; there is no other group to compare it with.",
        ),
    ],
)
def test_what_cannot_be_compared_says_why(
    contenders: list[Contender], standing: dict[str, Any], verdict: Verdict, text: str
) -> None:
    assert told(*contenders, **standing) == (verdict, text)
