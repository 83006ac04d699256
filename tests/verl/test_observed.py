"""verl's own trainer, its own loop and its own GRPO, observed by one line of its config."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import pytest

from bapo.config import resolve
from bapo.engines.verl.leftovers import clean_up_after
from bapo.records import EvaluationRecord, EventRecord, StepRecord
from bapo.rollout import prompt_identity
from bapo.run.journal import merged_records
from tests.support.stack import Stack, wait_for

ROOT = Path(__file__).parents[2]
STEPS, PROMPTS, GROUP_SIZE = 2, 8, 4


def dumped(folder: Path, step: int) -> list[list[dict[str, Any]]]:
    """Groups of verl's own dump, by uid."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in (folder / f"{step}.jsonl").read_text().splitlines():
        row = json.loads(line)
        groups[row["uid"].rsplit("_", 2)[0]].append(row)
    return list(groups.values())


def summary(groups: list[list[dict[str, Any]]]) -> list[tuple[str, int]]:
    """Ground truth and correct responses of each group."""
    return sorted((rows[0]["gts"], round(sum(row["score"] for row in rows))) for rows in groups)


def stock_verl(folder: Path, num_steps: int, output: IO[bytes], **environment: str) -> subprocess.Popen[bytes]:
    """verl's own trainer, observed in `folder`/run; it dumps its rollouts beside."""
    config = resolve(
        {
            "engine": {"type": "verl"},
            "method": {"type": "grpo"},
            "rollout": {"batch_size": PROMPTS, "group_size": GROUP_SIZE},
            "training": {"batch_size": PROMPTS, "steps": num_steps},
        }
    ).config
    (folder / "config.json").write_text(config.model_dump_json())
    further = {
        "trainer.logger": ["file", "bapo"],
        "trainer.experiment_name": "stock verl",
        "trainer.bapo": {"folder": str(folder / "run")},
        "trainer.rollout_data_dir": str(folder / "dumps"),
        "trainer.validation_data_dir": str(folder / "validations"),
        "trainer.test_freq": STEPS,
        "data.val_max_samples": 4,
    }
    files = (str(folder / "config.json"), str(folder / "logged.jsonl"))
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.plain_verl", *files, json.dumps(further)],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=output,
        stderr=subprocess.STDOUT,
    )


def steps_of(folder: Path) -> list[StepRecord]:
    """What was recorded of the trainer in the folder."""
    if not (folder / "run").exists():
        return []
    return [record for record in merged_records(folder / "run") if isinstance(record, StepRecord)]


def assert_agrees_with_verl(folder: Path, steps: Sequence[StepRecord]) -> None:
    """The steps have the groups of verl's own dumps and the means of its own log."""
    logged = [json.loads(line) for line in (folder / "logged.jsonl").read_text().splitlines()]
    assert [step.step for step in steps] == list(range(1, len(steps) + 1))
    for step, line in zip(steps, logged[: len(steps)], strict=True):
        assert [prompt.policy_version for prompt in step.prompts] == [step.step - 1] * PROMPTS
        assert step.reward_mean == pytest.approx(line["data"]["critic/rewards/mean"])
        assert step.response_length_mean == pytest.approx(line["data"]["response_length/mean"])
        assert step.metrics["actor/grad_norm"] == pytest.approx(line["data"]["actor/grad_norm"])
        ours = sorted(prompt.num_correct for prompt in step.prompts)
        assert ours == sorted(count for _, count in summary(dumped(folder / "dumps", step.step)))


def test_every_group_that_verl_trained_on_is_recorded(tmp_path: Path) -> None:
    with (tmp_path / "output.log").open("wb") as output:
        assert stock_verl(tmp_path, STEPS, output).wait() == 0, (tmp_path / "output.log").read_text()[-5000:]
    records = list(merged_records(tmp_path / "run"))
    steps = steps_of(tmp_path)
    assert len(steps) == STEPS
    assert_agrees_with_verl(tmp_path, steps)
    (evaluation,) = [record for record in records if isinstance(record, EvaluationRecord)]
    assert (evaluation.step, len(evaluation.num_correct)) == (STEPS, 4)
    validated = summary(dumped(tmp_path / "validations", STEPS))
    assert sorted(evaluation.num_correct) == sorted(count for _, count in validated)
    events = [record.event for record in records if isinstance(record, EventRecord)]
    assert events == ["started", "finished"]
    # The prompt as the user wrote it, before any template: the same identity as in runs of our own trainer.
    from bapo.tasks import build_task  # noqa: PLC0415

    task = resolve({"engine": {"type": "verl"}, "method": {"type": "grpo"}}).config.task
    known = {prompt_identity("countdown", problem.prompt) for problem in build_task(task).train}
    assert {prompt.prompt_id for step in steps for prompt in step.prompts} <= known


