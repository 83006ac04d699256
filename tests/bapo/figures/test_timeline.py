"""The timeline: what each process did in the newest steps, and how long it waited."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bapo.figures.theme import LIGHT
from bapo.figures.timeline import timeline_data, timeline_figure
from bapo.records import Span, StepRecord
from tests.support.journals import step as step_record


def trainer(phase: str, begin: float, seconds: float) -> Span:
    return Span(phase=phase, begin=begin, seconds=seconds)


def generator(step: int, begin: float, seconds: float) -> Span:
    return Span(process="generator", phase="gen", begin=begin, seconds=seconds, step=step)


def steps(*spans: Sequence[Span], attempt: int = 1) -> list[StepRecord]:
    return [
        step_record(number).model_copy(update={"attempt": attempt, "spans": list(each)})
        for number, each in enumerate(spans, 1)
    ]


OVERLAPPED = steps(
    # The first step waits for its responses; those of steps 2 and 3 are made while it and step 2 train.
    [trainer("gen", 10, 2), trainer("wait", 10, 1.5), generator(1, 10, 1.5), trainer("update", 12, 3)],
    [trainer("gen", 15, 0.5), generator(2, 11.5, 1.5), trainer("update", 15.5, 3)],
    [trainer("gen", 18.5, 0.5), generator(3, 13, 1.5), trainer("update", 19, 1)],
)


def test_each_process_has_its_bars_and_its_idle_share() -> None:
    data = timeline_data(OVERLAPPED)
    of_trainer, of_generator = data.rows
    # From second 10 to 20. The trainer is busy for all but the 1.5 s that it waits, the generator for 4.5 s.
    assert data.seconds == 10
    assert (of_trainer.process, of_trainer.idle_share) == ("trainer", pytest.approx(0.15))
    assert (of_generator.process, of_generator.idle_share) == ("generator", pytest.approx(0.55))
    assert [(phase, *bar) for phase, bar in of_generator.bars] == [
        ("gen", 1, 0, 1.5),
        ("gen", 2, 1.5, 1.5),
        ("gen", 3, 3, 1.5),
    ]
    # Waiting is drawn over the generation that it is part of.
    assert [phase for phase, _ in of_trainer.bars][-1] == "wait"


def test_it_says_how_far_generation_is_ahead() -> None:
    # When steps 1, 2 and 3 take theirs, those of 0, 1 (step 3) and 0 later steps are there.
    assert timeline_data(OVERLAPPED).mean_steps_ahead == pytest.approx(1 / 3)
    assert timeline_data(steps([trainer("gen", 0, 1)])).mean_steps_ahead is None


def test_it_shows_the_newest_attempt_alone() -> None:
    resumed = step_record(4).model_copy(update={"attempt": 2, "spans": [trainer("gen", 1, 2)]})
    assert timeline_data([*OVERLAPPED, resumed]).seconds == 2


def test_steps_without_spans_have_no_timeline() -> None:
    data = timeline_data([step_record(1)])
    assert data.rows == []
    assert list(timeline_figure(data, LIGHT).data) == []
    assert timeline_data([]).rows == []


def test_a_bar_begins_where_its_phase_does() -> None:
    figure = timeline_figure(timeline_data(OVERLAPPED), LIGHT)
    update = next(trace for trace in figure.data if trace.name == "update")
    assert (list(update.base), list(update.x)) == ([2, 5.5, 9], [3, 3, 1])
    assert figure.layout.xaxis.title.text == "seconds · 0.3 steps ahead on average"
    assert list(figure.layout.yaxis.categoryarray) == ["trainer, 15 % idle", "generator, 55 % idle"]
