"""What must hold when all is over, whatever was broken meanwhile."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import redis

from backend.runs.states import LEGAL_MOVES
from bapo.api.runs import RunStatus
from bapo.client import Client
from bapo.run.control import ControlRequest, append_request
from tests.chaos.people import Submitted
from tests.chaos.world import LOCAL, REMOTE, World
from tests.support.stack import NUM_STEPS, all_records, assignments, essence, recorded_steps, wait_for
from tests.support.trained import train_one_after_another

KINDS = ("step", "evaluation", "tracking")
Course = tuple[int, str]
"""Training seed, and the parameter changes with the steps at which they took effect, as JSON."""


def check_all(world: World, runs: Sequence[Submitted], folder: Path) -> None:
    """Raises AssertionError, naming the run, where anything is not as it should be."""
    with world.client() as client:
        for run in runs:
            assert run.ended is not None
            allowed = run.expected | ({RunStatus.FAILED} if run.run_id in world.deleted else set())
            assert run.ended.status in allowed, f"{run.ended.name}: {run.ended.status} {run.ended.status_reason}"
            if run.ended.status is RunStatus.SUCCEEDED:
                assert run.ended.step == NUM_STEPS, run.ended.name
        nothing_is_held(world, client)
        for run in runs:
            # A stopped run's last steps may have come in after its end.
            run.ended = client.run(run.run_id)
        courses = {run.run_id: course_of(client, run) for run in runs}
        references = undisturbed(set(courses.values()), folder)
        for run in runs:
            audit_is_consistent(client, run)
            assert run.ended is not None
            if run.ended.status is RunStatus.FAILED:
                # Nobody has what was in its folder; what had been sent is kept.
                steps_are_those_of(references[courses[run.run_id]], client, run)
                continue
            records_are_those_of(references[courses[run.run_id]], client, run)
            if run.run_id not in world.deleted:
                log_is_whole(world, client, run)


# ---------------------------------------------------------------- nothing is left


def nothing_is_held(world: World, client: Client) -> None:
    """No process, slot, lease, promise, request or message is left of runs that have ended."""
    wait_for(lambda: not world.trainers())
    for worker in (LOCAL, REMOTE):
        wait_until_empty(world.folder_of(worker) / "attempts")
    for info in client.workers().items:
        assert (info.busy, list(info.run_ids)) == (0, []), f"{info.name} has slots in use"
    with world.database() as database:
        for question in (
            "SELECT run_id, number, state FROM attempts WHERE state <> 'ended'",
            "SELECT run_id, number FROM attempts WHERE lease_expires_at IS NOT NULL",
            "SELECT run_id, kind FROM controls WHERE state = 'pending'",
            "SELECT id, status FROM runs WHERE status NOT IN ('succeeded', 'failed', 'cancelled')",
        ):
            assert database.execute(question.encode()).fetchall() == [], question
        queues = [f"worker-{identifier}" for (identifier,) in database.execute(b"SELECT id FROM workers")]
    path = world.broker_url.removeprefix("redis+socket://").split("?")[0]
    with redis.Redis(unix_socket_path=path) as broker:
        for queue in queues:
            wait_until_taken(broker, queue)


def wait_until_empty(folder: Path) -> None:
    """The worker remembers no attempt."""
    wait_for(lambda: not list(folder.glob("*.json")))


def wait_until_taken(broker: redis.Redis, queue: str) -> None:
    """No message is left in a queue."""
    wait_for(lambda: broker.llen(queue) == 0)


# ---------------------------------------------------------------- records


def course_of(client: Client, run: Submitted) -> Course:
    """What an undisturbed run has to do to equal this one."""
    controls = client.history(run.run_id).controls
    applied = [(each.applied_step, each.set) for each in controls if each.kind == "change" and each.state == "applied"]
    return run.plan.training_seed, json.dumps(sorted(applied, key=lambda each: each[0] or 0))


def undisturbed(courses: set[Course], folder: Path) -> Mapping[Course, Sequence[dict[str, Any]]]:
    """The records of each course, trained without any server."""
    folders = {course: folder / f"undisturbed-{number}" for number, course in enumerate(sorted(courses))}
    for (_, changes), place in folders.items():
        place.mkdir()
        for number, (step, values) in enumerate(json.loads(changes)):
            append_request(place, ControlRequest(id=f"change-{number}", author="nobody", at_step=step, set=values))
    train_one_after_another(
        {place: assignments({"training.seed": seed}) for (seed, _), place in folders.items()},
    )
    return {course: recorded_steps(place) for course, place in folders.items()}


def records_are_those_of(expected: Sequence[dict[str, Any]], client: Client, run: Submitted) -> None:
    """Every record once, and none other; of a stopped run those up to where it stopped."""
    assert run.ended is not None
    for kind in KINDS:
        recorded = essence(all_records(client, run.run_id, kind))
        wanted = [record for record in expected if record["type"] == kind and record["step"] <= run.ended.step]
        assert recorded == sorted(wanted, key=lambda record: record["step"]), f"{run.ended.name}: {kind} records"
    column = client.metrics(run.run_id, keys=["training/global_step"]).columns["training/global_step"]
    seen = [value for value in column if value is not None]
    assert seen == list(range(1, run.ended.step + 1)), f"{run.ended.name}: its series"
    samples = client.samples(run.run_id, step=run.ended.step, limit=50).items
    groups = {(sample["prompt_id"], sample["source"]) for sample in samples}
    assert len(groups) == len(samples) > 0, f"{run.ended.name}: groups of responses are doubled or lost"


def steps_are_those_of(expected: Sequence[dict[str, Any]], client: Client, run: Submitted) -> None:
    """Every step up to the last that was sent."""
    assert run.ended is not None
    wanted = [record for record in expected if record["type"] == "step" and record["step"] <= run.ended.step]
    assert essence(all_records(client, run.run_id, "step")) == wanted, f"{run.ended.name}: steps sent before its end"


# ---------------------------------------------------------------- audit trail and log


def audit_is_consistent(client: Client, run: Submitted) -> None:
    """The moves form one legal way from a draft to where the run is now."""
    assert run.ended is not None
    moves = [entry.detail for entry in client.history(run.run_id).audit if entry.action == "status"]
    status = RunStatus.DRAFT
    for move in moves:
        assert move["from"] == status.value, f"{run.ended.name}: {move} after {status}"
        after = RunStatus(move["to"])
        assert after in LEGAL_MOVES[status], f"{run.ended.name}: {move}"
        status = after
    assert status is run.ended.status, run.ended.name
    attempts = [move["attempt"] for move in moves if move["to"] == RunStatus.STARTING.value]
    assert attempts == list(range(1, run.ended.attempt + 1)), f"{run.ended.name}: attempts {attempts}"


def log_is_whole(world: World, client: Client, run: Submitted) -> None:
    """Every line that a trainer printed is there once."""
    assert run.ended is not None
    written: list[str] = []
    for path in sorted((world.stack.folder / "runs" / run.run_id).glob("attempt-*/trainer.log")):
        # A last line that its trainer did not finish is none.
        written += path.read_text(errors="replace").split("\n")[:-1]
    stored, offset = "", 0
    while (piece := client.log(run.run_id, offset=offset)).text:
        stored, offset = stored + piece.text, piece.next_offset
    assert sorted(stored.split("\n")[:-1]) == sorted(written), f"{run.ended.name}: its log"