@pytest.fixture
def product() -> Iterator[Stack]:
    """The whole product, which has an environment of its own."""
    with tempfile.TemporaryDirectory(prefix="bapo-stack-", ignore_cleanup_errors=True) as folder:
        stack = Stack(Path(folder), python=ROOT / ".venv" / "bin" / "python")
        stack.start("--no-demo")
        yield stack
        if stack.is_up:
            stack.stop()
        stack.close()


def test_nothing_is_lost_where_the_server_restarts_and_verl_is_killed(tmp_path: Path, product: Stack) -> None:
    environment = {"BAPO_SERVER": product.url, "BAPO_TOKEN": (product.folder / "admin-token").read_text().strip()}

    def on_the_server() -> list[int]:
        with product.client() as client:
            found = [run for run in client.runs().items if run.name == "stock verl"]
            return [int(record["step"]) for run in found for record in client.records(run.id, type="step").items]

    with (tmp_path / "output.log").open("wb") as output:
        trainer = stock_verl(tmp_path, 1_000, output, **environment)
        try:
            wait_for(on_the_server)
            product.stop()
            known = len(steps_of(tmp_path))
            wait_for(lambda: len(steps_of(tmp_path)) >= known + 2)
            product.start("--no-demo")
            wait_for(lambda: len(on_the_server()) >= known + 2)
        finally:
            trainer.kill()
            trainer.wait()
            clean_up_after(trainer.pid, time.time())
    logged = len((tmp_path / "logged.jsonl").read_text().splitlines())
    steps = steps_of(tmp_path)
    # verl logs to its file before it logs to ours.
    assert len(steps) in (logged, logged - 1)
    assert_agrees_with_verl(tmp_path, steps)
    with product.client() as client:
        (run,) = [run for run in client.runs().items if run.name == "stock verl"]
        wait_for(lambda: str(client.run(run.id).status) == "failed")
    done = subprocess.run(
        [sys.executable, "-m", "bapo", "import", str(tmp_path / "run")],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert on_the_server() == [step.step for step in steps]


def test_the_examples_command_is_one_that_verl_takes_and_runs_the_trainer_that_is_observed(tmp_path: Path) -> None:
    """verl composes its config of the script's options, refuses those that it does not have, and trains nothing."""
    from omegaconf import OmegaConf  # noqa: PLC0415
    from verl.trainer.ppo.v1 import get_trainer_cls  # noqa: PLC0415
    from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync  # noqa: PLC0415

    from bapo.observe.verl import OPTIONS  # noqa: PLC0415

    observing = {name: "0.5" if name == "reward_threshold" else "3" for name in OPTIONS}
    done = subprocess.run(
        [
            *("sh", ROOT / "examples" / "observe_verl.sh", "train.parquet", "test.parquet", "a-model"),
            *(f"+trainer.bapo.{name}={value}" for name, value in observing.items()),
            *("--cfg", "job"),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    config = OmegaConf.create(done.stdout[done.stdout.index("actor_rollout_ref:") :])
    assert list(config.trainer.logger) == ["console", "bapo"]
    assert set(config.trainer.bapo) == OPTIONS
    assert (config.algorithm.adv_estimator, config.actor_rollout_ref.rollout.n) == ("grpo", 8)
    # The trainer of the test above, which runs it on a CPU.
    assert get_trainer_cls(config.trainer.v1.trainer_mode) is PPOTrainerSync


def test_verl_finds_the_logger_by_its_entry_point() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["verl.plugins"]["bapo-observe"] == "bapo.observe.verl"


def test_the_private_names_of_verl_are_as_the_adapter_uses_them() -> None:
    """Fails with the release that changes them."""
    import inspect  # noqa: PLC0415

    from verl.trainer.ppo.v1.trainer_base import PPOTrainer  # noqa: PLC0415
    from verl.utils.tracking import Tracking  # noqa: PLC0415

    def arguments(function: Any) -> list[str]:
        return list(inspect.signature(function).parameters)

    assert arguments(PPOTrainer._compute_metrics)[:3] == ["self", "batch", "metrics"]
    assert arguments(PPOTrainer._maybe_log_val_generations) == ["self", "inputs", "outputs", "scores"]
    assert arguments(PPOTrainer._val_metrics_update)[:4] == [
        "self",
        "data_sources",
        "sample_uids",
        "reward_extra_infos_dict",
    ]
    assert arguments(Tracking.__init__) == ["self", "project_name", "experiment_name", "default_backend", "config"]
    loop = inspect.getsource(PPOTrainer.fit)
    assert loop.index("Tracking(") < loop.index("self._validate()") < loop.index("self._compute_metrics(")
    assert (
        loop.index("self._compute_metrics(") < loop.index("tq.kv_clear(") < loop.rindex("self.logger.log(data=metrics")
    )
