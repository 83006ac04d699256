"""A step walked line by line: every line on a constructed step, and other thresholds beside the method itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bapo.analysis.walk.answer import StepWalk, WalkLine, WalkOutcome
from bapo.analysis.walk.before import fresh_groups
from bapo.analysis.walk.recorded import Folder, places_of, read_walk, recorded_step, walk_of
from bapo.analysis.walk.thresholds import Wanted, recorded_thresholds
from bapo.analysis.walk.walk import Listing
from bapo.config import ConfigError, RunConfig, apply_changes, parse_config, resolve
from bapo.methods.bapo import Bapo, bapo_config
from bapo.records import Cost, PromptVisit, StepRecord
from bapo.rollout import BatchSource, RolloutGroup
from benchmarks.simulation import SimulatedRun
from tests.support.drawing import examples
from tests.support.legal_configs import legal_configs

EVERYTHING = Listing(limit=1000)


def recorded(config: RunConfig, steps: Sequence[tuple[Mapping[str, int], Mapping[str, int]]]) -> list[StepRecord]:
    """The records of a stream of fresh groups and answers to difficult prompts, as prompt → correct responses."""
    method, size = Bapo(config), config.rollout.group_size
    records = []
    for step, (fresh, answers) in enumerate(steps, 1):
        thresholds = method.thresholds()
        method.observe_fresh(step, [RolloutGroup(prompt, k, size, step - 1, step) for prompt, k in fresh.items()])
        assert list(method.prompts_to_reevaluate(step)) == list(answers)
        batch = method.compose(step, [RolloutGroup(prompt, k, size, step - 1, step) for prompt, k in answers.items()])
        method.finish_step(step)
        difficult, stored = method.buffers(step)
        records.append(
            StepRecord(
                attempt=1,
                step=step,
                group_size=size,
                skipped=not batch.items,
                rollout_version=step - 1,
                trainer_version=step - 1,
                counts=batch.counts,
                fresh_histogram=[],
                reevaluated_histogram=[],
                batch_histogram=[],
                prompts=batch.visits,
                thresholds=thresholds,
                difficult_buffer=difficult,
                high_quality_buffer=stored,
                reward_mean=sum(fresh.values()) / (size * len(fresh)),
                batch_reward_mean=None,
                cost=Cost(num_rollouts=0),
                timing={},
                system={},
            )
        )
    return records


def walked(
    records: Sequence[StepRecord],
    config: RunConfig,
    step: int,
    wanted: Wanted | None = None,
    listing: Listing = EVERYTHING,
) -> StepWalk:
    numbers = [record.step for record in records]
    source = Folder(records, config.rollout.group_size)
    return walk_of(source, config, (), places_of(numbers, step), step, wanted or Wanted(), listing)


def line(walk: StepWalk, key: str) -> WalkLine:
    return next(each for each in walk.lines if each.key == key)


def fates(walk: StepWalk, key: str) -> dict[str, list[str]]:
    """Outcome → prompts."""
    return {each.name: [group.prompt_id for group in each.groups] for each in line(walk, key).outcomes}


def outcome(walk: StepWalk, key: str, name: str) -> WalkOutcome:
    return next(each for each in line(walk, key).outcomes if each.name == name)


@pytest.fixture(scope="module")
def config() -> RunConfig:
    """G = 8, B = 6, m = 2, v = 3; c1 = 1/8, c2 = 1/4 and c3 = 1/2 whatever r_tot is."""
    method = {"type": "bapo", "m": 2, "v": 3, "c1": "1/8", "c2": ["1/4", "1/4"], "c3": ["1/2", "1/2"]}
    changes = {"training.batch_size": 6, "rollout.group_size": 8, "training.steps": 9}
    return resolve(apply_changes({"method": method}, changes)).config


@pytest.fixture(scope="module")
def records(config: RunConfig) -> list[StepRecord]:
    """Step 1 fills both buffers; in step 2 every line acts.

    Step 1: a 0, b 0, c 1, d 1 are difficult (at most 1/8); e 2, f 3, g 4 are in [2/8, 4/8] and stored; h 7.
    Step 2: fresh e 5, i 0, j 8, k 1, l 4. Difficult: i, k. Stored: l. X1 = e 5, k 1, l 4 (i and j have equal rewards).
    Asked again: a, b, c, d, of which a 3 and c 8, b 1, d 2: a and d improved (X2), c solved, b still difficult.
    Room is 6 - 3 - 2 = 1; of the stored e, f, g the prompt e is in X1: candidates f and g, of which one is drawn.
    """
    return recorded(
        config,
        [
            ({"a": 0, "b": 0, "c": 1, "d": 1, "e": 2, "f": 3, "g": 4, "h": 7}, {}),
            ({"e": 5, "i": 0, "j": 8, "k": 1, "l": 4}, {"a": 3, "b": 1, "c": 8, "d": 2}),
        ],
    )


def test_every_line_of_algorithm_1_says_what_it_did_with_which_groups(
    config: RunConfig, records: list[StepRecord]
) -> None:
    walk = walked(records, config, 2)
    assert [each.number for each in walk.lines] == [
        "3–5", "6–7", "8", "9", "11", "13–15", "16", "17", "18", "Eq. 8",
    ]  # fmt: skip
    assert (walk.follows_algorithm_1, walk.method) == (True, "BAPO")
    assert fates(walk, "roll-out") == {"none": ["i"], "some": ["e", "k", "l"], "all": ["j"]}
    assert fates(walk, "store-difficult") == {"difficult": ["i", "k"], "above": ["e", "j", "l"]}
    assert fates(walk, "store-good") == {"stored": ["l"], "below": ["i", "k"], "over": ["e", "j"]}
    assert fates(walk, "filter") == {"x1": ["e", "k", "l"], "all_wrong": ["i"], "all_correct": ["j"]}
    assert fates(walk, "reevaluate") == {"x2": ["a", "d"], "solved": ["c"], "still_difficult": ["b"]}
    (drawn,), (left,) = fates(walk, "reuse")["x3"], fates(walk, "reuse")["not_drawn"]
    assert {drawn, left} == {"f", "g"}
    assert fates(walk, "reuse")["taken"] == ["e"]
    assert fates(walk, "batch") == {"x1": ["e", "k", "l"], "x2": ["a", "d"], "x3": [drawn]}
    assert (walk.x1, walk.x2, walk.x3, walk.batch, walk.batch_size) == (3, 2, 1, 6, 6)
    said = {each.key: each.said for each in walk.lines}
    assert said["sync"] == "α holds the newest weights, version 1 (v = 3, next at step 3)."
    # 18 of 5 · 8 responses are right.
    assert said["roll-out"] == "5 prompts, 40 responses; mean accuracy 45.0%."
    # a, c and d left; b was refreshed; i and k entered: b, i, k.
    assert said["store-difficult"] == (
        "In the whole step: 2 entered, 1 refreshed, 3 left above c1, 0 made room for others. Remembered now: 3."
    )
    assert said["reuse"] == "Room for 1, 2 candidates: 1 drawn."
    assert said["batch"] == "3 + 2 + 1 = 6 of B = 6 (100%)."


def test_a_group_tells_where_it_comes_from(config: RunConfig, records: list[StepRecord]) -> None:
    walk = walked(records, config, 2)
    before = {group.prompt_id: group for each in line(walk, "reevaluate").outcomes for group in each.groups}
    assert {name: (group.earlier_correct, group.earlier_step) for name, group in before.items()} == {
        "a": (0, 1), "b": (0, 1), "c": (1, 1), "d": (1, 1),
    }  # fmt: skip
    assert [group.earlier_step for group in outcome(walk, "reuse", "x3").groups] == [1]


def test_the_first_step_has_nothing_before_it(config: RunConfig, records: list[StepRecord]) -> None:
    walk = walked(records, config, 1)
    assert (walk.previous_step, walk.next_step, walk.x2, walk.x3) == (None, 2, 0, 0)
    assert line(walk, "reevaluate").said == "No prompt is re-evaluated in this step: m = 2, next at step 2."
    assert line(walk, "reuse").said == "Room for 0, 0 candidates: 0 drawn."
    # Under c1 = 0, c and d would not have been remembered.
    other = walked(records, config, 1, Wanted(c1=0))
    assert fates(other, "store-difficult")["difficult"] == ["a", "b"]


def test_another_c1_judges_the_same_groups_anew(config: RunConfig, records: list[StepRecord]) -> None:
    # c1 = 2/8. Remembered fresh: i 0 and k 1 still. Asked again: a, b, c, d as before. d 2 is no longer above c1,
    # so X2 = a; room for 2: f and g are both drawn.
    walk = walked(records, config, 2, Wanted(c1="1/4"))
    assert fates(walk, "reevaluate") == {"x2": ["a"], "solved": ["c"], "still_difficult": ["d", "b"]}
    assert (walk.x1, walk.x2, walk.x3, walk.batch, walk.recorded_batch) == (3, 1, 2, 6, 6)
    assert sorted(fates(walk, "reuse")["x3"]) == ["f", "g"]
    moved = outcome(walk, "reevaluate", "still_difficult")
    assert (moved.count, moved.recorded) == (2, 1)
    assert {group.prompt_id: group.was for group in moved.groups} == {"d": "X2: trained on", "b": None}
    assert line(walk, "update").said == "Not known: this batch was not trained on."
    assert [caution[:15] for caution in walk.cautions] == ["This step alone"]
    assert [values and values.c1 for values in (walk.thresholds, walk.recorded_thresholds)] == [0.25, 0.125]


def test_a_lower_c1_leaves_out_who_would_not_have_been_asked(config: RunConfig, records: list[StepRecord]) -> None:
    # c1 = 0: c 1 and d 1 leave the buffer before anybody is asked. b 1 is now above c1: X2 = a, b.
    walk = walked(records, config, 2, Wanted(c1=0))
    assert fates(walk, "reevaluate") == {"x2": ["b", "a"], "solved": [], "still_difficult": [], "gone": ["d", "c"]}
    assert [group.was for group in outcome(walk, "reevaluate", "gone").groups] == ["X2: trained on", "Solved"]
    assert len(walk.cautions) == 1


def test_other_c2_and_c3_choose_other_groups_to_reuse(config: RunConfig, records: list[StepRecord]) -> None:
    # [3/8, 3/8]: of the stored e 2, f 3, g 4 only f is a candidate; of the fresh ones none is stored.
    walk = walked(records, config, 2, Wanted(c2="3/8", c3="3/8"))
    assert fates(walk, "reuse")["x3"] == ["f"]
    assert sorted(fates(walk, "reuse")["outside"]) == ["e", "g"]
    assert (outcome(walk, "store-good", "stored").count, outcome(walk, "store-good", "stored").recorded) == (0, 1)
    assert fates(walk, "filter") == fates(walked(records, config, 2), "filter")


def test_the_steps_own_thresholds_change_nothing(config: RunConfig, records: list[StepRecord]) -> None:
    walk, same = walked(records, config, 2), walked(records, config, 2, Wanted(c1="1/8"))
    assert same.model_copy(update={"cautions": []}) == walk


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        (Wanted(c1="x"), 'c1 = .x.: must be a number: write 0.125 or "1/8"'),
        (Wanted(c1=1), "c1 = 1: must be at least 0 and less than 1"),
        (Wanted(c3="1/8"), "c3 = .1/8.: c2 = 0.25 is above c3 = 0.125: lower c2, or raise c3 as well"),
    ],
)
def test_thresholds_that_are_not_legal_are_named(
    config: RunConfig, records: list[StepRecord], wanted: Wanted, problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        walked(records, config, 2, wanted)


def test_counts_are_of_all_groups_however_few_are_listed(config: RunConfig, records: list[StepRecord]) -> None:
    walk = walked(records, config, 2, listing=Listing(limit=1, offset=1, line="filter", outcome="x1"))
    assert [len(each.groups) for each in line(walk, "filter").outcomes] == [1, 0, 0]
    assert outcome(walk, "filter", "x1").groups[0].prompt_id == "k"
    assert [each.count for each in line(walk, "filter").outcomes] == [3, 1, 1]
    assert not any(each.groups for key in ("batch", "reuse") for each in line(walk, key).outcomes)


# ---------------------------------------------------------------- beside the method itself


def simulated(config: RunConfig, num_steps: int, *, num_prompts: int) -> list[StepRecord]:
    run = SimulatedRun(config, num_prompts=num_prompts)
    records = [record for step in range(1, num_steps + 1) for record in run.step(step)]
    return [record for record in records if isinstance(record, StepRecord)]


def steered(records: Sequence[StepRecord], config: RunConfig, c1: Fraction) -> list[PromptVisit] | None:
    """The last step by a method that has seen all groups before and is steered there; None where the answers that it
    asks for were never given."""
    method = Bapo(config)
    for record in records:
        fresh, reevaluated = fresh_groups(record), fresh_groups(record, BatchSource.REEVALUATED)
        if record is records[-1]:
            section = bapo_config(config).model_copy(update={"c1": c1})
            method.reconfigure(config.model_copy(update={"method": section}))
        method.observe_fresh(record.step, fresh)
        asked = method.prompts_to_reevaluate(record.step)
        answers = {group.prompt_id: group for group in reevaluated}
        if not answers.keys() >= set(asked):
            return None
        batch = method.compose(record.step, [answers[prompt_id] for prompt_id in asked])
        method.finish_step(record.step)
    return list(batch.visits)


@examples(0.3)
@given(legal_configs(["bapo", "ba_ppo"]), st.integers(0, 7), st.integers(1, 9))
def test_another_c1_is_what_steering_at_this_step_gives(config: RunConfig, count: int, num_steps: int) -> None:
    rollout = config.rollout.model_copy(update={"batch_size": 7})
    config = config.model_copy(update={"rollout": rollout})
    records = simulated(config, num_steps, num_prompts=16)
    record, size = records[-1], config.rollout.group_size
    assert record.thresholds is not None
    own = recorded_thresholds(record.thresholds)
    for c1 in (own.c1, Fraction(min(count, size - 1), size)):
        walk = walked(records, config, num_steps, Wanted(c1=str(c1)))
        assert not any("even under its own" in caution for caution in walk.cautions)
        expected = steered(records, config, c1)
        if expected is None:
            assert any("The run did not ask them" in caution for caution in walk.cautions)
            continue
        batch = [
            group.prompt_id for each in line(walk, "batch").outcomes if each.name != "gone" for group in each.groups
        ]
        assert sorted(batch) == sorted(visit.prompt_id for visit in expected if visit.in_batch)
        left = {
            (group.prompt_id, each.name)
            for key in ("filter", "reevaluate")
            for each in line(walk, key).outcomes
            for group in each.groups
            if each.name not in ("x1", "x2", "gone")
        }
        assert left == {(visit.prompt_id, visit.reason) for visit in expected if not visit.in_batch}


# ---------------------------------------------------------------- other methods, other runs


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("grpo", ["roll-out", "choose", "update"]),
        ("grpo_delayed", ["sync", "roll-out", "choose", "update"]),
        ("dapo", ["roll-out", "choose", "update"]),
        ("mopps", ["roll-out", "choose", "update"]),
        ("dots", ["roll-out", "store", "choose", "reuse", "update"]),
        ("remix", ["roll-out", "store", "choose", "reuse", "update"]),
        ("ppo", ["roll-out", "choose", "update"]),
        ("bapo_pipelined", ["sync", "roll-out", "store-difficult", "store-good", "filter", "reevaluate", "reuse",
                            "batch", "update", "thresholds"]),
        ("bapo_release", ["sync", "roll-out", "store-difficult", "store-good", "filter", "reevaluate", "reuse", "batch",
                          "update", "thresholds"]),
    ],
)  # fmt: skip
def test_every_method_walks_its_own_rule(kind: str, keys: list[str]) -> None:
    config = resolve(
        {"method": {"type": kind}, "training": {"steps": 9, "batch_size": 8}, "rollout": {"batch_size": 8}}
    ).config
    records = simulated(config, 3, num_prompts=32)
    walk = walked(records, config, 3)
    assert [each.key for each in walk.lines] == keys
    assert all(each.title and each.why and each.number for each in walk.lines)
    trained = {
        (group.prompt_id, group.source, group.policy_version)
        for each in walk.lines
        if each.key != "batch"
        for fate in each.outcomes
        if fate.treatment == "trained"
        for group in fate.groups
    }
    in_batch = {(v.prompt_id, v.source, v.policy_version) for v in records[-1].prompts if v.in_batch}
    assert trained == in_batch
    with pytest.raises(ConfigError, match="has no thresholds to change: leave c1, c2 and c3 out"):
        walked(records, config, 3, Wanted(c1=0))


def test_grpo_says_which_groups_fill_the_batch_in_vain() -> None:
    config = resolve({"method": {"type": "grpo"}, "training": {"steps": 9}}).config
    visits = [PromptVisit(f"p{k}", BatchSource.FRESH, k, 0, True) for k in (0, 3, 8)]
    record = recorded(resolve({"training": {"steps": 9}}).config, [({"a": 1}, {})])[0]
    walk = walked([record.model_copy(update={"prompts": visits, "thresholds": None})], config, 1)
    assert fates(walk, "choose") == {"trained": ["p3"], "trained_equal": ["p0", "p8"]}
    assert [each.number for each in walk.lines] == ["1", "2", "3"]


def test_an_observed_step_says_what_is_not_recorded() -> None:
    config = parse_config({"method": {"type": "observed", "trainer": "TRL"}})
    record = recorded(resolve({"training": {"steps": 9}}).config, [({"a": 1}, {})])[0]
    visits = [
        PromptVisit("a", BatchSource.FRESH, 3, None, True),
        PromptVisit("b", BatchSource.FRESH, 0, None, False),
    ]
    bare = {"prompts": visits, "thresholds": None, "counts": record.counts.model_copy(update={"x2": None, "x3": None})}
    walk = walked([record.model_copy(update=bare)], config, 1)
    assert fates(walk, "choose") == {"trained": ["a"], "left_out": ["b"]}
    assert (walk.x2, walk.x3, walk.can_change) == (None, None, False)
    assert "trained elsewhere" in walk.not_recorded[0]


def test_steps_that_are_not_recorded_are_named_with_their_neighbours(tmp_path: Path) -> None:
    assert recorded_step([1, 4, 9], None) == 9
    with pytest.raises(ConfigError, match="step = 5: this step is not recorded; the nearest are 4 and 9"):
        recorded_step([1, 4, 9], 5)
    with pytest.raises(ConfigError, match="step = 12: this step is not recorded; the nearest is 9"):
        recorded_step([1, 4, 9], 12)
    with pytest.raises(ConfigError, match="the run has recorded no step yet"):
        recorded_step([], None)
    with pytest.raises(ConfigError):
        read_walk(tmp_path, None, Wanted(), Listing())


def test_a_step_of_a_trained_run_is_walked_from_its_folder(recorded_folders: Mapping[str, Path]) -> None:
    folder = recorded_folders["bapo-seed-1"]
    steps: list[dict[str, Any]] = []
    for step in (1, 10, 24):
        walk = read_walk(folder, step, Wanted(c1="1/4"), Listing())
        assert len(walk.cautions) == 1
        steps.append(walk.model_dump())
    assert [each["step"] for each in steps] == [1, 10, 24]
