"""Figures 6 and 10: each panel varies one thing and nothing else."""

from __future__ import annotations

from typing import Any

from bapo.figures.ablations import ablation_groups, ablations_data, ablations_figure
from bapo.figures.online_filters import filter_groups, online_filters_data, online_filters_figure
from bapo.figures.recorded import RecordedRun
from bapo.figures.theme import LIGHT
from tests.support.figure_runs import evaluation, run

REWARDS = {"critic/rewards/mean": [0.1, 0.2], "actor/grad_norm": [1.0, 3.0]}


def _run(name: str, method: str = "bapo", **changes: Any) -> RecordedRun:
    return run(name, method, columns=REWARDS, changes=changes)


USUAL = [_run("a"), run("b", seed=2, columns=REWARDS)]


def test_each_variant_stands_in_the_panel_of_what_it_varies() -> None:
    runs = [
        *USUAL,
        _run("v1", method__v=1, method__m=10),
        _run("no-x2", method__without=["reevaluated"]),
        _run("fixed", method__c2=[0.25, 0.25], method__c3=[0.5, 0.5]),
        _run("grpo", "grpo"),
    ]
    labels = [[(group.label, len(group.runs)) for group in panel] for panel in ablation_groups(runs)]
    assert labels == [
        [("v = 5, m = 5", 2), ("v = 1, m = 10", 1)],
        [("BAPO", 2), ("BAPO w/o X2", 1), ("GRPO", 1)],
        [
            ("adaptive: c1 0.125, c2 [0.125, 0.5], c3 [0.25, 0.625]", 2),
            ("fixed: c1 0.125, c2 0.25, c3 0.5", 1),
        ],
    ]


def test_a_run_that_varies_two_things_is_in_no_panel() -> None:
    panels = ablation_groups([*USUAL, _run("both", method__v=1, method__c1=0.25)])
    assert panels == [[], [], []]


def test_without_bapo_there_is_nothing_to_vary() -> None:
    assert ablation_groups([_run("grpo", "grpo")]) == [[], [], []]


def test_few_evaluations_leave_the_training_reward() -> None:
    panels = ablation_groups([*USUAL, _run("v1", method__v=1)])
    data = ablations_data(panels)
    assert (data.metric, data.window) == ("training reward", 10)
    assert [len(panel.curves) for panel in data.panels] == [2, 0, 0]
    assert len(ablations_figure(data, LIGHT).layout.annotations) == 1


def test_test_accuracy_is_shown_where_all_variants_have_a_curve_of_it() -> None:
    records = [evaluation(step, [step]) for step in (0, 2, 4)]
    runs = [each._replace(evaluations=records) for each in (*USUAL, _run("v1", method__v=1))]
    assert ablations_data(ablation_groups(runs)).metric == "CD-4 avg@4"


def test_the_varied_config_looks_like_bapo_in_every_panel() -> None:
    data = ablations_data(ablation_groups([*USUAL, _run("v1", method__v=1), _run("no", method__without=["reused"])]))
    assert data.baseline == {"v = 5, m = 5", "BAPO"}
    colours = {trace.name: trace.line.color for trace in ablations_figure(data, LIGHT).data if trace.showlegend}
    assert colours["v = 5, m = 5 (n = 2)"] == colours["BAPO (n = 2)"] == LIGHT.methods[0]


def test_filters_are_compared_where_all_else_is_equal() -> None:
    uniform = _run("u", method__filter={"type": "uniform", "share": 0.6})
    other = _run("o", method__filter={"type": "gaussian"}, method__v=1)
    groups = filter_groups([*USUAL, uniform, other, _run("grpo", "grpo")])
    assert [(group.label, len(group.runs)) for group in groups] == [("filter range", 2), ("filter uniform", 1)]


def test_the_filters_norms_and_accuracies_stand_side_by_side() -> None:
    uniform = _run("u", method__filter={"type": "uniform"})
    runs = [each._replace(evaluations=[evaluation(0, [1]), evaluation(2, [3])]) for each in (*USUAL, uniform)]
    data = online_filters_data(filter_groups(runs))
    # Mean of the first two steps' norms, 1 and 3.
    assert data.panels[0].curves[1].mean == [1.0, 2.0]
    assert data.best is not None
    assert (data.best.step, data.best.value) == (2, 0.75)
    assert online_filters_figure(data, LIGHT).layout.meta["panels"] == 2
