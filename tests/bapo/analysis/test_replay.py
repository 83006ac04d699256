"""Replaying counts at once is the real batch construction, step by step, for every legal config and stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bapo.analysis.visits import SOURCES, Visits
from bapo.analysis.what_if.answers import ReevaluationModel, answered_again, mixed_of_unvisited
from bapo.analysis.what_if.pass_rates import Quantiles
from bapo.analysis.what_if.plan import Phase
from bapo.analysis.what_if.replay import MOST_AT_ONCE, replay
from bapo.analysis.what_if.stream import RecordedStream
from bapo.config import ConfigError, RunConfig, apply_changes, resolve
from bapo.config.method import has_trait
from bapo.methods import Method, build_method
from bapo.rollout import BatchSource, RolloutGroup
from tests.support import replayed
from tests.support.drawing import examples
from tests.support.legal_configs import KINDS, POOL, legal_configs, streams

REPLICATES = 3


class Row(NamedTuple):
    """One visit."""

    step: int
    prompt_id: str
    source: BatchSource
    num_correct: int
    in_batch: bool = False


def visits_of_rows(rows: Sequence[Row], group_size: int) -> Visits:
    codes: dict[str, int] = {}
    prompts = [codes.setdefault(row.prompt_id, len(codes)) for row in rows]
    return Visits(
        list(codes),
        group_size,
        np.array([row.step for row in rows], np.int32),
        np.array(prompts, np.int32),
        np.array([SOURCES.index(row.source) for row in rows], np.int8),
        np.array([row.num_correct for row in rows], np.int16),
        np.array([row.step - 1 for row in rows], np.int32),
        np.array([row.in_batch for row in rows], np.bool_),
    )


class Sizes(NamedTuple):
    fresh: int
    mixed: int
    drawn: int
    x1: int
    x2: int
    x3: int
    reevaluated: int
    estimated: int
    surplus_stored: int
    difficult: int
    high_quality: int


def by_the_method(
    stream: RecordedStream, phases: Sequence[Phase], fresh: Sequence[Mapping[str, int]], replicate: int
) -> list[Sizes]:
    """The same replay by the real method, group by group."""
    config = phases[0].config
    model = ReevaluationModel(stream, config.training.seed, REPLICATES)
    method = build_method(config)
    later = {phase.first_step: phase.config for phase in phases[1:]}
    size = config.rollout.group_size
    sizes = []
    for step, counts in enumerate(fresh, start=1):
        if step in later:
            method.reconfigure(later[step])
        recorded = [RolloutGroup(prompt, k, size, step - 1, step) for prompt, k in counts.items()]
        further = further_groups(stream, config, step, recorded, method, replicate)
        method.observe_fresh(step, [*recorded, *further])
        asked = method.prompts_to_reevaluate(step)
        codes = np.array([stream.prompt_ids.index(prompt) for prompt in asked], np.int64)
        found = model.answers(codes, step, np.full(len(asked), replicate))
        answers = [
            RolloutGroup(prompt, int(k), size, step - 1, step)
            for prompt, k in zip(asked, found.num_correct, strict=True)
        ]
        num = method.compose(step, answers).counts
        method.finish_step(step)
        difficult, groups = method.buffers(step)
        sizes.append(
            Sizes(
                num.fresh,
                sum(not group.is_homogeneous for group in [*recorded, *further]),
                len(further),
                num.x1,
                num.x2 or 0,
                num.x3 or 0,
                num.reevaluated or 0,
                int(found.is_estimated.sum()),
                num.surplus_stored or 0,
                difficult.size if difficult else 0,
                groups.size if groups else 0,
            )
        )
    return sizes


def further_groups(
    stream: RecordedStream,
    config: RunConfig,
    step: int,
    recorded: Sequence[RolloutGroup],
    method: Method,
    replicate: int,
) -> list[RolloutGroup]:
    """Ask a method for further rounds as the loop does, and answer each with what a replay draws."""
    per_round, size = config.rollout.batch_size, config.rollout.group_size
    method.choose_prompts(step, [], [])
    further: list[RolloutGroup] = []
    while method.wants_more_prompts(step, [*recorded, *further]):
        method.choose_prompts(step, [], [])
        num = len(further) + per_round
        (is_mixed,) = mixed_of_unvisited(
            stream.pass_rates, step, num, size, seed=config.training.seed, first=replicate, end=replicate + 1
        )
        further += [
            RolloutGroup(f"unvisited {place}", int(is_mixed[place]), size, step - 1, step)
            for place in range(len(further), num)
        ]
    return further


def at_once(stream: RecordedStream, phases: Sequence[Phase], replicate: int) -> list[Sizes]:
    found = replay(stream, phases, replicates=REPLICATES)
    columns = [column[min(replicate, len(column) - 1)] for column in found[:-1]]
    return [Sizes(*map(int, values)) for values in zip(*columns, strict=True)]


REPLAYABLE = [kind for kind in KINDS if has_trait(kind, "is_replayable")]


@cache
def answers_of_some(group_size: int) -> st.SearchStrategy[dict[str, int]]:
    return st.dictionaries(st.sampled_from(POOL), st.integers(0, group_size))


@st.composite
def recordings(
    draw: st.DrawFn, kinds: Sequence[str] = REPLAYABLE
) -> tuple[RecordedStream, list[Mapping[str, int]], RunConfig]:
    """Fresh groups of some steps, and re-evaluations that the run happened to record."""
    config = draw(legal_configs(kinds))
    size = config.rollout.group_size
    fresh = list(draw(streams(size)))
    rows = []
    for step, counts in enumerate(fresh, start=1):
        rows += [Row(step, prompt, BatchSource.FRESH, k) for prompt, k in counts.items()]
        known = {row.prompt_id for row in rows} - counts.keys()
        again = draw(answers_of_some(size)) if known else {}
        rows += [Row(step, prompt, BatchSource.REEVALUATED, k) for prompt, k in again.items() if prompt in known]
        if draw(st.booleans()):
            rows.append(Row(step, draw(st.sampled_from(sorted(counts))), BatchSource.REUSED, 1, in_batch=True))
    return RecordedStream(visits_of_rows(rows, size)), fresh, config


@examples(4)
@given(recordings())
def test_a_replay_is_what_the_method_does_step_by_step(
    recording: tuple[RecordedStream, list[Mapping[str, int]], RunConfig],
) -> None:
    stream, fresh, config = recording
    phases = [Phase(1, config)]
    for replicate in range(REPLICATES):
        assert at_once(stream, phases, replicate) == by_the_method(stream, phases, fresh, replicate)


@examples(2)
@given(recordings(["bapo"]), st.data())
def test_a_replay_follows_changes_of_the_parameters(
    recording: tuple[RecordedStream, list[Mapping[str, int]], RunConfig], data: st.DataObject
) -> None:
    stream, fresh, config = recording
    first_steps = sorted(data.draw(st.sets(st.integers(2, len(fresh)), max_size=3)))
    phases = [Phase(1, config)]
    for first_step in first_steps:
        changes: dict[str, Any] = {
            "method.c1": data.draw(st.sampled_from(["0", "1/8", "1/4", "1/2"])),
            "method.m": data.draw(st.integers(1, 3)),
            "method.max_reevaluated_prompts": data.draw(st.integers(0, 5)),
        }
        try:
            changed = resolve(apply_changes(phases[-1].config.model_dump(mode="json"), changes)).config
        except ConfigError:
            assume(False)
        phases.append(Phase(first_step, changed))
    for replicate in range(REPLICATES):
        assert at_once(stream, phases, replicate) == by_the_method(stream, phases, fresh, replicate)


def test_steps_after_a_gap_are_left_out() -> None:
    rows = [Row(step, "a", BatchSource.FRESH, 1) for step in (1, 2, 4)]
    assert RecordedStream(visits_of_rows(rows, 8)).num_steps == 2


def test_a_run_without_steps_has_an_empty_replay() -> None:
    stream = RecordedStream(visits_of_rows([], 8))
    assert stream.num_steps == 0
    assert replay(stream, [Phase(1, resolve({}).config)], replicates=3).x2.shape == (1, 0)


def test_the_recorded_counts_are_read_off_the_visits() -> None:
    rows = [
        Row(1, "a", BatchSource.FRESH, 0),
        Row(1, "b", BatchSource.FRESH, 4, in_batch=True),
        Row(2, "c", BatchSource.FRESH, 8),
        Row(2, "a", BatchSource.REEVALUATED, 2, in_batch=True),
        Row(2, "b", BatchSource.REUSED, 4, in_batch=True),
    ]
    found = RecordedStream(visits_of_rows(rows, 8)).recorded
    assert (found.fresh.tolist(), found.mixed.tolist()) == ([2, 1], [1, 0])
    assert found.reevaluated.tolist() == [0, 1]
    assert [found.x1.tolist(), found.x2.tolist(), found.x3.tolist()] == [[1, 0], [0, 1], [0, 1]]


@examples(2)
@given(recordings(), st.sampled_from([2, 3, 4, 16]))
def test_groups_of_another_size_are_replayed_as_if_they_were_recorded(
    recording: tuple[RecordedStream, list[Mapping[str, int]], RunConfig], group_size: int
) -> None:
    stream, fresh, config = recording
    assume(group_size != config.rollout.group_size)
    try:
        changes = {"rollout.group_size": group_size}
        changed = resolve(apply_changes(config.model_dump(mode="json"), changes)).config
    except ConfigError:
        assume(False)
    seed = changed.training.seed
    for replicate in range(REPLICATES):
        groups = answered_again(stream.fresh, stream.pass_rates, group_size, seed=seed, replicate=replicate)
        drawn = iter(groups.num_correct.tolist())
        again = [{prompt: next(drawn) for prompt in counts} for counts in fresh]
        expected = by_the_method(stream.with_fresh(groups), [Phase(1, changed)], again, replicate)
        # All answers are drawn.
        assert at_once(stream, [Phase(1, changed)], replicate) == [each._replace(drawn=each.fresh) for each in expected]


def test_replicates_of_another_size_give_what_they_gave_one_by_one() -> None:
    run = replayed.recording(replayed.config(**{"method.difficult_buffer.capacity": 3}))
    changes = {"rollout.group_size": 16, "training.batch_size": 6}
    config = resolve(apply_changes(run.phases[0].config.model_dump(mode="json"), changes)).config
    found = replay(run.stream, [Phase(1, config)], replicates=3)
    # As they were when one was replayed after the other.
    assert found.mixed.tolist() == [
        [9, 10, 8, 9, 10, 9, 7, 8, 10, 8, 8, 8],
        [6, 10, 8, 9, 10, 9, 7, 8, 10, 9, 8, 8],
        [10, 10, 10, 9, 10, 10, 9, 9, 10, 10, 10, 10],
    ]
    assert found.num_estimated.tolist() == [
        [0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0],
        [0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0],
        [0, 2, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0],
    ]
    assert found.difficult_size.tolist() == [
        [2, 2, 2, 3, 3, 2, 2, 3, 3, 2, 2, 3],
        [3, 2, 2, 3, 3, 3, 3, 3, 3, 2, 2, 3],
        [2, 0, 0, 3, 3, 1, 1, 3, 3, 1, 1, 3],
    ]
    assert found.high_quality_size.tolist() == [
        [1, 2, 3, 5, 5, 6, 3, 2, 1, 2, 3, 2],
        [3, 3, 3, 0, 0, 0, 0, 1, 1, 1, 0, 0],
        [3, 3, 3, 0, 2, 2, 3, 1, 4, 5, 5, 2],
    ]


def test_many_replicates_are_the_first_ones_and_more() -> None:
    run = replayed.recording(replayed.config())
    changed = apply_changes(run.phases[0].config.model_dump(mode="json"), {"rollout.group_size": 16})
    phases = [Phase(1, resolve(changed).config)]
    few, many = (replay(run.stream, phases, replicates=num) for num in (2, MOST_AT_ONCE + 1))
    for ours, theirs in zip(few[:-1], many[:-1], strict=True):
        assert len(theirs) == MOST_AT_ONCE + 1
        assert np.array_equal(ours, theirs[:2])


def test_known_cells_find_what_a_search_finds() -> None:
    # P(k) = ½, ¼, ¼ and 0, 1, 0: ½ itself and what follows it is the next outcome.
    quantiles = Quantiles(np.array([[0.5, 0.75, 1.0], [0.0, 1.0, 1.0]]))
    uniform = np.array([0.0, np.nextafter(0.5, 0), 0.5, np.nextafter(0.75, 0), 0.75, np.nextafter(1, 0)])
    assert quantiles.at(np.zeros(6, np.int64), uniform).tolist() == [0, 0, 1, 1, 2, 2]
    assert quantiles.at(np.ones(5, np.int64), uniform[:5]).tolist() == [1] * 5
    chances = np.random.default_rng(1).dirichlet(np.full(40, 0.1), 50).cumsum(axis=1)
    chances /= chances[:, -1:]
    rows, uniform = np.arange(5000) % 50, np.random.default_rng(2).random(5000)
    expected = [int(np.searchsorted(chances[row], u, side="right")) for row, u in zip(rows, uniform, strict=True)]
    assert Quantiles(chances).at(rows, uniform).tolist() == expected


def test_draws_of_a_prompt_do_not_depend_on_its_place_among_others() -> None:
    rows = [Row(1, "b", BatchSource.FRESH, 3), Row(1, "c", BatchSource.FRESH, 5)]
    one, other = (RecordedStream(visits_of_rows(order, 8)) for order in (rows, rows[::-1]))
    replicates = np.arange(50)
    drawn = [
        ReevaluationModel(stream, 1, 50).answers(np.full(50, 0), 2, replicates).num_correct for stream in (one, other)
    ]
    assert drawn[0].tolist() == drawn[1].tolist()
    assert len(set(drawn[0].tolist())) > 1


def test_the_first_draws_are_the_same_however_many_follow() -> None:
    stream = RecordedStream(visits_of_rows([Row(1, prompt, BatchSource.FRESH, 4) for prompt in "ab"], 8))
    few, many = stream.pass_rates.priors(1, 4), stream.pass_rates.priors(1, 20)
    fresh = RecordedStream(visits_of_rows([Row(1, prompt, BatchSource.FRESH, 4) for prompt in "ab"], 8))
    assert np.array_equal(few, many[:, :4])
    assert np.array_equal(many, fresh.pass_rates.priors(1, 20))


def test_each_seed_step_prompt_and_replicate_has_its_own_draws() -> None:
    stream = RecordedStream(visits_of_rows([Row(1, prompt, BatchSource.FRESH, 4) for prompt in "ab"], 8))

    def draws(*, seed: int = 1, step: int = 2, prompt: int = 0) -> tuple[int, ...]:
        found = ReevaluationModel(stream, seed, 50).answers(np.full(50, prompt), step, np.arange(50))
        return tuple(found.num_correct.tolist())

    drawn = [draws(), draws(seed=2), draws(step=3), draws(prompt=1)]
    assert len(set(drawn)) == len(drawn)
    assert all(len(set(replicates)) > 1 for replicates in drawn)


def test_an_estimate_rests_on_the_nearest_visit() -> None:
    # Of 200 other prompts as many have 0, 1, … 8 right: p is uniform over prompts, so that after k of 8 the mean of
    # 8·p is 8·(k + 1)/10, which is 7.2 after 8 and 0.8 after 0.
    rows = [
        Row(1, "a", BatchSource.FRESH, 0),
        Row(4, "a", BatchSource.FRESH, 8),
        *(Row(step, "b", BatchSource.FRESH, 8) for step in (2, 3)),
        *(Row(1, f"c{place}", BatchSource.FRESH, place % 9) for place in range(198)),
    ]
    stream = RecordedStream(visits_of_rows(sorted(rows), 8))
    many = np.arange(400)

    def mean(prompt: int, step: int) -> float:
        model = ReevaluationModel(stream, 1, 400)
        return float(model.answers(np.full(400, prompt), step, many).num_correct.mean())

    # Before step 1 nothing is asked, after step 4 the last counts.
    assert mean(0, 1) == pytest.approx(0.8, abs=0.3)
    assert mean(0, 2) == pytest.approx(7.2, abs=0.3)
    assert mean(0, 5) == pytest.approx(7.2, abs=0.3)
    assert mean(1, 4) == pytest.approx(7.2, abs=0.3)
