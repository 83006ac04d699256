"""A config is resolved once, when its run is submitted, and from there carried as it is."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from backend.kit.database import Database
from bapo.api.runs import RunStatus
from bapo.api.workers import Claim
from bapo.client import Client
from bapo.config import parse_config, resolve
from bapo.config.resolve import config_digest
from bapo.run import trainer
from bapo.run.control import ControlRequest, append_request
from bapo.run.run_folder import CONFIG_FILE, read_config
from tests.support.fake_worker import FakeWorker
from tests.support.services import wait_until
from tests.support.simulated_trainer import train
from tests.support.small_runs import events
from tests.support.stack import submit
from worker.attempts import Attempt, AttemptStore
from worker.supervision import AttemptSupervisor

pytestmark = pytest.mark.usefixtures("simulated_engine")

LONG = {"training.steps": 100_000, "training.checkpoint_interval": 100_000}
ONE_UPDATE = {"method.type": "gspo", "training.mini_batch_size": None}
"""Legal, and warned of: with one update per step GSPO is GRPO."""

Calls = Counter[str]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """The calls of `resolve` and `parse_config` by the server, the worker and a trainer in this process."""
    counted: Calls = Counter()

    def counting(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def called(*given: Any, **named: Any) -> Any:
            counted[function.__name__] += 1
            return function(*given, **named)

        return called

    for function in (resolve, parse_config):
        called = counting(function)
        for module in list(sys.modules.values()):
            if vars(module).get(function.__name__) is function:
                monkeypatch.setattr(module, function.__name__, called)
    return counted


def supervised(worker: FakeWorker, claim: Claim, folder: Path) -> AttemptSupervisor:
    attempt = Attempt(run_id=claim.run_id, number=1, fencing_token=claim.fencing_token, run_folder=folder / "run")
    return AttemptSupervisor(worker.client, AttemptStore(folder / "attempts"), attempt, claim)


@contextmanager
def first_step(worker: FakeWorker, claim: Claim, folder: Path) -> Iterator[None]:
    """Train a claimed run in `folder/run` until after its first step, and stop it at the end."""
    supervisor = supervised(worker, claim, folder)
    with worker.beating():
        supervisor.start()
        wait_until(lambda: supervisor.step >= 1)
        yield
        supervisor.shut_down()
        supervisor.join()


def test_a_config_is_resolved_once_from_its_submission_to_the_first_step(
    worker: FakeWorker, admin: Client, tmp_path: Path, calls: Calls
) -> None:
    run_id = submit(admin, "counted", **LONG, **ONE_UPDATE)
    # The recipe is parsed to tell what differs from it.
    assert calls == {"resolve": 1, "parse_config": 2}

    calls.clear()
    with first_step(worker, worker.claim(run_id), tmp_path):
        assert calls == {"parse_config": 1}

    calls.clear()
    folder = tmp_path / "trained here"
    folder.mkdir()
    (folder / CONFIG_FILE).write_bytes((tmp_path / "run" / CONFIG_FILE).read_bytes())
    append_request(folder, ControlRequest(id="end", author="a test", at_step=2, stop=True))
    assert trainer.main([str(folder), "--attempt", "1"], run=train) == trainer.EXIT_STOPPED
    assert calls == {"parse_config": 1}
    for each in (folder, tmp_path / "run"):
        assert "mini_batch_size" in events(each, "warning")[0].message


def test_the_config_arrives_in_the_run_folder_as_it_was_checked(
    worker: FakeWorker, admin: Client, tmp_path: Path
) -> None:
    run_id = submit(admin, "carried", **LONG)
    claim = worker.claim(run_id)
    assert claim.config == admin.run(run_id).config
    assert claim.config_digest == config_digest(claim.config)
    with first_step(worker, claim, tmp_path):
        carried = read_config(tmp_path / "run").model_dump(mode="json")
    assert config_digest(carried) == claim.config_digest


def test_a_config_that_was_changed_after_its_submission_is_not_trained(
    database: Database, worker: FakeWorker, admin: Client, tmp_path: Path
) -> None:
    run_id = submit(admin, "changed", **LONG)
    changed = "UPDATE runs SET config = jsonb_set(config::jsonb, '{training,seed}', '7')::json WHERE id = :id"
    with database.engine.begin() as connection:
        connection.execute(text(changed), {"id": run_id})
    supervisor = supervised(worker, worker.claim(run_id), tmp_path)
    with worker.beating():
        supervisor.start()
        supervisor.join()
    run = admin.run(run_id)
    assert run.status is RunStatus.FAILED
    assert run.status_reason is not None
    assert run.status_reason.startswith("config_digest = ")
    assert "clone the run to check it again" in run.status_reason
    assert not (tmp_path / "run" / CONFIG_FILE).exists()


def test_a_claim_of_an_earlier_server_is_trained_without_a_digest(
    worker: FakeWorker, admin: Client, tmp_path: Path
) -> None:
    claim = worker.claim(submit(admin, "earlier", **LONG))
    with first_step(worker, claim.model_copy(update={"config_digest": None}), tmp_path):
        assert read_config(tmp_path / "run").model_dump(mode="json") == claim.config
