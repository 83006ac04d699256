"""A prompt's history, from what the API tells to the marks."""

from __future__ import annotations

from typing import Any

import pytest

from bapo.api.prompts import PromptDetail
from bapo.api.records import Series
from bapo.figures.looks import SOURCE_NAMES
from bapo.figures.prompt_history import (
    NOT_TRAINED_OPACITY,
    SYMBOLS,
    PromptHistory,
    Visit,
    hover_text,
    prompt_history_data,
    prompt_history_figure,
    reason_text,
)
from bapo.figures.theme import LIGHT
from bapo.rollout import BatchSource

PROMPT = PromptDetail.model_validate(
    {
        "prompt_id": "countdown:1",
        "text": "3 4=7",
        "answer": {"target": 7},
        "num_visits": 3,
        "num_evaluations": 2,
        "first_correct": 0,
        "last_correct": 3,
        "group_size": 8,
        "first_accuracy": 0.0,
        "last_accuracy": 0.375,
        "gain": 0.375,
        "variance": 0.03,
        "first_step": 4,
        "last_step": 7,
        "stories": ["unlocked"],
        "steps": [4, 5, 7],
        "num_correct": [0, 3, 3],
        "sources": ["fresh", "reevaluated", "reused"],
        "visits": {
            "step": [4, 5, 7],
            "source": ["fresh", "reevaluated", "reused"],
            "num_correct": [0, 3, 3],
            "policy_version": [1, 4, 4],
            "staleness": [2, 0, 2],
            "in_batch": [False, True, True],
            "reason": ["all_wrong", None, None],
        },
        "trackings": {"step": [0, 0, 10], "replicate": [0, 1, 0], "num_correct": [0, 1, 6], "group_size": [8, 8, 8]},
        "neighbours": {"total": 9, "position": 2, "previous_id": "a", "next_id": "b"},
    }
)
THRESHOLDS = Series(
    steps=[1, 10],
    columns={
        "bapo/thresholds/c1": [0.125, 0.125],
        "bapo/thresholds/c2": [0.125, 0.25],
        "bapo/thresholds/c3": [0.25, 0.375],
    },
)


@pytest.fixture
def data() -> PromptHistory:
    return prompt_history_data(PROMPT, THRESHOLDS, 10)


def traces_of(data: PromptHistory) -> dict[str, Any]:
    return {trace.name: trace for trace in prompt_history_figure(data, LIGHT).data}


def test_a_group_was_generated_in_the_first_step_of_its_policy(data: PromptHistory) -> None:
    # Version 1 is current in step 2, version 4 in step 5.
    assert [visit.generated_step for visit in data.visits] == [2, 5, 5]
    assert data.visits[0] == Visit(4, BatchSource.FRESH, 0, 2, False, "all_wrong")
    # 0, 1 and 6 of 8.
    assert [(sampling.step, sampling.accuracy) for sampling in data.samplings] == [(0, 0.0), (0, 0.125), (10, 0.75)]


def test_each_source_has_its_own_marks(data: PromptHistory) -> None:
    traces = traces_of(data)
    for source, name in SOURCE_NAMES.items():
        visit = next(visit for visit in data.visits if visit.source is source)
        trace = traces[name]
        assert (list(trace.x), list(trace.y)) == ([visit.step], [visit.num_correct / 8])
        assert trace.marker.symbol == SYMBOLS[source]
        assert list(trace.marker.opacity) == [1.0 if visit.in_batch else NOT_TRAINED_OPACITY]
    colours = {traces[name].marker.color for name in SOURCE_NAMES.values()}
    assert colours == {LIGHT.fresh, LIGHT.reevaluated, LIGHT.reused}
    assert list(traces["tracked, apart from training"].y) == [0.0, 0.125, 0.75]


def test_a_stale_group_is_joined_to_its_generation(data: PromptHistory) -> None:
    line = traces_of(data)["age of the policy that answered"]
    # The re-evaluation is by the current policy and has no line.
    assert list(line.x) == [2, 4, None, 5, 7, None]
    assert list(line.y) == [0.0, 0.0, None, 0.375, 0.375, None]


def test_a_reuse_does_not_bend_the_course(data: PromptHistory) -> None:
    course = next(trace for trace in prompt_history_figure(data, LIGHT).data if trace.name is None)
    assert (list(course.x), list(course.y)) == ([4, 5], [0.0, 0.375])


def test_the_band_holds_the_thresholds_in_force(data: PromptHistory) -> None:
    traces = traces_of(data)
    assert list(traces["c2"].y) == [0.125, 0.25]
    assert list(traces["c2 to c3: reusable"].y) == [0.25, 0.375]
    assert traces["c2 to c3: reusable"].fill == "tonexty"
    bare = traces_of(prompt_history_data(PROMPT, Series(steps=[1], columns={}), 10))
    assert list(bare["c1: difficult up to"].y) == [None]


def test_the_axes_show_the_whole_run_and_every_accuracy(data: PromptHistory) -> None:
    layout = prompt_history_figure(data, LIGHT).layout
    assert list(layout.xaxis.autorangeoptions.include) == [0, 10]
    assert list(layout.yaxis.ticktext)[:2] == ["0/8", "1/8"]


def test_a_point_says_who_answered_and_what_became_of_it(data: PromptHistory) -> None:
    assert hover_text(data.visits[0], 8) == (
        "step 4 · X1 fresh<br>0/8 correct, by a policy 2 steps old<br>not trained on: all wrong"
    )
    assert hover_text(data.visits[1], 8).endswith("3/8 correct, by the current policy<br>trained on")


def test_a_reason_of_a_newer_trainer_is_not_shown_as_markup() -> None:
    assert reason_text("<b>new</b>") == "no reason given"
    assert reason_text(None) == "no reason given"
