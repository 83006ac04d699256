"""A prompt's accuracy by run."""

from __future__ import annotations

from bapo.api.prompts import PromptCurve, PromptCurves
from bapo.figures.prompt_across_runs import across_runs_data, across_runs_figure
from bapo.figures.theme import LIGHT
from bapo.rollout import BatchSource


def curve(name: str, method: str, *counts: int, model: str = "tiny", group_size: int = 8) -> PromptCurve:
    steps = range(1, len(counts) + 1)
    return PromptCurve(
        run_id=name,
        run_name=name,
        method=method,
        model=model,
        group_size=group_size,
        step=list(steps),
        num_correct=list(counts),
        policy_version=[None, *range(len(counts) - 1)] if counts else [],
        source=[BatchSource.FRESH for _ in steps],
    )


def test_runs_of_a_method_share_a_colour_and_differ_in_their_dash() -> None:
    data = across_runs_data(
        PromptCurves(items=[curve("a", "bapo", 0, 4), curve("b", "bapo", 8), curve("c", "grpo", 2), curve("d", "grpo")])
    )
    # A run without evaluations has no line.
    assert [(line.name, line.group, line.dash) for line in data.lines] == [
        ("a", "BAPO", "solid"),
        ("b", "BAPO", "dash"),
        ("c", "GRPO", "solid"),
    ]
    assert data.lines[0].accuracies == [0.0, 0.5]
    assert data.lines[0].texts[1] == "a<br>step 2: 4/8, X1 fresh<br>policy version 0"
    figure = across_runs_figure(data, LIGHT)
    colours = [trace.line.color for trace in figure.data]
    assert colours[0] == colours[1] != colours[2]


def test_models_are_named_where_there_are_several_and_group_sizes_where_there_is_one() -> None:
    data = across_runs_data(PromptCurves(items=[curve("a", "bapo", 1), curve("b", "bapo", 1, model="big")]))
    assert [line.group for line in data.lines] == ["BAPO · tiny", "BAPO · big"]
    assert data.group_size == 8
    mixed = across_runs_data(PromptCurves(items=[curve("a", "bapo", 1), curve("b", "bapo", 1, group_size=4)]))
    assert mixed.group_size is None
    assert across_runs_figure(across_runs_data(PromptCurves(items=[])), LIGHT).data == ()
