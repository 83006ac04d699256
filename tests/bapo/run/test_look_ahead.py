"""Rollouts ahead: which weights answer which prompts in which call, what is thrown away, and resumed runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bapo.config import ConfigError, RunConfig, apply_changes, resolve
from bapo.engines.base import Generation
from bapo.loop import Loop, StepOutcome
from bapo.methods import build_method
from bapo.methods.bapo import Bapo
from bapo.methods.base import Method
from bapo.prompt_schedule import PromptSchedule
from bapo.run import look_ahead
from bapo.run.control import ControlRequest, append_request
from bapo.run.fork import ForkOrigin, begin_fork
from bapo.run.look_ahead import LookAhead
from bapo.tasks.base import Problem
from benchmarks.simulation import DrawnEngine
from tests.support.killed_trainer import train_and_kill
from tests.support.simulated_trainer import train
from tests.support.small_runs import config, lines, steps_of, train_until

PROBLEMS = [Problem(f"p{i}", "source", f"prompt {i}", {}) for i in range(24)]
GROUP_SIZE, NUM_FRESH = 4, 2


class LoggingEngine(DrawnEngine):
    """Fresh groups are all wrong, so that re-evaluation has prompts to ask; writes down the steps of each call."""

    def __init__(self) -> None:
        super().__init__(seed=0)
        self.calls: list[list[int]] = []

    def count(self, prompt_id: str, version: int, group_size: int) -> int:
        return 0

    def generate_ahead(self, batches: Mapping[int, Sequence[Problem]], *, group_size: int) -> Mapping[int, Generation]:
        self.calls.append(list(batches))
        return super().generate_ahead(batches, group_size=group_size)


class Course(NamedTuple):
    """What came of some steps."""

    outcomes: list[StepOutcome]
    calls: list[list[int]]
    """Steps of each call for fresh prompts."""
    costs: list[Mapping[str, int]]
    """What each step adds to the cost of its own groups."""

    @property
    def fresh_versions(self) -> list[int]:
        """The weights that answered each step's fresh prompts."""
        return [_version(outcome.fresh, outcome.step) for outcome in self.outcomes]

    @property
    def reevaluating_versions(self) -> dict[int, int]:
        """Step of each re-evaluation → the weights that answered."""
        return {each.step: _version(each.reevaluated, each.step) for each in self.outcomes if each.reevaluated}


def _version(generation: Generation, step: int) -> int:
    assert {group.step for group in generation.groups} == {step}
    (version,) = {group.policy_version for group in generation.groups}
    return version


def settings(**changes: Any) -> RunConfig:
    own = {
        "training.steps": 12,
        "training.batch_size": 4,
        "rollout.batch_size": NUM_FRESH,
        "rollout.group_size": GROUP_SIZE,
        "rollout.ahead": "window",
        "method.c2": ["0", "0"],
        **{name.replace("__", "."): value for name, value in changes.items()},
    }
    return resolve(apply_changes({}, own)).config


def run(config: RunConfig, steered: Mapping[int, RunConfig] | None = None, method: Method | None = None) -> Course:
    """Run all steps; `steered` has the config from some steps on."""
    engine, method = LoggingEngine(), method or build_method(config)
    schedule = PromptSchedule(PROBLEMS, batch_size=NUM_FRESH, seed=0)
    num_steps = config.training.steps or 0
    ahead = LookAhead(engine, method, schedule, config, num_steps=num_steps)
    loop = Loop(
        problems={problem.prompt_id: problem for problem in PROBLEMS},
        schedule=schedule,
        method=method,
        engine=ahead,
        group_size=GROUP_SIZE,
    )
    outcomes, costs = [], []
    for step in range(1, num_steps + 1):
        if steered and step in steered:
            method.reconfigure(steered[step])
        outcomes.append(loop.run_step(step))
        costs.append(ahead.take_cost())
    return Course(outcomes, engine.calls, costs)


