"""Comparison of runs that the local engine trained, and of journals with worked numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.records.metrics import floats
from bapo import observe
from bapo.analysis.result import Verdict
from bapo.analysis.seed_disagreement import seed_disagreement
from bapo.api.compare import ComparedGroup, ComparedRunInfo, Comparison
from bapo.client import ApiError, Client
from bapo.observe import Group
from bapo.records import AnyRecord, EvaluationRecord, StepRecord, TrackingRecord
from bapo.run.journal import merged_records
from tests.support.imports import imported
from tests.support.journals import evaluation, event, step
from tests.support.recorded import NUM_STEPS, RUNS, import_folder

ROLLOUTS = "bapo/cost/num_rollouts"
REWARD = "critic/rewards/mean"


@pytest.fixture(scope="module")
def recorded(admin: Client, recorded_folders: Mapping[str, Path]) -> dict[str, str]:
    """Identifiers of the recorded runs by name."""
    return {name: import_folder(admin, recorded_folders[name], group=name[:4]) for name in RUNS}


@pytest.fixture(scope="module")
def journals(recorded_folders: Mapping[str, Path]) -> dict[str, list[AnyRecord]]:
    """What the recorded runs wrote."""
    return {name: list(merged_records(folder)) for name, folder in recorded_folders.items()}


def run_of(comparison: Comparison, name: str) -> ComparedRunInfo:
    return next(run for run in comparison.runs if run.name == name)


def group_of(comparison: Comparison, label: str) -> ComparedGroup:
    return next(group for group in comparison.groups if group.label == label)


# ---------------------------------------------------------------- series


def test_series_of_many_runs_are_those_of_each(admin: Client, recorded: Mapping[str, str]) -> None:
    keys = [REWARD, "val-core/CD-34/acc/mean@4", "bapo/tracking/accuracy", "unknown"]
    found = admin.metrics_of_runs(list(recorded.values()), keys).series
    assert list(found) == list(recorded.values())
    for run_id in recorded.values():
        assert found[run_id] == admin.metrics(run_id, keys)


def test_a_range_and_a_sample_of_many_runs(admin: Client) -> None:
    runs = [imported(admin, f"long-{scale}", [step(n, loss=n * scale) for n in range(1, 251)]) for scale in (1, 2)]
    found = admin.metrics_of_runs(runs, ["actor/pg_loss"], from_step=99, to_step=202).series
    assert [series.steps for series in found.values()] == [list(range(99, 203))] * 2
    assert found[runs[1]].columns["actor/pg_loss"] == [2.0 * n for n in range(99, 203)]
    sampled = admin.metrics_of_runs(runs, ["actor/pg_loss"], max_points=20).series[runs[0]]
    assert len(sampled.steps) <= 22
    assert (sampled.steps[0], sampled.steps[-1]) == (1, 250)


@pytest.mark.parametrize(
    "content",
    [
        # One dimension of three, without NULLs; type 701 is float8.
        "00000001 00000000 000002bd 00000003 00000001 00000008 3ff0000000000000 00000008 4000000000000000 "
        "00000008 4008000000000000",
        "00000001 00000001 000002bd 00000003 00000001 00000008 3ff0000000000000 ffffffff 00000008 4008000000000000",
    ],
)
def test_arrays_on_the_wire(content: str) -> None:
    values = floats(bytes.fromhex(content))
    assert (values[0], values[2], len(values)) == (1, 3, 3)
    assert values[1] == 2 or np.isnan(values[1])


def test_an_empty_array_on_the_wire() -> None:
    assert len(floats(bytes.fromhex("00000000 00000000 000002bd"))) == 0


# ---------------------------------------------------------------- refusals


def test_unknown_runs_are_named(admin: Client, recorded: Mapping[str, str]) -> None:
    known = next(iter(recorded.values()))
    for call in (
        admin.compare,
        lambda runs: admin.metrics_of_runs(runs, [REWARD]),
        lambda runs: admin.compare_curves(runs, [REWARD]),
    ):
        with pytest.raises(ApiError, match="no runs 'nobody, nothing'") as caught:
            call([known, "nobody", "nothing"])
        assert (caught.value.status, caught.value.body.code) == (404, "not_found")


def test_fifty_runs_are_the_most(admin: Client) -> None:
    with pytest.raises(ApiError, match="no runs"):
        admin.compare([str(number) for number in range(50)])
    with pytest.raises(ApiError, match="at most 50 runs can be compared at once: leave out 1") as caught:
        admin.compare([str(number) for number in range(51)])
    assert (caught.value.status, caught.value.body.field, caught.value.body.value) == (422, "run", 51)


@pytest.mark.parametrize(
    ("question", "field", "remedy"),
    [
        ({"group": "method.c9"}, "group", "no run has the config field 'method.c9'"),
        ({"reference": "nobody"}, "reference", "the groups are bapo, grpo"),
        ({"dataset": "MATH"}, "dataset", "the runs were evaluated on CD-34"),
        ({"reach": 1.5}, "reach", "must be at most 1"),
    ],
)
def test_what_cannot_be_asked(
    admin: Client, recorded: Mapping[str, str], question: dict[str, Any], field: str, remedy: str
) -> None:
    with pytest.raises(ApiError) as caught:
        admin.compare(list(recorded.values()), **question)
    assert (caught.value.status, caught.value.body.field) == (422, field)
    assert remedy in caught.value.body.remedy


# ---------------------------------------------------------------- recorded runs


def test_seeds_of_a_method_are_a_group(admin: Client, recorded: Mapping[str, str]) -> None:
    found = admin.compare(list(recorded.values()))
    assert [(group.label, list(group.run_ids)) for group in found.groups] == [
        ("bapo", [recorded["bapo-seed-1"], recorded["bapo-seed-2"]]),
        ("grpo", [recorded["grpo-seed-1"], recorded["grpo-seed-2"]]),
    ]
    assert (found.reference, found.grouped_by, found.budget) == ("bapo", "config", None)
    assert [run.seed for run in found.runs] == [1, 2, 1, 2]
    differing = {each.field: each for each in found.differences}
    assert list(differing["method.type"].values) == ["bapo", "bapo", "grpo", "grpo"]
    assert list(differing["method.c1"].known) == [True, True, False, False]
    assert "rollout.batch_size" not in differing
    assert found.fields[: len(differing)] == list(differing)


def test_results_are_those_of_the_journals(
    admin: Client, recorded: Mapping[str, str], journals: Mapping[str, Sequence[AnyRecord]]
) -> None:
    found = admin.compare(list(recorded.values()))
    for name, records in journals.items():
        run = run_of(found, name)
        steps = [record for record in records if isinstance(record, StepRecord)]
        assert run.total.step == NUM_STEPS
        assert run.total.rollouts == steps[-1].cost.num_rollouts
        assert run.total.seconds == pytest.approx(sum(record.timing["step"] for record in steps))
        # The attempt's whole time on one slot: evaluations are not in steps.
        assert run.duration_seconds is not None
        assert run.total.compute_hours is not None
        assert run.total.compute_hours == pytest.approx(run.duration_seconds / 3600, rel=0.01)
        assert run.total.compute_hours > run.total.seconds / 3600
        evaluations = [r for r in records if isinstance(r, EvaluationRecord) and r.dataset == "CD-34"]
        result = next(each for each in run.results if each.dataset == "CD-34")
        assert result.base is not None
        assert result.base.value == evaluations[0].avg_at_k.value
        assert (result.final.value, result.final.low) == (evaluations[-1].avg_at_k.value, evaluations[-1].avg_at_k.low)
        assert result.best.value == max(record.avg_at_k.value for record in evaluations)
        assert result.change is not None
        assert result.change.value == pytest.approx(result.final.value - result.base.value)
        assert result.change.n == len(evaluations[0].num_correct)


def test_unlocks_come_with_their_null(
    admin: Client, recorded: Mapping[str, str], journals: Mapping[str, Sequence[AnyRecord]]
) -> None:
    found = admin.compare(list(recorded.values()))
    for name, records in journals.items():
        trackings = [record for record in records if isinstance(record, TrackingRecord)]
        base, again, last = trackings[0], trackings[1], trackings[-1]
        unsolved = [index for index, count in enumerate(base.num_correct) if count == 0]
        tracked = run_of(found, name).tracked
        assert tracked is not None
        assert tracked.null is not None
        assert tracked.rates.unlocked is not None
        assert tracked.null.unlocked is not None
        assert tracked.rates.unlocked.num_moved == sum(last.num_correct[index] > 0 for index in unsolved)
        assert tracked.null.unlocked.num_moved == sum(again.num_correct[index] > 0 for index in unsolved)
        assert tracked.rates.unlocked.num_prompts == len(unsolved)


def test_groups_average_their_runs_and_are_paired_by_seed(admin: Client, recorded: Mapping[str, str]) -> None:
    found = admin.compare(list(recorded.values()))
    finals = {run.name: run.results[0].final.value for run in found.runs}
    grpo = group_of(found, "grpo").results[0]
    assert grpo.final is not None
    assert grpo.final.value == pytest.approx((finals["grpo-seed-1"] + finals["grpo-seed-2"]) / 2)
    assert grpo.final.n == 2
    assert grpo.against_reference is not None
    first, second = (finals[f"grpo-seed-{seed}"] - finals[f"bapo-seed-{seed}"] for seed in (1, 2))
    assert grpo.against_reference.value == pytest.approx((first + second) / 2)
    assert grpo.against_reference.n == 2
    assert grpo.disagreement == seed_disagreement([first, second])
    assert group_of(found, "bapo").results[0].against_reference is None
    other = admin.compare(list(recorded.values()), reference="grpo")
    assert admin.compare(list(recorded.values()), reference="GRPO").reference == "grpo", "as tables name it"
    bapo = group_of(other, "bapo").results[0].against_reference
    assert bapo is not None
    assert bapo.value == pytest.approx(-grpo.against_reference.value)


def test_curves_of_groups_are_means_of_the_runs(admin: Client, recorded: Mapping[str, str]) -> None:
    runs = list(recorded.values())
    series = admin.metrics_of_runs(runs, [REWARD]).series
    curves = admin.compare_curves(runs, [REWARD]).curves[REWARD]
    assert [curve.label for curve in curves] == ["bapo", "grpo"]
    for curve, members in zip(curves, (runs[:2], runs[2:]), strict=True):
        assert list(curve.x) == list(range(1, NUM_STEPS + 1))
        columns = np.array([series[run_id].columns[REWARD] for run_id in members], float)
        assert np.array(curve.mean, float) == pytest.approx(columns.mean(axis=0))
        # t(1) = 12.7062; s / sqrt(2) of two values is half of what they differ by.
        half = np.abs(columns[0] - columns[1]) / 2 * 12.7062
        # Where both have the same value there is no interval.
        expected = np.where(half > 0, columns.mean(axis=0) + half, np.nan)
        assert np.array(curve.high, float) == pytest.approx(expected, nan_ok=True)
        assert set(curve.n) == {2}


def test_runs_alone_are_what_they_recorded(admin: Client, recorded: Mapping[str, str]) -> None:
    runs = list(recorded.values())
    series = admin.metrics_of_runs(runs, [REWARD, ROLLOUTS]).series
    found = admin.compare_curves(runs, [REWARD], group="run", x="rollouts")
    assert not found.is_interpolated
    for run_id, curve in zip(runs, found.curves[REWARD], strict=True):
        assert list(curve.x) == series[run_id].columns[ROLLOUTS]
        assert list(curve.mean) == series[run_id].columns[REWARD]
        assert (list(curve.low), list(curve.n)) == ([], [])


def test_equal_rollouts_end_where_the_cheapest_run_ends(admin: Client, recorded: Mapping[str, str]) -> None:
    runs = list(recorded.values())
    # All end at the same step, so that none is cut off there.
    by_step = admin.compare_curves(runs, [REWARD], group="run", x="step", equal=True).budget
    assert by_step is not None
    assert (by_step.until, by_step.run_id) == (NUM_STEPS, None)
    totals = {run.id: run.total.rollouts for run in admin.compare(runs).runs}
    found = admin.compare_curves(runs, [REWARD], group="run", x="rollouts", equal=True)
    assert found.budget is not None
    assert found.budget.until == min(totals.values())
    assert {curve.x[-1] for curve in found.curves[REWARD]} == {found.budget.until}
    compared = admin.compare(runs, x="rollouts", equal=True)
    for run in compared.runs:
        at_budget, final = run.results[0].at_budget, run.results[0].final.value
        assert at_budget is not None
        if totals[run.id] == found.budget.until:
            assert at_budget == pytest.approx(final)


# ---------------------------------------------------------------- worked numbers


def test_what_an_accuracy_cost(admin: Client) -> None:
    def journal(second: float, third: float) -> list[AnyRecord]:
        head: list[AnyRecord] = [event("started"), evaluation(0, 0.2)]
        return [*head, step(1), step(2), evaluation(2, second), step(3), step(4), evaluation(4, third)]

    runs = [
        imported(admin, "soon", journal(0.4, 0.3), training={"seed": 1}),
        imported(admin, "late", journal(0.3, 0.45), training={"seed": 2}),
        imported(admin, "never", journal(0.39, 0.399), training={"seed": 3}),
    ]
    found = admin.compare(runs, reach=0.4)
    soon, late, never = (run.to_reach for run in found.runs)
    assert soon is not None
    assert late is not None
    assert never is not None
    # 256 rollouts a step.
    assert soon.spent is not None
    assert (soon.reached, soon.accuracy, soon.spent.step, soon.spent.rollouts) == (True, 0.4, 2, 512)
    assert late.spent is not None
    assert (late.accuracy, late.spent.step, late.spent.rollouts) == (0.45, 4, 1024)
    assert (never.reached, never.accuracy, never.spent) == (False, 0.399, None)
    group = found.groups[0].to_reach
    assert group is not None
    assert group.rollouts is not None
    assert (group.num_reached, group.num_runs) == (2, 3)
    assert (group.rollouts.low, group.rollouts.median, group.rollouts.high) == (512, 768, 1024)
    assert group.cost is None
    alone = {each.label: each.to_reach for each in admin.compare(runs, reach=0.4, group="run", reference="late").groups}
    assert alone["soon"] is not None
    saved = alone["soon"].saved_hours
    assert saved is not None
    # Two steps instead of four; one run each.
    assert (saved.value, saved.low, saved.is_least, alone["soon"].saved_cost) == (0.5, None, False, None)
    assert alone["never"] is not None
    assert alone["never"].saved_hours is None
    # Against what never got there, and trained for four steps, that is the least.
    least = admin.compare(runs, reach=0.4, group="run", reference="never").groups[0].to_reach
    assert least is not None
    assert least.saved_hours is not None
    assert (least.saved_hours.value, least.saved_hours.is_least) == (0.5, True)
    at_once = admin.compare(runs, reach=0.2).runs[0].to_reach
    assert at_once is not None
    assert at_once.spent is not None
    assert (at_once.spent.step, at_once.spent.rollouts) == (0, 0)


def test_evaluations_are_interpolated_at_the_budget(admin: Client) -> None:
    long: list[AnyRecord] = [event("started"), evaluation(0, 0.2), *(step(n) for n in range(1, 5)), evaluation(4, 0.4)]
    short: list[AnyRecord] = [event("started"), evaluation(0, 0.1), *(step(n) for n in range(1, 4)), evaluation(3, 0.7)]
    runs = [imported(admin, "long", long), imported(admin, "short", short)]
    found = admin.compare(runs, group="run", equal=True)
    assert found.budget is not None
    assert (found.budget.x, found.budget.until) == ("step", 3)
    # 0.2 + 3/4 · 0.2.
    assert [run.results[0].at_budget for run in found.runs] == [pytest.approx(0.35), pytest.approx(0.7)]
    assert found.budget.run_id == runs[1]


def test_a_running_run_is_compared_where_it_was_evaluated_last(admin: Client) -> None:
    parent: list[AnyRecord] = [
        event("started"),
        evaluation(0, 0.2),
        *(step(n) for n in range(1, 7)),
        evaluation(6, 0.5),
    ]
    clone: list[AnyRecord] = [event("started"), evaluation(0, 0.1), step(1), step(2), evaluation(2, 0.3), step(3)]
    runs = [imported(admin, "parent", parent), imported(admin, "clone", clone)]
    runs.append(imported(admin, "has not begun", [event("started")]))
    found = admin.compare(runs, group="run", equal=True)
    assert found.budget is not None
    # The clone ends at step 3 and was evaluated after step 2; a run without a step ends no other one.
    assert (found.budget.until, found.budget.run_id, found.budget.evaluated) == (3, runs[1], {"CD-34": 2})
    # 0.2 + 2/6 · 0.3.
    assert [run.results[0].at_budget for run in found.runs[:2]] == [pytest.approx(0.3), pytest.approx(0.3)]
    against = group_of(found, "clone").results[0].against_reference
    assert against is not None
    assert against.value == pytest.approx(0)
    # The clone was evaluated there, so that its interval over problems is known; the parent was not.
    at_budget = [run.results[0].evaluated_at_budget for run in found.runs[:2]]
    assert at_budget == [None, found.runs[1].results[0].final]
    assert found.outcome is not None
    assert (found.outcome.verdict, found.outcome.position, found.outcome.is_cut) == (Verdict.ONE_SEED, 2, True)
    assert found.outcome_text.startswith("At step 2, the last up to which all were evaluated, parent 30.0")
    assert found.outcome_text.endswith(
        "one seed shows no difference. Left out: has not begun (cancelled at step 0, never evaluated)."
    )
    # Where each run is taken at its end, both have an interval: 50 % against 30 %.
    ends = admin.compare(runs, group="run").outcome_text
    assert ends.startswith("Each run at its last evaluation, after 2 to 6 steps, parent 50.0")


def trained(num_steps: int, accuracies: Mapping[int, float]) -> list[AnyRecord]:
    """A journal with evaluations after these steps, and before the first."""
    records: list[AnyRecord] = [event("started")]
    for number in range(num_steps + 1):
        records += [step(number)] if number else []
        records += [evaluation(number, accuracies[number])] if number in accuracies else []
    return records


def test_a_short_clone_does_not_cut_the_comparison_of_the_others(admin: Client) -> None:
    grpo = imported(admin, "demo-grpo", trained(6, {0: 0.1, 3: 0.2, 6: 0.4}), method={"type": "grpo"})
    bapo = imported(admin, "demo-bapo", trained(6, {0: 0.1, 3: 0.3, 6: 0.5}))
    silent = imported(admin, "silent", trained(1, {}), training={"steps": 1})
    early = imported(admin, "early", trained(2, {0: 0.1, 2: 0.2}), training={"steps": 2})
    runs = [grpo, bapo, silent, early]
    found = admin.compare(runs, group="config", equal=True)
    # The table is cut where asked, at the shortest run's end.
    assert found.budget is not None
    assert (found.budget.until, found.budget.run_id) == (1, silent)
    shown = found.outcome
    assert shown is not None
    assert shown.best is not None
    assert shown.other is not None
    # The sentence is that of the two whole runs: 50 % and 40 % after step 6.
    assert (shown.position, shown.is_cut, shown.num_steps) == (6, False, admin.run(bapo).num_steps)
    assert (shown.best.accuracy.value, shown.other.accuracy.value) == (pytest.approx(0.5), pytest.approx(0.4))
    assert shown.difference is not None
    assert shown.difference.value == pytest.approx(0.1)
    assert [(each.run_id, each.reason) for each in shown.left_out] == [
        (silent, "never_evaluated"),
        (early, "too_short"),
    ]
    assert found.outcome_text.endswith(
        "Left out: silent (cancelled at step 1, never evaluated), "
        "early (cancelled at step 2, last evaluated at step 2)."
    )
    # Without the short ones the sentence is the same but for them.
    alone = admin.compare([grpo, bapo], equal=True).outcome
    assert alone is not None
    assert alone.left_out == []
    assert (alone.position, alone.difference) == (shown.position, shown.difference)


def test_runs_of_one_seed_are_one_replicate(admin: Client) -> None:
    runs = [
        imported(admin, f"same-{number}", trained(2, {2: accuracy}), training={"seed": 5})
        for number, accuracy in enumerate((0.25, 0.35))
    ]
    (group,) = admin.compare(runs).groups
    final = group.results[0].final
    assert final is not None
    # Two runs of one seed are one replicate, whose accuracy is their mean.
    assert (final.value, final.low, final.high, final.n) == (pytest.approx(0.3), None, None, 1)
    (curve,) = admin.compare_curves(runs, ["val-core/CD-34/acc/mean@8"]).curves["val-core/CD-34/acc/mean@8"]
    assert (list(curve.low), list(curve.n)) == ([None], [1])
    other = imported(admin, "other", trained(2, {2: 0.5}), training={"seed": 6})
    (group,) = admin.compare([*runs, other]).groups
    # Over the two seeds: 0.4 ± 12.706 · 0.1.
    final = group.results[0].final
    assert final is not None
    assert (final.value, final.low, final.n) == (pytest.approx(0.4), pytest.approx(0.4 - 1.2706, abs=1e-4), 2)


def test_a_steered_run_is_told_from_others_and_marked(admin: Client) -> None:
    change = event("parameter_change", 2, id="x", author="admin", set={"method.c1": 0.25}, applied_step=3)
    steps: list[AnyRecord] = [step(1), step(2), change, step(3), step(4)]
    runs = [imported(admin, "as submitted", [event("started"), *(step(n) for n in range(1, 5))])]
    runs += [imported(admin, f"steered-{seed}", [event("started"), *steps], training={"seed": seed}) for seed in (1, 2)]
    found = admin.compare(runs)
    course = "0.125 → 0.25 from step 3"
    assert [group.label for group in found.groups] == ["bapo · c1 0.125", f"bapo · c1 {course}"]
    differing = {each.field: each.values for each in found.differences}
    assert differing["method.c1"] == [0.125, course, course]
    (detail,) = admin.run(runs[1]).applied_changes
    assert (detail.step, detail.set, detail.author) == (3, {"method.c1": 0.25}, "admin")
    # 256 rollouts a step: the change stands where step 3 ends.
    curves = admin.compare_curves(runs, [REWARD], x="rollouts")
    assert [[(each.run_id, each.x, each.change.step) for each in group.changes] for group in curves.groups] == [
        [],
        [(runs[1], 768, 3), (runs[2], 768, 3)],
    ]


def test_a_run_without_a_step_can_be_compared(admin: Client) -> None:
    begun: list[AnyRecord] = [event("started")]
    runs = [imported(admin, "nothing yet", begun), imported(admin, "a step", [*begun, step(1)])]
    found = admin.compare(runs, group="run", equal=True, reach=0.5)
    assert [run.total.step for run in found.runs] == [0, 1]
    assert (found.datasets, found.dataset) == ([], None)
    assert admin.compare_curves(runs, [REWARD], group="run", x="time").curves[REWARD][0].label == "a step"


# ---------------------------------------------------------------- runs of other trainers


def test_a_run_of_another_trainer_is_compared_with_one_of_ours(
    admin: Client, recorded: Mapping[str, str], tmp_path: Path
) -> None:
    ours = recorded["bapo-seed-1"]
    groups = [Group("1 + 1 = ?", [1, 0, 0, 0], ["2", "3", "4", "5"]), Group("2 + 2 = ?", [1, 1, 1, 1])]
    with observe.run(
        "theirs", config={"lr": 1e-6, "seed": 1}, folder=tmp_path / "theirs", trainer="TRL GRPOTrainer"
    ) as run:
        for number in range(1, 6):
            run.step(number, groups=groups, metrics={"actor/entropy": 0.5})
            run.evaluation(number, dataset="CD-34", groups=groups)
    theirs = import_folder(admin, tmp_path / "theirs")

    found = admin.compare([ours, theirs])
    assert [(each.id, each.name, each.method) for each in found.runs] == [
        (ours, "bapo-seed-1", "bapo"),
        (theirs, "theirs", "observed"),
    ]
    assert [group.label for group in found.groups] == ["bapo", "observed"]
    known = {each.field: list(each.known) for each in found.differences}
    # What a run does not have is unknown, and not a default.
    assert known["method.c1"] == known["training.learning_rate"] == [True, False]
    assert known["method.trainer"] == known["method.config.lr"] == [False, True]
    shown = run_of(found, "theirs")
    # Its machines are not known.
    assert (shown.seed, shown.tracked, shown.total.compute_hours, shown.total.cost) == (1, None, None, None)
    assert (shown.total.step, shown.total.rollouts) == (5, 40)
    # Five evaluations, none of them before training: (1/4 + 4/4) / 2.
    (result,) = shown.results
    # Two problems of its own: another set than the recorded run's of that name.
    assert (result.dataset, result.recorded_as) == (f"CD-34 (2 × {len(groups[0].rewards)})", "CD-34")
    assert (result.base, result.change) == (None, None)
    assert result.final is not None
    assert result.final.value == 5 / 8
    observed = group_of(found, "observed")
    assert observed.results[0].against_reference is None
    assert found.outcome is not None
    assert found.outcome.other_sets is not None
    assert (observed.unlocked, observed.lost, observed.compute_hours, observed.cost) == (None, None, None, None)
    ours_too = group_of(found, "bapo")
    assert ours_too.compute_hours is not None
    assert ours_too.compute_hours.value > 0

    keys = [REWARD, "actor/entropy", "bapo/batch/x2", "bapo/cost/num_tokens"]
    series = admin.metrics_of_runs([ours, theirs], keys).series
    assert None not in series[ours].columns["bapo/batch/x2"]
    assert series[theirs].columns == {
        REWARD: [5 / 8] * 5,
        "actor/entropy": [0.5] * 5,
        "bapo/batch/x2": [None] * 5,
        "bapo/cost/num_tokens": [None] * 5,
    }


def test_the_accuracy_to_reach_may_be_what_the_reference_reached_in_the_end(admin: Client) -> None:
    def run(name: str, *final: float) -> str:
        journal: list[AnyRecord] = [event("started"), step(1)]
        if final:
            journal += [evaluation(0, 0.2), *(evaluation(1, value) for value in final)]
        return imported(admin, name, journal, training={"seed": len(name)})

    runs = [run("first", 0.45), run("second", 0.3), run("bare")]
    # The mean of 0.45 and 0.30, rounded down to a whole percent.
    assert admin.compare(runs, reach_final=True).reach == 0.37
    assert admin.compare(runs, group="run", reference="second", reach_final=True).reach == 0.3
    # Where the reference was not evaluated, the first that was.
    assert admin.compare(runs, group="run", reference="bare", reach_final=True).reach == 0.45
    assert admin.compare(runs, reach=0.9, reach_final=True).reach == 0.9
    assert admin.compare(runs[2:], reach_final=True).reach is None
