"""Runs that were evaluated on different held-out sets of one name: what is compared, and what is said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from bapo.api.boards import BoardCreate, ChartPanel, TextPanel
from bapo.api.imports import ImportCreate
from bapo.api.runs import RunFilters
from bapo.client import Client
from bapo.config import RunConfig
from bapo.records import EvaluationRecord
from bapo.rollout import problems_digest
from tests.support.journals import batch, evaluation, lines_of, step

MEAN_OF_8 = "val-core/CD-34/acc/mean@8"


def evaluated(
    at: int, value: float, num_problems: int, k: int, *, first: int = 0, answers: bool = True
) -> EvaluationRecord:
    """An evaluation on the problems from number `first` on, all with the same accuracy."""
    ids = [f"CD-34:{number}" for number in range(first, first + num_problems)]
    return evaluation(at, value).model_copy(
        update={
            "num_samples": k,
            "num_correct": [round(value * k)] * num_problems,
            "prompt_ids": ids,
            "problems": problems_digest(ids, {each: {"target": 1} for each in ids}) if answers else None,
        }
    )


def imported(client: Client, name: str, records: Sequence[EvaluationRecord], seed: int = 1, **config: Any) -> str:
    body = RunConfig.model_validate({"training": {"seed": seed}, **config}).model_dump(mode="json")
    info = client.create_import(
        ImportCreate(name=name, source=name, config=body, attempts=1, group=name.partition(" ")[0])
    )
    lines = lines_of([records[0], step(1), step(2), *records[1:]])
    client.import_records(info.run_id, batch(lines, token=info.fencing_token))
    return client.finish_import(info.run_id).id


@pytest.fixture(scope="module")
def two_sets(admin: Client) -> list[str]:
    """Two seeds each of GRPO on 50 problems × 2 and of BAPO on 200 × 8."""
    small = [
        imported(
            admin, f"sizes grpo {seed}", [evaluated(0, 0.0, 50, 2), evaluated(2, 0.5, 50, 2)], seed,
            method={"type": "grpo"},
        )
        for seed in (1, 2)
    ]  # fmt: skip
    large = [
        imported(admin, f"sizes bapo {seed}", [evaluated(0, 0.0, 200, 8), evaluated(2, 0.25, 200, 8)], seed)
        for seed in (1, 2)
    ]
    return [*small, *large]


SAID = (
    "CD-34 is 50 problems × 2 responses in some runs and 200 problems × 8 responses in others: different held-out "
    "sets, whose accuracies are not compared."
)


def test_different_sets_are_not_compared_and_both_are_named(admin: Client, two_sets: list[str]) -> None:
    found = admin.compare(two_sets, group="method")
    assert found.datasets == ["CD-34 (200 × 8)", "CD-34 (50 × 2)"]
    grpo, bapo = found.groups
    assert [(each.dataset, each.against_reference) for each in bapo.results] == [("CD-34 (200 × 8)", None)]
    assert [each.dataset for each in grpo.results] == ["CD-34 (50 × 2)"]
    assert found.held_out_note == SAID
    assert found.outcome is not None
    assert (found.outcome.verdict, found.outcome.other, found.outcome.difference) == ("alone", None, None)
    # GRPO was evaluated, on the other set.
    assert found.outcome.unevaluated == []
    assert found.outcome_text.endswith(f"on CD-34 (200 × 8); no other group was evaluated on this set. {SAID}")
    (result,) = found.runs[0].results
    assert (result.recorded_as, result.num_problems, result.num_samples) == ("CD-34", 50, 2)


def test_a_run_on_another_set_is_not_said_to_be_left_out_as_unevaluated(admin: Client, two_sets: list[str]) -> None:
    clone = imported(admin, "short clone", [evaluated(0, 0.0, 200, 8)], 3)
    for equal in (False, True):
        found = admin.compare([*two_sets, clone], group="method", dataset="CD-34 (200 × 8)", equal=equal)
        assert found.outcome is not None
        assert [(each.name, each.reason) for each in found.outcome.left_out] == [("short clone", "untrained")]
        assert found.outcome_text.endswith(
            f"{SAID} Left out: short clone (cancelled at step 2, evaluated before the first only)."
        )


def test_a_set_is_asked_for_by_either_name(admin: Client, two_sets: list[str]) -> None:
    assert admin.compare(two_sets, dataset="CD-34 (50 × 2)").dataset == "CD-34 (50 × 2)"
    found = admin.compare(two_sets, group="method", dataset="CD-34", reach=0.2)
    assert found.dataset == "CD-34 (200 × 8)"
    # Nothing is said of what the others would have taken on it.
    assert [None if each.to_reach is None else each.to_reach.num_reached for each in found.groups] == [None, 2]


def test_groups_have_no_mean_over_different_sets(admin: Client, two_sets: list[str]) -> None:
    (group,) = admin.compare(two_sets, group="group").groups
    assert {
        each.dataset: None if each.final is None else (each.final.value, each.final.n) for each in group.results
    } == {
        "CD-34 (200 × 8)": (0.25, 2),
        "CD-34 (50 × 2)": (0.5, 2),
    }


@pytest.fixture(scope="module")
def two_contents(admin: Client) -> list[str]:
    """Two runs on the first 100 problems, and one on the hundred after these."""
    return [
        imported(admin, "contents one", [evaluated(0, 0.25, 100, 8), evaluated(2, 0.5, 100, 8)], 1),
        imported(admin, "contents two", [evaluated(0, 0.25, 100, 8), evaluated(2, 0.5, 100, 8)], 2),
        imported(
            admin, "contents three", [evaluated(0, 0.75, 100, 8, first=100), evaluated(2, 1, 100, 8, first=100)], 3
        ),
    ]


def test_sets_of_one_size_with_other_problems_are_different(admin: Client, two_contents: list[str]) -> None:
    found = admin.compare(two_contents, group="run")
    marks = {result.dataset for run in found.runs for result in run.results}
    assert len(marks) == 2
    assert all(mark.startswith("CD-34 (100 × 8, problems ") for mark in marks)
    assert "CD-34 is 100 problems × 8 responses (problems " in (found.held_out_note or "")


def test_curves_leave_out_what_is_of_another_set(admin: Client, two_contents: list[str]) -> None:
    curves = admin.compare_curves(two_contents, [MEAN_OF_8, "actor/pg_loss"], group="group")
    (curve,) = curves.curves[MEAN_OF_8]
    # 0.25 and 0.5 of both; with the third run, the means would be 0.42 and 0.67.
    assert (list(curve.mean), list(curve.n)) == ([0.25, 0.5], [2, 2])
    assert curves.notes[MEAN_OF_8].endswith("left out: 1 run evaluated on another set.")
    assert max(curves.curves["actor/pg_loss"][0].n) == 3


def test_a_board_draws_and_tells_one_set(admin: Client, two_contents: list[str]) -> None:
    filters = RunFilters(group=["contents"])
    chart = ChartPanel(id="chart", y=MEAN_OF_8, group="group", filters=filters)
    text = TextPanel(id="text", text="{{last eval_latest}}", filters=filters)
    board = admin.create_board(BoardCreate(name="contents", panels=[chart, text]))
    drawn = admin.board_panel(board.id, "chart").chart
    assert drawn is not None
    assert [list(curve.mean) for curve in drawn.curves] == [[0.25, 0.5]]
    assert drawn.note.endswith("left out: 1 run evaluated on another set.")
    told = admin.board_panel(board.id, "text").text
    assert told is not None
    assert "evaluated on 2 different held-out sets" in told.problems[0]


def test_evaluations_without_answers_are_compared_by_their_problems(admin: Client) -> None:
    runs = [
        imported(
            admin, "before one", [evaluated(0, 0.25, 30, 8, answers=False), evaluated(2, 0.5, 30, 8, answers=False)]
        ),
        imported(admin, "before two", [evaluated(0, 0.25, 30, 8), evaluated(2, 0.5, 30, 8)], 2),
    ]
    found = admin.compare(runs, group="run")
    assert found.datasets == ["CD-34"]
    assert found.held_out_note == (
        "On CD-34, the problems and the responses per problem are the same; whether the answers are is not recorded in "
        "every run."
    )


def test_the_run_list_has_the_set_and_no_mean_over_several(admin: Client, two_sets: list[str]) -> None:
    run = admin.run(two_sets[0])
    assert (run.eval_name, run.eval_num_problems, run.eval_best) == ("CD-34 avg@2", 50, 0.5)
    (group,) = admin.run_groups("group", ["eval_latest", "step"], RunFilters(group=["sizes"])).items
    mixed = group.aggregates["eval_latest"]
    assert (mixed.num_sets, mixed.mean, mixed.std, mixed.max, mixed.num_runs) == (2, None, None, None, 4)
    assert (group.aggregates["step"].mean, group.aggregates["step"].num_sets) == (2, None)


def test_the_metric_of_a_held_out_set_has_no_mean_and_no_order_over_several(
    admin: Client, two_contents: list[str]
) -> None:
    column, filters = f"metric.{MEAN_OF_8}", RunFilters(group=["contents"])
    (group,) = admin.run_groups("group", [column, "metric.actor/pg_loss"], filters).items
    mixed = group.aggregates[column]
    assert (mixed.num_sets, mixed.mean, mixed.max, mixed.num_runs) == (2, None, None, 3)
    assert group.aggregates["metric.actor/pg_loss"].num_sets is None
    for sort, num_sets in ((column, 2), (f"-{column}", 2), ("-eval_best", 2), ("metric.actor/pg_loss", None)):
        assert admin.runs(group=["contents"], sort=sort).num_sets == num_sets
    # Two of the runs have one set: 0.5 each.
    one, two, _ = two_contents
    same = RunFilters(group=["contents"], where=[f"id = {one}, {two}"])
    (group,) = admin.run_groups("group", [column], same).items
    assert (group.aggregates[column].mean, group.aggregates[column].num_sets) == (0.5, None)
    assert admin.runs(group=["contents"], where=[f"id = {one}, {two}"], sort=column).num_sets is None


def test_a_board_tells_no_last_value_of_a_metric_over_several_sets(admin: Client, two_contents: list[str]) -> None:
    text = TextPanel(id="text", text=f"{{{{last metric.{MEAN_OF_8}}}}}", filters=RunFilters(group=["contents"]))
    board = admin.create_board(BoardCreate(name="last of a metric", panels=[text]))
    told = admin.board_panel(board.id, "text").text
    assert told is not None
    assert "evaluated on 2 different held-out sets" in told.problems[0]


def test_a_run_that_changes_its_set_has_the_best_and_the_base_of_the_newest(admin: Client) -> None:
    changed = [evaluated(0, 0.5, 40, 8), evaluated(1, 0.125, 40, 8, first=40), evaluated(2, 0.25, 40, 8, first=40)]
    run = admin.run(imported(admin, "changed", changed))
    assert (run.eval_base, run.eval_latest, run.eval_best, run.eval_best_step) == (None, 0.25, 0.25, 2)
    (result,) = admin.compare([run.id]).runs[0].results
    assert (result.base, result.best.value, result.change) == (None, 0.25, None)


def test_settings_are_told_from_runs_of_one_set(admin: Client, two_sets: list[str]) -> None:
    importance = admin.compare_importance(two_sets)
    known = [each for each in importance.runs if each.result is not None]
    assert len(known) == 2