@pytest.mark.parametrize("mode", ["window", "overlap"])
@pytest.mark.parametrize(("m", "reevaluating"), [(3, {3: 2, 6: 5, 9: 8, 12: 11}), (5, {5: 4, 10: 9}), (7, {7: 6})])
def test_a_synchronisation_answers_the_prompts_of_all_steps_up_to_the_next(
    m: int, reevaluating: dict[int, int], mode: str
) -> None:
    course = run(settings(method__v=5, method__m=m, rollout__ahead=mode))
    # α is θ0 in steps 1 to 4, θ4 from step 5 and θ9 from step 10 on; the last step ends the last call.
    assert course.fresh_versions == [0, 0, 0, 0, 4, 4, 4, 4, 4, 9, 9, 9]
    assert course.calls == [[1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11, 12]]
    # X2 is answered by the weights after the step before, which in steps 5 and 10 are α.
    assert course.reevaluating_versions == reevaluating
    # 8 responses a step count when they are generated: in step 1 three steps' more than its own, in step 2 none.
    added = [cost.get("num_rollouts", 0) for cost in course.costs]
    assert added == [24, -8, -8, -8, 32, -8, -8, -8, -8, 16, -8, -8]
    waiting = accumulate(cost["num_rollouts_ahead"] for cost in course.costs)
    assert list(waiting) == [24, 16, 8, 0, 32, 24, 16, 8, 0, 16, 8, 0]
    assert not any("num_discarded_rollouts" in cost for cost in course.costs)


@pytest.mark.parametrize("mode", ["window", "overlap"])
@pytest.mark.parametrize(("m", "reevaluating"), [(3, {3: 2, 6: 5, 9: 8, 12: 11}), (5, {5: 4, 10: 9}), (7, {7: 6})])
def test_an_earlier_synchronisation_throws_away_what_the_old_policy_answered_beyond_it(
    m: int, reevaluating: dict[int, int], mode: str
) -> None:
    config = settings(method__v=5, method__m=m, rollout__ahead=mode)
    course = run(config, {7: settings(method__v=3, method__m=m, rollout__ahead=mode)})
    # From step 7 on α changes in steps 9 and 12: steps 7 and 8 still use θ4's groups, and step 9's are generated again.
    assert course.fresh_versions == [0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 11]
    assert course.calls == [[1, 2, 3, 4], [5, 6, 7, 8, 9], [9, 10, 11], [12]]
    assert course.reevaluating_versions == reevaluating
    assert {step: cost.get("num_discarded_rollouts", 0) for step, cost in enumerate(course.costs, 1) if step > 6} == {
        7: 0, 8: 0, 9: 8, 10: 0, 11: 0, 12: 0,
    }  # fmt: skip
    assert sum(cost["num_rollouts_ahead"] for cost in course.costs) == 0
    # 13 steps' responses were generated for the fresh prompts of 12 steps.
    assert sum(cost.get("num_rollouts", 0) for cost in course.costs) == 8


def test_a_later_synchronisation_keeps_all_and_continues_with_the_same_policy() -> None:
    config = settings(method__v=5, method__m=5)
    course = run(config, {8: settings(method__v=7, method__m=5)})
    # From step 8 on α would change in step 14.
    assert course.fresh_versions == [0, 0, 0, 0, *[4] * 8]
    assert course.calls == [[1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11, 12]]
    assert course.reevaluating_versions == {5: 4, 10: 9}
    assert sum(cost.get("num_discarded_rollouts", 0) for cost in course.costs) == 0


class OtherPrompts(Bapo):
    """BAPO whose prompts are in another order once m is 2."""

    def choose_prompts(self, step: int, scheduled: Sequence[Problem], pool: Sequence[Problem]) -> Sequence[Problem]:
        return scheduled[::-1] if self._method.m == 2 else scheduled


def test_a_change_of_prompts_throws_away_all_that_waits() -> None:
    config = settings(method__v=5, method__m=3)
    course = run(config, {7: settings(method__v=5, method__m=2)}, OtherPrompts(config))
    # From step 7 on the prompts are others, and α is still θ4 up to step 9.
    assert course.calls == [[1, 2, 3, 4], [5, 6, 7, 8, 9], [7, 8, 9], [10, 11, 12]]
    assert course.fresh_versions == [0, 0, 0, 0, 4, 4, 4, 4, 4, 9, 9, 9]
    assert course.costs[6]["num_discarded_rollouts"] == 24


def test_one_call_covers_a_limited_number_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look_ahead, "MOST_STEPS", 5)
    course = run(settings(method__v=99))
    assert course.calls == [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10], [11, 12]]
    assert course.fresh_versions == [0] * 12


def test_off_asks_for_one_step_at_a_time() -> None:
    ahead, alone = (run(settings(method__v=5, method__m=3, rollout__ahead=mode)) for mode in ("window", "off"))
    assert alone.calls == []
    assert not any(alone.costs)
    assert alone.fresh_versions == ahead.fresh_versions
    assert [outcome.batch.visits for outcome in alone.outcomes] == [outcome.batch.visits for outcome in ahead.outcomes]


