"""The report, from made-up runs with worked numbers."""

from __future__ import annotations

from typing import Any

import pytest

from bapo.analysis.result import MeanEstimate
from bapo.config import resolve
from bapo.study.declaration import Declaration
from bapo.study.diagnostics import composition_of
from bapo.study.markdown import markdown
from bapo.study.measured_run import MeasuredRun
from bapo.study.report import build
from bapo.study.results import StudyReport, StudyRunInfo
from bapo.study.tables import migration, percent
from tests.bapo.study.measured_runs import measured_run, run_info, two_arms
from tests.support.journals import tracking

ENDS = {"A": (0.50, 0.54, 0.58), "B": (0.40, 0.46, 0.46)}
"""Final avg@8 of seeds 1 to 3: differences 0.10, 0.08 and 0.12."""


def measured(**options: dict[str, Any]) -> dict[str, MeasuredRun]:
    return {
        f"main--{arm.lower()}--seed-{seed}": measured_run(
            {0: 0.2, 10: 0.3, 20: end}, method="bapo" if arm == "A" else "grpo", **options.get(arm, {})
        )
        for arm, ends in ENDS.items()
        for seed, end in enumerate(ends, start=1)
    }


def all_runs() -> list[StudyRunInfo]:
    return [run_info(arm, seed) for arm in ENDS for seed in (1, 2, 3)]


def report(study: Declaration | None = None, **options: dict[str, Any]) -> StudyReport:
    return build(study or two_arms(), all_runs(), measured(**options), choices={})


def interval(value: MeanEstimate | None) -> tuple[float, float, float]:
    assert value is not None
    assert value.low is not None
    assert value.high is not None
    return value.value, value.low, value.high


def test_the_primary_comparison_is_paired_by_seed() -> None:
    primary = report().primary
    # Mean 0.10, standard deviation 0.02, t(0.975, 2) = 4.303: 0.10 ± 4.303 · 0.02 / √3 = 0.10 ± 0.0497.
    assert interval(primary.difference) == pytest.approx((0.10, 0.0503, 0.1497), abs=1e-4)
    assert primary.effect_size == pytest.approx(0.10 / 0.02)
    assert (primary.verdict, primary.seeds, primary.missing_seeds) == ("higher", [1, 2, 3], [])


def test_the_table_has_means_over_seeds_and_marks_a_proven_best_only() -> None:
    regime = report().regimes[0]
    scores = {row.arm: row.scores[0] for row in regime.rows}
    # Mean 0.54, standard deviation 0.04: ± 4.303 · 0.04 / √3 = 0.0994.
    assert interval(scores["A"].avg) == pytest.approx((0.54, 0.4406, 0.6394), abs=1e-4)
    assert (scores["A"].is_best, scores["B"].is_best) == (True, False)
    assert regime.base[0].avg is not None
    assert regime.base[0].avg.value == pytest.approx(0.2)
    runs = measured()
    # One seed turns round: differences 0.10, 0.08 and -0.10 leave nothing proven, though A's mean is higher.
    runs["main--a--seed-3"] = measured_run({0: 0.2, 20: 0.36})
    rows = build(two_arms(), all_runs(), runs, choices={}).regimes[0].rows
    assert not any(score.is_best for row in rows for score in row.scores)


def test_equal_rollouts_and_equal_compute_compare_where_both_have_been() -> None:
    differences = {
        each.at: each for each in report(B={"rollouts_per_step": 512, "cpu_per_step": 0.125}).regimes[0].differences
    }
    # A has generated 20 · 256 = 5120 responses at its end, B so many after 10 steps, where it was at 0.3.
    assert differences["rollouts"].budget is not None
    assert differences["rollouts"].budget.median == 5120
    assert interval(differences["rollouts"].difference)[0] == pytest.approx(0.54 - 0.3)
    # B's 20 steps take 2.5 CPU-seconds, in which A makes 10 steps: 0.3 against 0.40, 0.46, 0.46.
    assert differences["compute"].budget is not None
    assert differences["compute"].budget.median == pytest.approx(2.5)
    assert interval(differences["compute"].difference)[0] == pytest.approx(0.3 - 0.44)
    assert differences["compute"].verdict == "lower"
    assert interval(differences["steps"].difference)[0] == pytest.approx(0.10)


def test_unlock_rates_stand_beside_their_null() -> None:
    base = tracking(0, [0, 0, 0, 0, 5, 8])
    again = tracking(0, [1, 0, 0, 0, 0, 8], replicate=1)
    after = tracking(20, [1, 4, 0, 2, 6, 7])
    found = report(A={"tracked": (base, again, after)}).regimes[0]
    unlocks = found.unlocks[0]
    assert (unlocks.arm, unlocks.n, unlocks.step) == ("A", 3, 20)
    # Of four prompts at 0/8 three are above after training and one by chance alone; one is at 4/8, none by chance.
    assert unlocks.unlocked is not None
    assert unlocks.unlocked.value == 0.75
    assert unlocks.unlocked_null is not None
    assert unlocks.unlocked_null.value == 0.25
    assert unlocks.unlocked_above_null is not None
    assert unlocks.unlocked_above_null.value == 0.5
    assert unlocks.strictly_unlocked is not None
    assert unlocks.strictly_unlocked.value == 0.25
    assert unlocks.strictly_unlocked_null is not None
    assert unlocks.strictly_unlocked_null.value == 0.0
    # Of the two above 0/8, chance alone loses one.
    assert unlocks.lost is not None
    assert unlocks.lost.value == 0.0
    assert unlocks.lost_null is not None
    assert unlocks.lost_null.value == 0.5
    stability = next(each for each in found.stability if each.arm == "A")
    matrix = stability.matrices[0]
    # Better: three at 0/8 and the one at 5/8; worse: the one at 8/8, which stays at 7/8 or more.
    assert matrix.improved is not None
    assert matrix.improved.value == pytest.approx(4 / 6)
    assert matrix.worse is not None
    assert matrix.worse.value == pytest.approx(1 / 6)
    assert matrix.solved_kept is not None
    assert matrix.solved_kept.value == 1.0
    # One solved prompt in each of three runs is too little for an interval.
    kept = [row[-2:] for row in migration(found).rows]
    assert ["100.0 (3 of 3)", "100.0 (3 of 3)"] in kept
    # The counts of three runs together.
    assert sum(map(sum, matrix.counts)) == 18


