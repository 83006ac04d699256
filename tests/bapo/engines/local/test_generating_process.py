"""The generating process: the trainer's own answers, whatever happens to it; it ends with the trainer."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from bapo.config import ConfigError, RunConfig
from bapo.engines.base import BatchItem, Generation, Policy
from bapo.records import StepRecord
from bapo.rollout import BatchSource
from bapo.run.control import ControlRequest, append_request
from bapo.run.trainer import train
from bapo.tasks import build_task
from tests.support.killed_trainer import train_and_kill
from tests.support.late_imports import late_imports
from tests.support.small_runs import config, lines, steps_of
from tests.support.waiting import wait_until

with late_imports():
    import torch

    from bapo.engines.local import generating_process
    from bapo.engines.local.engine import LocalEngine
    from bapo.engines.local.generating_process import MODULE, GeneratingProcessError

GROUP_SIZE = 4
TRAINING_ALONE = {"evaluation__enabled": False, "tracking__num_prompts": 0, "task__num_train": 48}


def settings(**changes: object) -> RunConfig:
    return config(**{**TRAINING_ALONE, "rollout__ahead": "overlap", **changes})


def generating_processes() -> list[psutil.Process]:
    return [each for each in psutil.Process().children() if MODULE in each.cmdline()]


def payloads(generation: Generation) -> list[tuple[list[list[int]], torch.Tensor]]:
    return [(group.payload.sampled.responses(), group.payload.sampled.logprobs) for group in generation.groups]


def assert_same(some: Generation, others: Generation) -> None:
    assert [group.without_payload() for group in some.groups] == [group.without_payload() for group in others.groups]
    for (responses, logprobs), (expected, expected_logprobs) in zip(payloads(some), payloads(others), strict=True):
        assert responses == expected
        assert torch.equal(logprobs, expected_logprobs)


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[LocalEngine, LocalEngine]]:
    """An engine with a generating process, and one that generates by itself."""
    task = build_task(settings().task)
    engines = LocalEngine(settings(), task), LocalEngine(settings(rollout__ahead="off"), task)
    yield engines
    for engine in engines:
        engine.close()


def test_a_step_gets_the_responses_of_the_policy_of_its_window_to_the_last_bit(
    both: tuple[LocalEngine, LocalEngine],
) -> None:
    engine, alone = both
    train_set = build_task(settings().task).train
    batches = {step: train_set[6 * step : 6 * step + 6] for step in (1, 2, 3)}
    for version in (0, 1):
        for each in both:
            each.sync_rollout_policy(version)
        coming = engine.generate_ahead(batches, group_size=GROUP_SIZE)
        for step, problems in batches.items():
            expected = alone.generate(
                problems, group_size=GROUP_SIZE, policy=Policy.ROLLOUT, step=step, purpose="rollout"
            )
            assert_same(coming[step], expected)
            # The weights move in between, and α does not.
            for each in both:
                each.update([BatchItem(group, BatchSource.FRESH) for group in expected.groups], step=step)
    # Both versions answered differently.
    assert expected.groups[0].policy_version == 1


def test_calls_that_are_abandoned_leave_those_after_them_alone(both: tuple[LocalEngine, LocalEngine]) -> None:
    engine, alone = both
    train_set = build_task(settings().task).train
    engine.generate_ahead(dict.fromkeys((1, 2, 3), train_set[:12]), group_size=GROUP_SIZE)
    for each in both:
        each.sync_rollout_policy(4)
    coming = engine.generate_ahead({2: train_set[12:18]}, group_size=GROUP_SIZE)
    assert_same(
        coming[2],
        alone.generate(train_set[12:18], group_size=GROUP_SIZE, policy=Policy.ROLLOUT, step=2, purpose="rollout"),
    )


def test_its_memory_and_load_count(both: tuple[LocalEngine, LocalEngine]) -> None:
    engine, alone = (dict(each.utilisation()) for each in both)
    assert engine["num_generator_restarts"] == engine["num_steps_ready"] == 0
    # Both engines are in this process; the second one imports PyTorch again.
    assert engine["memory_bytes"] > alone["memory_bytes"] + 50 * 2**20


class _Disturbs:
    """Sends the generating process a signal right after some steps."""

    def __init__(self, signals: dict[int, signal.Signals]) -> None:
        self._signals = signals

    def on_record(self, record: object) -> None:
        if isinstance(record, StepRecord) and record.step in self._signals:
            newest = max(generating_processes(), key=psutil.Process.create_time)
            os.kill(newest.pid, self._signals[record.step])


def without_cost(folder: Path) -> list[dict[str, object]]:
    return [{name: value for name, value in line.items() if name != "cost"} for line in lines(folder)]


def test_a_killed_and_a_stopped_process_are_replaced_and_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generating_process, "HANG_SECONDS", 10.0)
    before = generating_processes()
    disturbed, alone = tmp_path / "disturbed", tmp_path / "alone"
    # α changes in steps 3 and 6.
    disturbs = _Disturbs({1: signal.SIGKILL, 5: signal.SIGSTOP})
    train(disturbed, settings(), observer=disturbs)
    train(alone, settings(rollout__ahead="off"))
    assert without_cost(disturbed) == without_cost(alone)
    assert steps_of(disturbed)[-1].system["num_generator_restarts"] >= 2
    assert generating_processes() == before


def test_a_run_killed_within_a_window_ends_as_one_without_and_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed, alone = tmp_path / "killed", tmp_path / "alone"
    for folder in (killed, alone):
        folder.mkdir()
        # A window of v = 5 from step 5 on is cut: α changes in step 6.
        append_request(folder, ControlRequest(id="sooner", author="ada", at_step=6, set={"method.v": 2}))
    monkeypatch.setenv("RUN_OF_THIS_TEST", str(tmp_path))
    train_and_kill("local", killed, settings(method__v=5), after=4)
    wait_until(lambda: not _of_this_test(tmp_path))
    assert train(killed, settings(method__v=5)).status == "succeeded"
    train(alone, settings(method__v=5, rollout__ahead="off"))
    assert without_cost(killed) == without_cost(alone)
    # Of the window from step 5 on those of steps 6, 7 and 8, 12 prompts times 4 responses each.
    assert steps_of(killed)[-1].cost.num_discarded_rollouts == 144


def _of_this_test(folder: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if MODULE in process.cmdline() and process.environ().get("RUN_OF_THIS_TEST") == str(folder):
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_a_process_that_fails_again_and_again_ends_the_run_with_its_reason(
    both: tuple[LocalEngine, LocalEngine], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generating_process, "MOST_RESTARTS", 1)
    monkeypatch.setattr(generating_process, "MODULE", "bapo.engines.local.nowhere")
    engine, _ = both
    coming = engine.generate_ahead({1: build_task(settings().task).train[:6]}, group_size=GROUP_SIZE)
    (process,) = generating_processes()
    process.kill()
    with pytest.raises(GeneratingProcessError, match=r"failed 2 times in a row, at last because it ended with code 1"):
        coming[1]
    assert "the generating process is started again: it was ended by SIGKILL" in capfd.readouterr().err


def test_memory_for_one_process_alone_is_refused() -> None:
    with pytest.raises(ConfigError) as refused:
        LocalEngine(settings(resources__memory_gib=0.5), build_task(settings().task))
    (problem,) = refused.value.problems
    assert (problem.field, problem.value) == ("resources.memory_gib", 0.5)
    assert "choose rollout.ahead=off or rollout.ahead=window" in problem.remedy