@pytest.mark.parametrize(
    "method", ["bapo", "bapo_mini", "bapo_release", "ba_ppo", "grpo_delayed", "arpo", "remix", "repo", "probe"]
)
def test_a_method_whose_prompts_follow_the_schedule_may_roll_out_ahead(method: str) -> None:
    assert resolve({"method": {"type": method}}).config.rollout.ahead == "off"
    for mode in ("window", "overlap"):
        assert resolve({"method": {"type": method}, "rollout": {"ahead": mode}}).config.rollout.ahead == mode


@pytest.mark.parametrize("mode", ["window", "overlap"])
@pytest.mark.parametrize("method", ["grpo", "ppo", "gspo", "dapo", "mopps", "dots"])
def test_another_method_is_refused(method: str, mode: str) -> None:
    with pytest.raises(ConfigError) as refused:
        resolve({"method": {"type": method}, "rollout": {"ahead": mode}})
    (problem,) = refused.value.problems
    assert (problem.field, problem.value) == ("rollout.ahead", mode)
    assert "choose off, or a method with a rollout sync interval v" in problem.remedy


def test_overlap_is_the_local_engines() -> None:
    with pytest.raises(ConfigError) as refused:
        resolve({"engine": {"type": "verl"}, "rollout": {"ahead": "overlap"}})
    (problem,) = refused.value.problems
    assert (problem.field, problem.value) == ("rollout.ahead", "overlap")
    assert "choose window or off" in problem.remedy


def without_cost(recorded: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in line.items() if name != "cost"} for line in recorded]


@pytest.mark.parametrize("mode", ["window", "overlap"])
def test_the_records_are_those_of_off_but_for_when_a_response_counts(tmp_path: Path, mode: str) -> None:
    ahead, alone = tmp_path / "ahead", tmp_path / "alone"
    train(ahead, config(rollout__ahead=mode))
    train(alone, config(rollout__ahead="off"))
    assert without_cost(lines(ahead)) == without_cost(lines(alone))
    of_ahead, of_alone = (steps_of(folder)[-1].cost for folder in (ahead, alone))
    assert of_ahead == of_alone.model_copy(update={"num_rollouts_ahead": 0})


@pytest.mark.parametrize("mode", ["window", "overlap"])
def test_a_run_killed_between_two_synchronisations_ends_as_an_undisturbed_one(tmp_path: Path, mode: str) -> None:
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    # Checkpoints in steps 3 and 6; α changes in steps 5 and 10.
    settings = config(method__v=5, training__steps=12, rollout__ahead=mode)
    train(undisturbed, settings)
    train_and_kill("simulated", killed, settings, after=7)
    state = json.loads((killed / "checkpoints" / "step-000006" / "state.json").read_text())
    # Those of steps 7, 8 and 9 wait, 12 prompts times 4 responses each.
    assert state["ahead"] == {"steps": [5, 9], "num_rollouts": 144, "earlier": {}}
    assert train(killed, settings).status == "succeeded"
    assert lines(killed) == lines(undisturbed)


@pytest.mark.parametrize("mode", ["window", "overlap"])
def test_a_change_of_v_while_responses_wait_is_repeated_after_a_crash(tmp_path: Path, mode: str) -> None:
    undisturbed, stopped = tmp_path / "undisturbed", tmp_path / "stopped"
    settings = config(method__v=5, rollout__ahead=mode)
    for folder in (undisturbed, stopped):
        folder.mkdir()
        append_request(folder, ControlRequest(id="sooner", author="ada", at_step=6, set={"method.v": 4}))
    train(undisturbed, settings)
    train_until(6, stopped, settings, train)
    train(stopped, settings)
    assert lines(stopped) == lines(undisturbed)
    # The call of step 5 was for steps 5 to 8, the run's last; in step 8 α changes.
    assert steps_of(stopped)[-1].cost.num_discarded_rollouts == 48