def test_composition_and_cost_are_sums_over_steps() -> None:
    counts = {"fresh": 32, "x1": 16, "x2": 2, "x3": 6, "batch": 24, "batch_size": 32, "reevaluated": 8, "improved": 3}
    regime = report(A={"counts": counts}).regimes[0]
    made = regime.composition[0]
    for value, expected in (
        (made.fill, 24 / 32),
        (made.share_x1, 16 / 24),
        (made.share_x2, 2 / 24),
        (made.share_x3, 6 / 24),
        (made.hit_rate, 3 / 8),
        (made.fresh_hit_rate, 0.5),
    ):
        assert value is not None
        assert value.value == pytest.approx(expected)
    cost = {each.arm: each for each in regime.cost}
    assert cost["A"].rollouts is not None
    assert cost["A"].rollouts.value == 5120
    assert cost["A"].cpu_seconds is not None
    assert cost["A"].cpu_seconds.value == pytest.approx(5.0)
    # B's mean end is 0.44, which every run of A reaches at its last evaluation.
    assert cost["A"].num_reached == 3
    assert cost["A"].rollouts_to_reach is not None
    assert cost["A"].rollouts_to_reach.median == 5120
    # Of B itself, two of the three seeds do: 0.46, but not 0.40.
    assert cost["B"].num_reached == 2


def test_what_was_not_run_is_named_and_no_figure_is_made_of_it() -> None:
    runs = [
        run_info("A", 1),
        run_info("A", 2),
        run_info("A", 3, "failed", "RuntimeError: no memory"),
        run_info("B", 1),
        run_info("B", 2, "waiting"),
        run_info("B", 3),
    ]
    found = build(two_arms(), runs, measured(), choices={})
    assert not found.is_complete
    assert (found.primary.seeds, found.primary.missing_seeds) == ([1], [2, 3])
    # One seed gives a difference, but no interval.
    assert found.primary.difference is not None
    assert found.primary.difference.low is None
    assert found.primary.verdict == "unknown"
    rows = {row.arm: row for row in found.regimes[0].rows}
    assert (rows["A"].num_done, rows["B"].num_done, rows["B"].num_seeds) == (2, 2, 3)
    text = markdown(found)
    assert "4 of 6 declared runs are done" in text
    assert "- A, seed 3: failed (RuntimeError: no memory)" in text
    assert "- B, seed 2: waiting" in text


def test_a_study_without_any_result_has_a_report_that_says_so() -> None:
    runs = [run_info(arm, seed, "waiting") for arm in ENDS for seed in (1, 2, 3)]
    found = build(two_arms(), runs, {}, choices={})
    assert found.primary.difference is None
    assert "No result: no seed has an ended run of both arms." in markdown(found)


def test_many_arms_come_with_a_caution() -> None:
    text = markdown(report())
    assert "Caution" not in text
    more = two_arms().model_dump(mode="json")
    more["arms"] += [{"name": name, "method": "bapo", "set": {"method.v": 2}} for name in ("C", "D")]
    study = Declaration.model_validate({**more, "num_runs": 12})
    runs = [run_info(arm, seed) for arm in "ABCD" for seed in (1, 2, 3)]
    seen = measured() | {
        f"main--{arm.lower()}--seed-{seed}": measured_run({0: 0.2, 20: 0.5}) for arm in "CD" for seed in (1, 2, 3)
    }
    found = build(study, runs, seen, choices={})
    # C and D have 0.5 against 0.40, 0.46 and 0.46: 0.06 ± 4.303 · 0.0346 / √3 holds 0; A alone excludes it.
    # At equal steps, rollouts and compute alike.
    assert (found.regimes[0].num_comparisons, found.regimes[0].num_apart) == (9, 3)
    assert "these are 9 comparisons at once, over all budgets, 3 of which exclude 0" in markdown(found)


def test_a_method_that_trains_on_all_fresh_groups_has_no_hit_rate() -> None:
    counts = {"fresh": 32, "x1": 16}
    for method, rate in (("bapo", 0.5), ("dapo", 0.5), ("grpo", None), ("remix", None)):
        config = resolve({"method": {"type": method}}).config.model_dump(mode="json")
        run = measured_run({0: 0.2, 20: 0.5}, counts=counts)._replace(config=config)
        found = composition_of("A", [run]).fresh_hit_rate
        assert (None if found is None else found.value) == rate


def test_what_a_user_wrote_is_no_markup() -> None:
    text = two_arms().model_dump(mode="json") | {"title": "A | <b>B</b> `c`", "question": "# no heading"}
    shown = markdown(report(Declaration.model_validate(text)))
    assert shown.startswith("# A \\| \\<b\\>B\\</b\\> \\`c\\`\n\n\\# no heading")


def test_the_interval_of_a_share_ends_at_its_bounds() -> None:
    # Student's interval of a mean of 95 % may reach beyond 100.
    assert percent(MeanEstimate(value=0.95, low=0.85, high=1.05, n=5)) == "95.0 [85.0, 100.0]"
    assert percent(MeanEstimate(value=0.02, low=-0.01, high=0.05, n=5)) == "2.0 [0.0, 5.0]"
