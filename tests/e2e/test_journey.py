"""One way through the product, on one server: start, train, watch, kill, pause, back up, restore, stop."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from bapo.api.runs import RunDetail, RunStatus
from bapo.client import Client
from tests.support.command_line import run_here
from tests.support.gates import Gate
from tests.support.stack import (
    ANSWER_SECONDS,
    NUM_STEPS,
    Stack,
    all_records,
    assert_equal_to_undisturbed,
    at_step,
    ended,
    recorded_steps,
    submit,
    wait_for,
)

pytestmark = [pytest.mark.e2e, pytest.mark.core]


@pytest.fixture
def gates(tmp_path: Path) -> Iterator[Callable[[str, int], Gate]]:
    """Make gates for trainings, and open them all at the end."""
    made: list[Gate] = []

    def make(name: str, num_responses: int) -> Gate:
        made.append(Gate(tmp_path / name, num_responses))
        return made[-1]

    yield make
    for gate in made:
        gate.open()


@contextmanager
def logged_in(stack: Stack) -> Iterator[httpx.Client]:
    """Open a browser by the link of `bapo up`, which logs in once and then no more."""
    link = re.search(r"(http://\S+/login\?code=\S+)", stack.output)
    assert link is not None
    with httpx.Client(base_url=stack.url, follow_redirects=True, timeout=ANSWER_SECONDS) as browser:
        page = browser.get(link[1])
        assert (page.status_code, page.url.path) == (200, "/runs")
        with httpx.Client(follow_redirects=True, timeout=ANSWER_SECONDS) as other:
            assert other.get(link[1]).url.path != "/runs"
        yield browser


def start(stack: Stack, resources: Path) -> None:
    """Start the product with room for two runs, whose verifiers lie in the folder."""
    stack.start("--no-demo", "--slots", "2", BAPO_RESOURCE_ROOTS=str(resources))


def held_at(client: Client, stack: Stack, run_id: str, gate: Gate) -> int:
    """Return the step that the held trainer has completed, once the server has it."""
    gate.wait_until_reached()
    steps = [record for record in recorded_steps(stack.folder / "runs" / run_id) if record["type"] == "step"]
    at_step(client, run_id, len(steps))
    return len(steps)


def assert_the_page_shows(browser: httpx.Client, run: RunDetail, rewards: list[float]) -> None:
    """Ask as an open page of the run does for its last two steps."""
    assert browser.get(f"/runs/{run.id}").status_code == 200
    asked = {"after": str(run.step - 2), "charts": "rewards"}
    news = browser.get(f"/live/runs/{run.id}", params=asked).raise_for_status().json()
    assert (news["progress"]["status"], news["progress"]["step"]) == ("running", str(run.step))
    assert news["until"] == run.step
    # The second trace is that of the batch, the first that of the fresh groups.
    assert news["charts"]["rewards"]["x"][1] == [run.step - 1, run.step]
    assert news["charts"]["rewards"]["y"][1] == pytest.approx(rewards[-2:])


def assert_nothing_is_left(stack: Stack) -> None:
    """Stop the product as Ctrl-C does."""
    assert stack.stop() == 0
    assert stack.processes() == []


def test_from_the_first_start_to_a_restored_backup(
    make_stack: Callable[[], Stack],
    gates: Callable[[str, int], Gate],
    undisturbed_records: list[dict[str, Any]],
    tmp_path: Path,
) -> None:
    stack, copy = make_stack(), make_stack()
    start(stack, tmp_path)
    assert stat.S_IMODE((stack.folder / "admin-token").stat().st_mode) == 0o600
    # A step rolls out 12 prompts with 4 responses each, and some more: the gates are between two checkpoints.
    late, early = gates("late", 1_300), gates("early", 500)
    with stack.client() as client, logged_in(stack) as browser:
        killed = submit(client, "killed", **{"task.verifier": late.register(client)})
        paused = submit(client, "paused", **{"task.verifier": early.register(client)})

        # Both train at once, and the page and the stream of events show how far they are.
        step, early_step = held_at(client, stack, killed, late), held_at(client, stack, paused, early)
        assert 16 < step < 24, "the checkpoint before is that of step 16, and some steps are not in it"
        assert 0 < early_step < 16
        assert {client.run(each).status for each in (killed, paused)} == {RunStatus.RUNNING}
        rewards = [record["reward_mean"] for record in all_records(client, killed, "step")]
        assert_the_page_shows(browser, client.run(killed), rewards)
        stream = client.follow(killed, last_event_id=0)
        heard = [next(stream)]
        while heard[-1].data.get("step") != step or heard[-1].event != "step":
            heard.append(next(stream))

        # A trainer that is killed loses no record: the run continues from its last checkpoint.
        stack.trainer(killed).kill()
        late.open()
        heard += stream
        run = ended(client, killed)
        assert (run.status, run.attempt, run.step) == (RunStatus.SUCCEEDED, 2, NUM_STEPS), run.status_reason
        assert_equal_to_undisturbed(client, killed, undisturbed_records)
        stored = [each.data for each in heard if each.event == "step"]
        assert {step for each in stored for step in range(each["from_step"], each["step"] + 1)} == {
            *range(1, NUM_STEPS + 1)
        }
        assert (heard[-1].event, heard[-1].data["status"]) == ("status", "succeeded")
        assert {record["dataset"] for record in all_records(client, killed, "evaluation")} == {"CD-34", "CD-4"}
        assert client.metrics(killed, ["critic/rewards/mean"]).steps == list(range(1, NUM_STEPS + 1))
        samples = client.samples(killed, step=NUM_STEPS).items
        assert samples

        # A pause ends the trainer at the next step boundary, and frees its place.
        assert client.pause(paused).status is RunStatus.PAUSING
        control = stack.folder / "runs" / paused / "control.jsonl"
        wait_for(lambda: control.exists() and '"stop":true' in control.read_text())
        early.open()
        at_rest = wait_for(lambda: run if (run := client.run(paused)).status is RunStatus.PAUSED else None)
        assert early_step <= at_rest.step <= early_step + 1
        wait_for(lambda: all(worker.busy == 0 for worker in client.workers().items))

        made = run_here("backup", tmp_path / "backup.tar", "--data", stack.folder)
        assert made.returncode == 0, made.stderr
        assert "2 runs" in made.stdout
        history = client.run(killed)
        client.stop(paused)
        assert ended(client, paused).status is RunStatus.CANCELLED
    assert_nothing_is_left(stack)

    # The backup becomes a server on which everything is there, and the paused run continues as it would have.
    restored = run_here("restore", tmp_path / "backup.tar", "--data", copy.folder)
    assert restored.returncode == 0, restored.stderr
    start(copy, tmp_path)
    assert (copy.folder / "admin-token").read_bytes() == (stack.folder / "admin-token").read_bytes()
    with copy.client() as client:
        # The data of a run are measured and looked at again, and more has happened on the server since.
        changing = {"host", "storage_bytes", "last_event_id", "num_findings", "gravest_finding"}
        assert client.run(killed).model_dump(exclude=changing) == history.model_dump(exclude=changing)
        assert_equal_to_undisturbed(client, killed, undisturbed_records)
        assert client.samples(killed, step=NUM_STEPS).items == samples
        assert client.run(paused).status is RunStatus.PAUSED
        client.resume(paused)
        run = ended(client, paused)
        assert (run.status, run.attempt) == (RunStatus.SUCCEEDED, 2), run.status_reason
        assert_equal_to_undisturbed(client, paused, undisturbed_records)
    assert_nothing_is_left(copy)
