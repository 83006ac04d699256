"""Ends and takeovers whose course is known in advance; what happens at random moments is in `test_faults.py`.

No record is lost, none is there twice: they are read through the API and compared as whole lists.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from bapo.api.runs import RunStatus
from bapo.client import Client
from tests.chaos.world import PatientClient, is_alive
from tests.support.disks import fill, small_disk
from tests.support.gates import Gate
from tests.support.stack import (
    NUM_STEPS,
    PATIENCE_SECONDS,
    Stack,
    assert_equal_to_undisturbed,
    at_step,
    ended,
    submit,
    wait_for,
)

pytestmark = pytest.mark.chaos

RESPONSES_BY_THE_MIDDLE = 1_300
"""Of a run of 40 steps; the checkpoints before it are those of steps 8 and 16."""
LEASE_SECONDS = 20
"""So many that a worker which is only slow keeps its runs."""


@pytest.fixture
def client(stack: Stack) -> Iterator[Client]:
    with stack.client() as client:
        yield client


@contextmanager
def held_in_the_middle(stack: Stack, client: Client, resources: Path | None = None) -> Iterator[tuple[str, Gate]]:
    """Submit a run and wait until its trainer is held between two checkpoints; the gate is open in the end."""
    gate = Gate((resources or stack.folder / "resources") / "gate", RESPONSES_BY_THE_MIDDLE)
    run_id = submit(client, "held", **{"task.verifier": gate.register(client)})
    gate.wait_until_reached()
    try:
        yield run_id, gate
    finally:
        gate.open()


def test_training_does_not_notice_that_the_server_is_away(
    stack: Stack, client: Client, undisturbed_records: list[dict[str, Any]]
) -> None:
    with held_in_the_middle(stack, client) as (run_id, gate):
        trainer = stack.trainer(run_id)
        backend = stack.service("backend")
        backend.suspend()
        try:
            gate.open()
            wait_for(lambda: not is_alive(trainer))
            journal = stack.folder / "runs" / run_id / "attempt-1" / "records.jsonl"
            assert '"step":40' in journal.read_text().splitlines()[-1]
        finally:
            backend.resume()
    run = ended(client, run_id)
    assert (run.status, run.attempt, run.step) == (RunStatus.SUCCEEDED, 1, NUM_STEPS)
    assert_equal_to_undisturbed(client, run_id, undisturbed_records)


def test_ctrl_c_checkpoints_and_the_next_start_goes_on(
    make_stack: Callable[[], Stack], undisturbed_records: list[dict[str, Any]]
) -> None:
    stack = make_stack()
    stack.start("--no-demo")
    with stack.client() as client, held_in_the_middle(stack, client) as (run_id, gate):
        # The checkpoint before is that of step 16, and there are steps after it.
        reached = at_step(client, run_id, 17).step
        stack.interrupt()
        gate.wait_until_asked_to_stop()
    bystander = psutil.Process().pid
    assert stack.wait() == 0
    assert psutil.pid_exists(bystander)
    assert stack.processes() == []
    checkpoints = sorted((stack.folder / "runs" / run_id / "checkpoints").glob("step-*"))
    # Not the one of step 16: one was written where it stopped.
    assert reached <= int(checkpoints[-1].name.removeprefix("step-")) < NUM_STEPS
    stack.start("--no-demo")
    with stack.client() as client:
        run = ended(client, run_id)
        assert (run.status, run.attempt, run.step) == (RunStatus.SUCCEEDED, 2, NUM_STEPS)
        assert_equal_to_undisturbed(client, run_id, undisturbed_records)
    stack.stop()


def test_another_worker_takes_over_from_one_that_hangs(
    make_stack: Callable[[], Stack], undisturbed_records: list[dict[str, Any]]
) -> None:
    stack = make_stack()
    stack.start("--no-demo", BAPO_LEASE_SECONDS=str(LEASE_SECONDS))
    with stack.client() as client, held_in_the_middle(stack, client) as (run_id, gate):
        abandoned, hanging = stack.trainer(run_id), stack.service("worker")
        hanging.suspend()
        gate.open()
        second = subprocess.Popen(
            [
                *(sys.executable, "-m", "worker", "run", "--server", stack.url, "--name", "second"),
                *("--token-file", str(stack.folder / "worker-token"), "--folder", str(stack.folder / "second")),
            ]
        )
        try:
            run = ended(client, run_id)
            assert not is_alive(abandoned)
            assert (run.status, run.attempt, run.step, run.worker) == (RunStatus.SUCCEEDED, 2, NUM_STEPS, "second")
            # The first one comes back, learns that it is too late, and changes nothing.
            hanging.resume()
            wait_for(lambda: not list((stack.folder / "worker" / "attempts").iterdir()))
            assert_equal_to_undisturbed(client, run_id, undisturbed_records)
        finally:
            second.terminate()
            assert second.wait(PATIENCE_SECONDS) == 0
    stack.stop()


def test_a_disk_that_fills_up_ends_nothing_for_good(
    make_stack: Callable[[], Stack], undisturbed_records: list[dict[str, Any]], tmp_path: Path
) -> None:
    stack = make_stack()
    with small_disk(stack.folder, "300m") as disk:
        retries = {"BAPO_RETRY_DELAY_SECONDS": "1", "BAPO_MAX_ATTEMPTS_WITHOUT_PROGRESS": "25"}
        # The gate is on another disk: it can be opened while this one is full.
        stack.start("--no-demo", BAPO_RESOURCE_ROOTS=str(tmp_path), **retries)
        with stack.client() as client, held_in_the_middle(stack, client, tmp_path) as (run_id, gate):
            trainer, redis = stack.trainer(run_id), stack.service("redis")
            filler = fill(disk)
            gate.open()
            # Its end has to be written down, and its successor.
            redis.kill()
            wait_for(lambda: not is_alive(trainer) and not is_alive(redis))
            wait_for(lambda: any("redis-server" in each.name() and is_alive(each) for each in stack.processes()))
            assert psutil.pid_exists(stack.pid)
            filler.unlink()
        # PostgreSQL may still be on its way back.
        with PatientClient(stack.url, token=(stack.folder / "admin-token").read_text().strip()) as client:
            run = ended(client, run_id)
            assert (run.status, run.step) == (RunStatus.SUCCEEDED, NUM_STEPS)
            assert_equal_to_undisturbed(client, run_id, undisturbed_records)
        assert stack.stop() == 0
        assert "processes.json cannot be written (No space left on device)" in stack.output
