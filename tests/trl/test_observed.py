"""TRL's own trainers, observed: each group that they trained on is in the record, once, with what TRL says of it."""

from __future__ import annotations

import json
import signal
import subprocess
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bapo.client import Client
from bapo.records import StepRecord
from bapo.rollout import prompt_identity
from bapo.run.run_folder import read_config
from tests.support.ports import hold_port
from tests.support.services import BackendServer, running_backend, wait_until
from tests.trl.conftest import PYTHON, ROOT, Trained, environment, start

GROUP_SIZE, GROUPS_PER_STEP = 4, 8
Train = Callable[..., Trained]


def groups_of(call: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Identity and correct responses of each group that the reward function was given."""
    begins = range(0, len(call["prompts"]), GROUP_SIZE)
    assert all(len(set(call["prompts"][begin : begin + GROUP_SIZE])) == 1 for begin in begins)
    return [
        (
            prompt_identity("countdown", call["prompts"][begin]),
            round(sum(call["rewards"][begin : begin + GROUP_SIZE])),
        )
        for begin in begins
    ]


def recorded_groups(step: StepRecord) -> list[tuple[str, int]]:
    """The same of a recorded step."""
    return [(prompt.prompt_id, prompt.num_correct) for prompt in step.prompts]


def assert_agrees(step: StepRecord, logged: Mapping[str, Any]) -> None:
    """The record has the reward and the share of groups without a gradient that TRL logged."""
    assert step.reward_mean == pytest.approx(logged["reward"])
    assert step.rewards is not None
    assert step.rewards.num_constant_groups / len(step.prompts) == pytest.approx(logged["frac_reward_zero_std"])
    assert step.response_length_mean == pytest.approx(logged["completions/mean_length"])
    assert step.response_clip_ratio == pytest.approx(logged["completions/clipped_ratio"])


@pytest.fixture(scope="module")
def grpo(train: Train) -> Trained:
    """Four steps with an evaluation after every second."""
    return train(settings={"eval_strategy": "steps", "eval_steps": 2})


def test_every_group_that_trl_trained_on_is_recorded(grpo: Trained) -> None:
    assert [step.step for step in grpo.steps] == [1, 2, 3, 4]
    assert [recorded_groups(step) for step in grpo.steps] == [groups_of(call) for call in grpo.scored()]
    logged = [line for line in grpo.logs if "reward" in line]
    for step, line in zip(grpo.steps, logged, strict=True):
        assert len(step.prompts) == GROUPS_PER_STEP
        assert_agrees(step, line)
    # Not one to which everything agrees: some groups are all wrong, some are mixed.
    assert 0 < sum(step.reward_mean or 0.0 for step in grpo.steps) < len(grpo.steps)


def test_a_group_has_the_version_of_the_policy_that_answered(grpo: Trained) -> None:
    assert [{prompt.policy_version for prompt in step.prompts} for step in grpo.steps] == [{0}, {1}, {2}, {3}]


def test_what_trl_logs_comes_along_under_the_names_of_verl(grpo: Trained) -> None:
    for step, line in zip(grpo.steps, [line for line in grpo.logs if "reward" in line], strict=True):
        assert step.metrics["actor/lr"] == line["learning_rate"]
        assert step.metrics["actor/entropy"] == line["entropy"]
        assert step.metrics["actor/grad_norm"] == pytest.approx(line["grad_norm"])
        assert step.metrics["rewards/reward/mean"] == line["rewards/reward/mean"]


def test_an_evaluation_is_a_held_out_set(grpo: Trained) -> None:
    assert [(each.step, each.dataset, each.num_samples) for each in grpo.evaluations] == [
        (2, "eval", GROUP_SIZE),
        (4, "eval", GROUP_SIZE),
    ]
    # 8 problems in one batch of TRL, whose size is 8 responses: 2 problems a call, 4 calls an evaluation.
    calls = grpo.scored(training=False)
    for number, evaluation in enumerate(grpo.evaluations):
        asked = calls[number * len(calls) // 2 : (number + 1) * len(calls) // 2]
        found = [group for call in asked for group in groups_of(call)]
        assert evaluation.num_correct == [count for _, count in found]
        assert len(evaluation.num_correct) == 8


def test_the_run_says_what_trained_it(grpo: Trained) -> None:
    method = read_config(grpo.run).method.model_dump()
    assert (method["trainer"], method["trainer_version"]) == ("TRL GRPOTrainer", "1.16.0")
    own = method["config"]
    assert (own["num_generations"], own["reward_functions"]) == (GROUP_SIZE, "reward")
    assert "output_dir" not in own
    assert own["seed"] == 7
    assert [event.event for event in grpo.events] == ["started", "finished"]


def test_a_batch_that_is_trained_on_again_is_recorded_once(train: Train) -> None:
    # A generation of 16 responses is cut into 2 and used 2 times; two parts make a step: of 4 steps 2 generate.
    repeated = train(
        settings={
            "per_device_train_batch_size": 16,
            "gradient_accumulation_steps": 1,
            "steps_per_generation": 2,
            "num_iterations": 1,
        }
    )
    assert [call["step"] for call in repeated.scored()] == [0, 2]
    assert [(step.step, step.rollout_version) for step in repeated.steps] == [(1, 0), (3, 2)]
    assert [recorded_groups(step) for step in repeated.steps] == [groups_of(call) for call in repeated.scored()]
    # What was logged after step 2, which generated nothing, is in the mean of step 3.
    logged = {line["step"]: line for line in repeated.logs if "grad_norm" in line}
    assert repeated.steps[1].metrics["actor/grad_norm"] == pytest.approx(
        (logged[2]["grad_norm"] + logged[3]["grad_norm"]) / 2
    )


def test_several_generations_of_one_step_are_one_step(train: Train) -> None:
    gathered = train(
        trainer="RLOO",
        settings={
            "per_device_train_batch_size": 16,
            "gradient_accumulation_steps": 2,
            "steps_per_generation": 1,
            "max_steps": 2,
        },
    )
    calls = gathered.scored()
    assert [call["step"] for call in calls] == [0, 0, 1, 1]
    assert [recorded_groups(step) for step in gathered.steps] == [
        [*groups_of(calls[0]), *groups_of(calls[1])],
        [*groups_of(calls[2]), *groups_of(calls[3])],
    ]
    for step, line in zip(gathered.steps, [line for line in gathered.logs if "reward" in line], strict=True):
        assert_agrees(step, line)


def test_the_groups_of_all_processes_are_recorded_by_the_first(train: Train) -> None:
    # 5 problems in batches of 2 processes × 4 responses: the last batch is filled up, and not recorded twice.
    spread = train(
        processes=2,
        num_test=5,
        settings={
            "per_device_train_batch_size": 16,
            "per_device_eval_batch_size": 4,
            "max_steps": 2,
            "eval_strategy": "steps",
            "eval_steps": 2,
        },
    )
    assert [recorded_groups(step) for step in spread.steps] == [groups_of(call) for call in spread.scored()]
    assert [len(step.prompts) for step in spread.steps] == [GROUPS_PER_STEP] * 2
    for step, line in zip(spread.steps, [line for line in spread.logs if "reward" in line], strict=True):
        assert_agrees(step, line)
    (evaluation,) = spread.evaluations
    assert len(evaluation.num_correct) == 5
    assert len(set(evaluation.prompt_ids or ())) == 5


def test_a_trainer_that_breaks_says_so_and_keeps_its_steps(train: Train) -> None:
    broken = train(status=1, fails_after=2, settings={"logging_steps": 100})
    assert [step.step for step in broken.steps] == [1, 2]
    assert [(event.event, event.message) for event in broken.events][-1] == (
        "failed",
        "RuntimeError: a trainer that broke",
    )


@pytest.fixture(scope="module")
def server_settings() -> Mapping[str, Any]:
    """Let a trainer that was killed be known to be soon, and one that is only slow be waited for."""
    return {"lease_seconds": 10.0}


def test_a_killed_trainer_loses_no_step_that_it_finished_and_the_server_has_them(
    backend_server: BackendServer, admin: Client, tmp_path: Path
) -> None:
    env = environment(BAPO_SERVER=backend_server.url, BAPO_TOKEN=backend_server.admin_token)
    process = start(tmp_path, {"name": "killed by TRL", "settings": {"max_steps": 1000}}, env=env)
    trained = Trained(tmp_path)
    wait_until(lambda: process.poll() is not None or len(trained.logs) >= 3)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (found,) = [run for run in admin.runs().items if run.name == "killed by TRL"]
    wait_until(lambda: str(admin.run(found.id).status) == "failed")
    steps = trained.steps
    assert len(steps) >= len(trained.logs) - 1
    assert [recorded_groups(step) for step in steps] == [groups_of(call) for call in trained.scored()[: len(steps)]]
    sent = [record["step"] for record in admin.records(found.id, type="step").items]
    assert sent == list(range(1, len(sent) + 1))


@pytest.fixture
def port() -> Iterator[int]:
    """A port that no other process is given while the server on it is away."""
    with hold_port() as held:
        yield held.getsockname()[1]


def test_a_server_that_restarts_loses_nothing(postgres_url: str, port: int, tmp_path: Path) -> None:
    trained = Trained(tmp_path / "trained")
    with running_backend(postgres_url, tmp_path / "server", port=port) as server:
        env = environment(BAPO_SERVER=server.url, BAPO_TOKEN=server.admin_token)
        process = start(
            trained.folder, {"name": "through a restart", "waits_after": 2, "settings": {"max_steps": 6}}, env=env
        )
        with server.client() as client:
            wait_until(lambda: process.poll() is not None or steps_at(client) == [1, 2])
    (trained.folder / "go").touch()
    wait_until(lambda: process.poll() is not None or len(trained.steps) > 2)
    with running_backend(postgres_url, tmp_path / "server", port=port) as server, server.client() as client:
        said, _ = process.communicate(timeout=600)
        assert process.returncode == 0, said
        assert steps_at(client) == [1, 2, 3, 4, 5, 6]
        (found,) = [run for run in client.runs().items if run.name == "through a restart"]
        assert str(found.status) == "succeeded"
    assert [recorded_groups(step) for step in trained.steps] == [groups_of(call) for call in trained.scored()]


def steps_at(client: Client) -> list[int]:
    """Steps that the server has of the run."""
    found = [run for run in client.runs().items if run.name == "through a restart"]
    return [int(record["step"]) for run in found for record in client.records(run.id, type="step").items]


def test_the_private_names_of_trl_are_as_the_adapter_uses_them() -> None:
    """Fails with the release that changes them; `observe_trl` refuses such a release with a message that says so."""
    script = """
        import inspect, json
        from trl import GRPOTrainer, RLOOTrainer
        found = {}
        for trainer in (GRPOTrainer, RLOOTrainer):
            source = inspect.getsource(trainer)
            found[trainer.__name__] = {
                "arguments": list(inspect.signature(trainer._calculate_rewards).parameters),
                "calls": source.count("self._calculate_rewards("),
                "attributes": [
                    name
                    for name in ("num_generations", "num_generations_eval", "reward_weights", "reward_func_names",
                                 "eos_token_ids")
                    if f"self.{name} =" in source or f"self.{name}:" in source
                ],
                "logs_gap": all(
                    f'"sampling/sampling_logp_difference/{kind}"' in source for kind in ("mean", "max")
                ),
                "gathers": "return rewards_per_func" in inspect.getsource(trainer._calculate_rewards)
                and "= gather(rewards_per_func)" in inspect.getsource(trainer._calculate_rewards),
            }
        print(json.dumps(found))
    """
    done = subprocess.run(
        [str(PYTHON), "-c", textwrap.dedent(script)], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for name, found in json.loads(done.stdout.splitlines()[-1]).items():
        assert found["arguments"] == ["self", "inputs", "prompts", "completions", "completion_ids_list"], name
        assert found["calls"] == 1, name
        assert found["attributes"] == [
            "num_generations",
            "num_generations_eval",
            "reward_weights",
            "reward_func_names",
            "eos_token_ids",
        ], name
        assert found["gathers"], name
        # RLOO trains on its own log-probabilities alone.
        assert found["logs_gap"] == (name == "GRPOTrainer")


def test_the_example_runs(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(PYTHON), str(ROOT / "examples" / "observe_trl.py"), "run"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "bapo import run" in done.stdout
    assert (tmp_path / "run" / "attempt-1" / "records.jsonl").read_text().count('"type":"step"') == 20