@pytest.mark.parametrize("change", [{"rollout__temperature": 0.5}, {"rollout__ahead": "off"}, {"training__seed": 7}])
def test_a_fork_with_other_sampling_settings_throws_away_what_waits(tmp_path: Path, change: dict[str, Any]) -> None:
    parent, fork = tmp_path / "parent", tmp_path / "fork"
    of_both = {"method__v": 5, "training__keep_checkpoints": 9, "rollout__ahead": "window"}
    train(parent, config(**of_both))
    begin_fork(fork, parent, ForkOrigin(run_id="parent", step=6))
    train(fork, config(**{**of_both, **change}))
    # Of steps 7 and 8.
    first, *_, last = steps_of(fork)
    assert first.cost.num_discarded_rollouts == 96
    assert first.cost.num_rollouts >= steps_of(parent)[5].cost.num_rollouts + 48
    assert last.cost.num_rollouts_ahead == 0


# ---------------------------------------------------------------- pipelined


def pipelined(**changes: Any) -> RunConfig:
    return settings(**{"method__type": "bapo_pipelined", "rollout__ahead": "overlap", **changes})


@pytest.mark.parametrize("mode", ["off", "window", "overlap"])
def test_a_pipelined_method_trains_on_the_window_before(mode: str) -> None:
    course = run(pipelined(method__v=6, method__m=5, rollout__ahead=mode))
    # v/2 = 3: α changes in steps 3, 6, 9 and 12. Steps 3 to 5 have θ0 as well, steps 6 to 8 have θ2 of step 3.
    assert course.fresh_versions == [0, 0, 0, 0, 0, 2, 2, 2, 5, 5, 5, 8]
    assert course.calls == [[1, 2, 3, 4, 5], [6, 7, 8], [9, 10, 11], [12]]
    # From step 6 on 3 to 5 updates old: v/2 to v - 1.
    assert [step - 1 - version for step, version in enumerate(course.fresh_versions, 1)] == [
        *range(5),
        *(3, 4, 5, 3, 4, 5, 3),
    ]
    assert course.reevaluating_versions == {5: 4, 10: 9}
    # 8 responses a step wait: in step 1 those of four further steps, in step 3 those of steps 4 and 5 and a new window.
    waiting = accumulate(cost["num_rollouts_ahead"] for cost in course.costs)
    assert list(waiting) == [32, 24, 40, 32, 24, 40, 32, 24, 24, 16, 8, 0]


def test_a_smaller_v_of_a_pipelined_method_drops_what_would_be_too_old() -> None:
    course = run(pipelined(method__v=6), {7: pipelined(method__v=2)})
    # From step 7 on α changes in each step, which trains on what the α of the step before generated. θ5 has answered
    # steps 9 to 11 in step 6, and θ2 steps 6 to 8 before: in step 7 only its own responses are kept.
    assert course.fresh_versions == [0, 0, 0, 0, 0, 2, 2, 6, 7, 8, 9, 10]
    assert course.calls[2:] == [[9, 10, 11], [8], [9], [10], [11], [12]]
    assert course.costs[6]["num_discarded_rollouts"] == 4 * 8


@pytest.mark.parametrize("v", [5, 34])
def test_a_pipelined_window_is_half_of_an_even_v(v: int) -> None:
    with pytest.raises(ConfigError) as refused:
        pipelined(method__v=v)
    (problem,) = refused.value.problems
    assert (problem.field, problem.value) == ("method.v", v)
    assert "an even number from 2 to 32" in problem.remedy


def test_a_pipelined_run_says_that_its_schedule_is_another() -> None:
    of_overlap, of_off = (pipelined(rollout__ahead=mode).warnings for mode in ("overlap", "off"))
    assert [warning.field for warning in of_overlap] == ["method.type"]
    assert "another schedule than Algorithm 1" in of_overlap[0].remedy
    assert "only rollout.ahead=overlap makes it faster" in of_off[0].remedy


@pytest.mark.parametrize("mode", ["window", "overlap"])
@pytest.mark.parametrize("after", [4, 7])
def test_a_killed_pipelined_run_ends_as_an_undisturbed_one(tmp_path: Path, mode: str, after: int) -> None:
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    # Checkpoints in steps 3 and 6, in both after α has changed: what its step's window trains on is of the α before.
    # The repetition stop has a figure of its own, which waits with the responses.
    changes = {"rollout__ahead": mode, "rollout__repetition_tokens": 8}
    own = config(method__type="bapo_pipelined", method__v=6, training__steps=12, **changes)
    train(undisturbed, own)
    train_and_kill("simulated", killed, own, after=after)
    assert train(killed, own).status == "succeeded"
    assert lines(killed) == lines(undisturbed)
