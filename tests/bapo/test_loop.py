"""Algorithm 1 with an engine that generates by a script and writes down what it is asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from bapo.config import apply_changes, resolve
from bapo.engines.base import BatchItem, Engine, Generation, GenerationStats, Policy
from bapo.loop import Loop, StepOutcome
from bapo.methods import build_method
from bapo.prompt_schedule import PromptSchedule
from bapo.records import UpdateStats
from bapo.rollout import BatchSource, RolloutGroup
from bapo.tasks.base import Problem
from benchmarks.simulation import DrawnEngine

Script = Callable[[int, str, str], int]
"""(step, purpose, prompt id) → number of correct responses."""

OF_THE_ENGINE = {"verl/gen", "verl/update_actor"}
PROBLEMS = {f"p{i}": Problem(f"p{i}", "source", f"prompt {i}", {}) for i in range(6)}


class ScriptedEngine(DrawnEngine):
    """Keeps the versions of both policies as the real ones would, and a log of calls."""

    def __init__(self, script: Script) -> None:
        super().__init__(seed=0)
        self.script = script
        self.log: list[str] = []

    def sync_rollout_policy(self, version: int) -> None:
        self.log.append(f"sync {version}")
        super().sync_rollout_policy(version)

    def generate(
        self, problems: Sequence[Problem], *, group_size: int, policy: Policy, step: int, purpose: str
    ) -> Generation:
        self.log.append(f"{purpose} by {policy} in {step}: {' '.join(problem.prompt_id for problem in problems)}")
        version = self.rollout_version if policy is Policy.ROLLOUT else step - 1
        groups = [
            RolloutGroup(
                problem.prompt_id, self.script(step, purpose, problem.prompt_id), group_size, version, step,
                payload=f"{purpose} {step} {problem.prompt_id}",
            )
            for problem in problems
        ]  # fmt: skip
        timing = {"verl/gen": 2.0}
        return Generation(groups, GenerationStats(len(groups) * group_size, 1.0, 1, 0.0, timing=timing))

    def update(self, batch: Sequence[BatchItem], *, step: int, passes: int = 1) -> UpdateStats:
        self.log.append(f"update {step}: {' '.join(f'{item.source}/{item.group.prompt_id}' for item in batch)}")
        return UpdateStats(
            loss=0.0, entropy=0.0, grad_norm=0.0, kl=0.0, clip_fraction=0.0, ratio_mean=1.0, ratio_max=1.0,
            ratio_histogram=[0] * 13, num_mini_batches=1, num_tokens=1, num_groups_skipped=0,
            learning_rate=0.0,
            timing={"verl/update_actor": 3.0},
        )  # fmt: skip


def run(script: Script, **changes: Any) -> tuple[Loop, ScriptedEngine]:
    """A loop with G = 8 and two fresh prompts a step out of six."""
    settings = {
        "training.steps": 99,
        "training.batch_size": 4,
        "rollout.batch_size": 2,
        **{name.replace("__", "."): value for name, value in changes.items()},
    }
    config = resolve(apply_changes({}, settings)).config
    engine = ScriptedEngine(script)
    as_engine: Engine = engine
    loop = Loop(
        problems=PROBLEMS,
        schedule=PromptSchedule(list(PROBLEMS.values()), batch_size=config.rollout.batch_size, seed=0),
        method=build_method(config),
        engine=as_engine,
        group_size=config.rollout.group_size,
    )
    return loop, engine


def mixed(step: int, purpose: str, prompt_id: str) -> int:
    return 4


def all_wrong(step: int, purpose: str, prompt_id: str) -> int:
    return 0


def wrong_at_first(step: int, purpose: str, prompt_id: str) -> int:
    """All wrong when fresh, half right when answered again."""
    return 4 if purpose == "reevaluation" else 0


def test_the_rollout_policy_is_synchronised_where_v_divides_the_step() -> None:
    loop, engine = run(mixed, method__v=3, method__m=99)
    versions = [loop.run_step(step).rollout_version for step in range(1, 8)]
    # Step 3 generates with the weights after step 2, step 6 with those after step 5.
    assert versions == [0, 0, 2, 2, 2, 5, 5]
    assert [call for call in engine.log if call.startswith("sync")] == ["sync 2", "sync 5"]


def test_v_of_one_is_on_policy() -> None:
    loop, _ = run(mixed, method__v=1)
    assert [loop.run_step(step).rollout_version for step in (1, 2, 3)] == [0, 1, 2]


def test_grpo_is_on_policy() -> None:
    loop, engine = run(mixed, method__type="grpo")
    loop.run_step(1)
    outcome = loop.run_step(2)
    assert outcome.rollout_version == 1
    assert [call.split(" ", 1)[0] for call in engine.log] == ["sync", "rollout", "update"] * 2


def test_the_calls_of_a_step_come_in_the_order_of_algorithm_1() -> None:
    loop, engine = run(wrong_at_first, method__v=2, method__m=2)
    loop.run_step(1)
    engine.log.clear()
    loop.run_step(2)
    first, second = ([problem.prompt_id for problem in PromptSchedule(list(PROBLEMS.values()), batch_size=2, seed=0)
                      .batch(step)] for step in (1, 2))  # fmt: skip
    asked = sorted(first)
    assert engine.log == [
        "sync 1",
        f"rollout by rollout in 2: {' '.join(second)}",
        f"reevaluation by current in 2: {' '.join(asked)}",
        f"update 2: {' '.join(f'reevaluated/{prompt_id}' for prompt_id in asked)}",
    ]


def test_reevaluation_uses_the_current_policy_and_leaves_the_rollout_policy() -> None:
    # m = 2 is no multiple of v = 3: in step 4 α is of version 2, the current policy of version 3.
    loop, _ = run(wrong_at_first, method__v=3, method__m=2)
    outcomes = [loop.run_step(step) for step in range(1, 6)]
    fourth, fifth = outcomes[3], outcomes[4]
    assert fourth.reevaluated is not None
    assert {group.policy_version for group in fourth.reevaluated.groups} == {3}
    assert {group.policy_version for group in fourth.fresh.groups} == {2}
    assert {group.policy_version for group in fifth.fresh.groups} == {2}
    assert [outcome.rollout_version for outcome in outcomes] == [0, 0, 2, 2, 2]


def test_the_engines_own_phases_are_added_up_over_the_step() -> None:
    loop, _ = run(wrong_at_first, method__v=2, method__m=2)
    first, second = (loop.run_step(step).timing for step in (1, 2))
    # Step 1 has no difficult prompts yet, and trains on nothing; step 2 generates twice.
    assert {name: seconds for name, seconds in first.items() if "/" in name} == {"verl/gen": 2.0}
    assert {name: seconds for name, seconds in second.items() if "/" in name} == {
        "verl/gen": 4.0,
        "verl/update_actor": 3.0,
    }


def test_nothing_is_answered_again_in_other_steps() -> None:
    loop, _ = run(wrong_at_first, method__m=3)
    assert [loop.run_step(step).reevaluated is None for step in range(1, 7)] == [True, True, False, True, True, False]


def test_an_empty_batch_is_skipped_and_its_step_counts() -> None:
    loop, engine = run(all_wrong, method__v=3, method__m=99)
    outcomes = [loop.run_step(step) for step in (1, 2, 3)]
    assert [outcome.update for outcome in outcomes] == [None, None, None]
    assert not any(call.startswith("update") for call in engine.log)
    assert all("update" not in outcome.timing for outcome in outcomes)
    # Two skipped steps make version 2 all the same.
    assert outcomes[2].rollout_version == 2


def test_stored_groups_reach_the_update_with_their_payload() -> None:
    def stored_then_wrong(step: int, purpose: str, prompt_id: str) -> int:
        # 2/8 is within [1/8, 2/8] when stored, and at r_tot = 1/4 within [7/32, 11/32].
        return 2 if step == 1 else 0

    loop, engine = run(stored_then_wrong, method__m=99, method__v=1)
    first = loop.run_step(1)
    second = loop.run_step(2)
    reused = [item.group for item in second.batch.items]
    assert {item.source for item in second.batch.items} == {BatchSource.REUSED}
    assert {group.prompt_id for group in reused} == {group.prompt_id for group in first.fresh.groups}
    assert all(group.payload == f"rollout 1 {group.prompt_id}" for group in reused)
    assert engine.log[-1].startswith("update 2: reused/")


def test_the_thresholds_of_a_step_are_those_before_it() -> None:
    def all_right(step: int, purpose: str, prompt_id: str) -> int:
        return 8

    loop, _ = run(all_right)
    first, second = loop.run_step(1), loop.run_step(2)
    assert (first.thresholds.r_tot, first.thresholds.c2, first.thresholds.c3) == (0, 0.125, 0.25)
    assert (second.thresholds.r_tot, second.thresholds.c2, second.thresholds.c3) == (1, 0.5, 0.625)


def test_every_phase_is_timed() -> None:
    loop, _ = run(wrong_at_first, method__m=2)
    assert set(loop.run_step(1).timing) - OF_THE_ENGINE == {"gen", "batch"}
    second = loop.run_step(2).timing
    assert set(second) - OF_THE_ENGINE == {"gen", "batch", "reevaluation", "update"}
    assert all(seconds >= 0 for seconds in second.values())


def test_the_phases_come_one_after_the_other() -> None:
    loop, _ = run(wrong_at_first, method__m=2, method__v=2)
    loop.run_step(1)
    outcome = loop.run_step(2)
    phases = [span.phase for span in outcome.spans if span.phase != "batch"]
    assert phases == ["sync", "gen", "reevaluation", "update"]
    ends = [span.begin + span.seconds for span in outcome.spans]
    assert all(end <= later.begin for end, later in zip(ends, outcome.spans[1:], strict=False))
    assert outcome.timing["batch"] == sum(span.seconds for span in outcome.spans if span.phase == "batch")


@pytest.mark.parametrize("cut", [1, 2, 4, 5])
def test_a_resumed_loop_asks_and_trains_alike(cut: int) -> None:
    def varied(step: int, purpose: str, prompt_id: str) -> int:
        return (step * 5 + len(purpose) + int(prompt_id[1:]) * 3) % 9

    changes: dict[str, Any] = {"method__v": 3, "method__m": 2}
    undisturbed, engine = run(varied, **changes)
    state: dict[str, Any] = {}
    payloads: list[object] = []
    for step in range(1, cut + 1):
        undisturbed.run_step(step)
    state = json.loads(json.dumps(undisturbed.state_dict()))
    payloads = [group.payload for group in undisturbed.stored_groups()]
    resumed, fresh_engine = run(varied, **changes)
    resumed.load_state_dict(state, payloads)
    fresh_engine.rollout_version = engine.rollout_version
    engine.log.clear()
    for step in range(cut + 1, 9):
        ours, theirs = undisturbed.run_step(step), resumed.run_step(step)
        assert decisions(ours) == decisions(theirs)
    assert engine.log == fresh_engine.log


def decisions(outcome: StepOutcome) -> tuple[object, ...]:
    return outcome.rollout_version, outcome.fresh, outcome.reevaluated, outcome.batch, outcome.thresholds


def test_a_second_round_takes_the_next_batch_of_the_pass_and_later_steps_go_on_from_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop, _ = run(mixed, method__type="grpo", rollout__batch_size=2)
    asked: list[int] = []

    def wants_more(step: int, fresh: Sequence[RolloutGroup]) -> bool:
        asked.append(len(fresh))
        return step == 1 and len(fresh) < 4

    monkeypatch.setattr(loop.method, "wants_more_prompts", wants_more)
    outcomes = [loop.run_step(step) for step in (1, 2)]
    schedule = PromptSchedule(list(PROBLEMS.values()), batch_size=2, seed=0)
    prompts = [[group.prompt_id for group in outcome.fresh.groups] for outcome in outcomes]
    batches = [[problem.prompt_id for problem in schedule.batch(number)] for number in (1, 2, 3)]
    # Two batches in step 1, the third one in step 2.
    assert prompts == [batches[0] + batches[1], batches[2]]
    assert asked == [2, 4, 2]
    assert loop.num_further_batches == 1

    restored, _ = run(mixed, method__type="grpo", rollout__batch_size=2)
    restored.load_state_dict(loop.state_dict(), ())
    following = [problem.prompt_id for problem in schedule.batch(4)]
    assert [group.prompt_id for group in restored.run_step(3).fresh.groups] == following


def test_dapo_takes_further_batches_of_the_pass_until_its_own_is_full() -> None:
    def every_third_mixed(step: int, purpose: str, prompt_id: str) -> int:
        return 4 if prompt_id in ("p0", "p3") else 0

    loop, engine = run(every_third_mixed, method__type="dapo", rollout__batch_size=2, training__batch_size=2)
    outcomes = [loop.run_step(step) for step in (1, 2)]
    assert [outcome.num_rounds for outcome in outcomes] == [
        1 + sum(f"rollout:{number} by rollout in {step}:" in call for call in engine.log for number in (1, 2, 3))
        for step in (1, 2)
    ]
    for outcome in outcomes:
        mixed = {group.prompt_id for group in outcome.fresh.groups if not group.is_homogeneous}
        assert {item.group.prompt_id for item in outcome.batch.items} == mixed == {"p0", "p3"}
        # No prompt twice in a step, though the third batch ends a pass of six.
        prompts = [group.prompt_id for group in outcome.fresh.groups]
        assert len(prompts) == len(set(prompts)) == outcome.batch.counts.fresh
    assert loop.num_further_batches == sum(outcome.num_rounds - 1 for outcome in outcomes) > 0


def test_mopps_rolls_out_what_it_chose_and_learns_from_it() -> None:
    loop, engine = run(mixed, method__type="mopps", method__candidates=3)
    outcome = loop.run_step(1)
    asked = [group.prompt_id for group in outcome.fresh.groups]
    assert f"rollout by rollout in 1: {' '.join(asked)}" in engine.log
    state = loop.state_dict()["method"]["success_rates"]
    # 0.5·1 + 0.5·1 + 4 right, and 4 wrong.
    assert state == {prompt_id: [5.0, 5.0] for prompt_id in asked}
