"""The detached trainer: started, found again, signalled, and what its end means."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from bapo.records import EventRecord
from bapo.run import zygote_client
from bapo.run.journal import Journal
from bapo.run.trainer_process import TrainerProcess
from bapo.run.zygote_client import Zygote
from tests.support.command_line import main_here
from tests.support.simulated_training import ZYGOTE, simulated_training
from tests.support.waiting import PATIENCE_SECONDS, wait_until
from worker.__main__ import main
from worker.attempts import Attempt, AttemptStore, Ending
from worker.trainer_process import ending_of, find_trainer, start_trainer_of, trainers_of


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    return Attempt(run_id="run-1", number=1, fencing_token=7, run_folder=tmp_path / "run-1")


@pytest.fixture(scope="module", autouse=True)
def _simulated() -> Iterator[None]:
    with simulated_training():
        yield


@pytest.fixture(params=["a process of its own", "forked"], scope="module")
def zygote(request: pytest.FixtureRequest) -> Iterator[Zygote | None]:
    with closing(Zygote()) as zygote:
        yield zygote if request.param == "forked" else None


def event(name: str, message: str) -> EventRecord:
    return EventRecord.model_validate({"attempt": 1, "step": 0, "event": name, "message": message})


def test_a_trainer_without_a_config_fails_with_its_message(attempt: Attempt, zygote: Zygote | None) -> None:
    trainer = start_trainer_of(attempt, threads=1, zygote=zygote)
    assert psutil.Process(trainer.pid).pid == os.getpgid(trainer.pid)
    wait_until(lambda: not trainer.is_running())
    assert trainer.exit_code == 2
    ending = ending_of(attempt, trainer.exit_code)
    assert ending.status == "failed"
    assert "it holds no config.json" in (ending.reason or "")


def test_a_killed_trainer_is_lost_and_tried_again(attempt: Attempt, zygote: Zygote | None) -> None:
    trainer = start_trainer_of(attempt, threads=1, zygote=zygote)
    trainer.kill()
    wait_until(lambda: not trainer.is_running())
    assert ending_of(attempt, trainer.exit_code) == Ending(status="lost", reason="the trainer was ended by SIGKILL")


def _waiting(attempt: Attempt, number: int) -> Attempt:
    """An attempt whose trainer waits: its log is a pipe that nobody reads."""
    made = attempt.model_copy(update={"number": number})
    made.folder.mkdir(parents=True)
    os.mkfifo(made.folder / "trainer.log")
    return made


def _zygote_of(trainer: TrainerProcess) -> psutil.Process:
    parent = psutil.Process(trainer.pid).parent()
    assert parent is not None
    assert parent.cmdline()[1:] == ["-m", ZYGOTE]
    return parent


def _end(trainer: TrainerProcess) -> int | None:
    trainer.kill()
    wait_until(lambda: not trainer.is_running())
    return trainer.exit_code


def test_a_trainer_outlives_the_process_that_forked_it(attempt: Attempt) -> None:
    first, second = (_waiting(attempt, number) for number in (1, 2))
    with closing(Zygote()) as zygote:
        trainer = start_trainer_of(first, threads=1, zygote=zygote)
        parent = _zygote_of(trainer)
        parent.kill()
        parent.wait()
        assert (trainer.is_running(), trainer.exit_code) == (True, None)
        other = start_trainer_of(second, threads=1, zygote=zygote)
        assert _zygote_of(other) != parent
        assert _end(other) == -signal.SIGKILL
    assert ending_of(attempt, _end(trainer)).reason == "the trainer is gone without a summary"


def test_a_zygote_without_trainers_ends_in_time_and_another_takes_its_place(attempt: Attempt) -> None:
    first, second, third = (_waiting(attempt, number) for number in (1, 2, 3))
    with closing(Zygote()) as zygote:
        trainer = start_trainer_of(first, threads=1, zygote=zygote)
        parent = _zygote_of(trainer)
        # Its time is up, but it has a trainer.
        parent.send_signal(signal.SIGALRM)
        other = start_trainer_of(second, threads=1, zygote=zygote)
        assert _zygote_of(other) == parent
        assert [_end(each) for each in (trainer, other)] == [-signal.SIGKILL] * 2
        parent.send_signal(signal.SIGALRM)
        parent.wait()
        last = start_trainer_of(third, threads=1, zygote=zygote)
        assert _zygote_of(last) != parent
        _end(last)


def test_where_nothing_can_be_forked_a_trainer_has_a_process_of_its_own(attempt: Attempt, tmp_path: Path) -> None:
    with closing(Zygote()) as zygote, pytest.MonkeyPatch.context() as patch:
        patch.setattr(zygote_client, "MODULE", "bapo.run.zygote")
        # PyTorch cannot be imported.
        (tmp_path / "torch.py").write_text("raise ImportError('broken')")
        patch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{Path.cwd()}")
        trainer = start_trainer_of(attempt, threads=1, zygote=zygote)
        assert psutil.Process(trainer.pid).ppid() == os.getpid()
        wait_until(lambda: not trainer.is_running())
    assert trainer.exit_code == 2


def test_a_trainer_is_found_again_by_its_id_and_start_time(attempt: Attempt, zygote: Zygote | None) -> None:
    trainer = start_trainer_of(attempt, threads=1, zygote=zygote)
    known = attempt.model_copy(update={"pid": trainer.pid, "created": trainer.created})
    found = find_trainer(known)
    assert found is not None
    assert found.pid == trainer.pid
    assert find_trainer(known.model_copy(update={"created": trainer.created - 5})) is None
    trainer.kill()
    wait_until(lambda: not trainer.is_running())
    assert find_trainer(known) is None


def test_a_trainer_whose_id_was_never_written_down_is_found_by_its_arguments(attempt: Attempt) -> None:
    trainer = start_trainer_of(attempt, threads=1)
    wait_until(lambda: find_trainer(attempt) is not None)
    found = find_trainer(attempt)
    assert found is not None
    assert found.pid == trainer.pid
    assert find_trainer(attempt.model_copy(update={"number": 2})) is None
    found.kill()
    assert not found.is_running() or trainer.exit_code is None
    wait_until(lambda: not trainer.is_running())


def test_trainers_of_a_folder_are_found_whoever_started_them(attempt: Attempt) -> None:
    trainer = start_trainer_of(attempt, threads=1)
    wait_until(lambda: bool(trainers_of(attempt.run_folder)))
    assert [each.pid for each in trainers_of(attempt.run_folder)] == [trainer.pid]
    assert trainers_of(attempt.run_folder / "other") == []
    trainer.kill()
    wait_until(lambda: not trainer.is_running())
    assert trainers_of(attempt.run_folder) == []


def test_the_trainer_sees_the_folder_of_models_and_none_of_our_secrets(
    attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAPO_WORKER_TOKEN", "secret")
    monkeypatch.setenv("BAPO_MODELS_DIR", "models")
    trainer = start_trainer_of(attempt, threads=3)
    # Empty for a moment while the program is being loaded.
    while not (environment := psutil.Process(trainer.pid).environ()):
        pass
    trainer.kill()
    wait_until(lambda: not trainer.is_running())
    assert [name for name in environment if name.startswith("BAPO_")] == ["BAPO_MODELS_DIR"]
    assert environment["OMP_NUM_THREADS"] == "3"


@pytest.mark.parametrize("status", ["succeeded", "stopped"])
def test_a_summary_says_how_an_adopted_trainer_ended(attempt: Attempt, status: str) -> None:
    attempt.folder.mkdir(parents=True)
    (attempt.folder / "summary.json").write_text(json.dumps({"status": status}))
    assert ending_of(attempt, None).status == status


def test_a_recorded_failure_is_the_reason(attempt: Attempt) -> None:
    journal = Journal(attempt.folder)
    journal.write(event("started", "go"))
    journal.write(event("failed", "ValueError: no"))
    journal.close()
    assert ending_of(attempt, None) == Ending(status="failed", reason="ValueError: no")


def test_a_trainer_that_could_not_write_is_tried_again(attempt: Attempt) -> None:
    failed = {"attempt": 1, "step": 3, "event": "failed", "message": "CheckpointError: no space left on device"}
    journal = Journal(attempt.folder)
    journal.write(EventRecord.model_validate({**failed, "data": {"bad_input": False, "cannot_write": True}}))
    journal.close()
    assert ending_of(attempt, 4) == Ending(
        status="lost", reason="CheckpointError: no space left on device", cannot_write=True
    )


def test_the_exit_code_says_so_where_the_journal_could_not(attempt: Attempt) -> None:
    attempt.folder.mkdir(parents=True)
    (attempt.folder / "trainer.log").write_text("JournalError: no space left on device\n")
    assert ending_of(attempt, 4) == Ending(
        status="lost", reason="JournalError: no space left on device", cannot_write=True
    )
    assert ending_of(attempt, 1).status == "failed"


def test_a_journal_that_just_ends_means_lost(attempt: Attempt) -> None:
    journal = Journal(attempt.folder)
    journal.write(event("started", "go"))
    journal.close()
    assert ending_of(attempt, None) == Ending(status="lost", reason="the trainer is gone without a summary")


def test_an_exit_code_without_a_record_is_explained_by_the_log(attempt: Attempt) -> None:
    attempt.folder.mkdir(parents=True)
    (attempt.folder / "trainer.log").write_text("Traceback\nMemoryError: too much\n\n")
    assert ending_of(attempt, 1) == Ending(status="failed", reason="MemoryError: too much")


def test_attempts_outlive_the_worker(tmp_path: Path, attempt: Attempt) -> None:
    store = AttemptStore(tmp_path / "attempts")
    other = attempt.model_copy(update={"number": 2, "ending": Ending(status="lost", reason="x")})
    store.save(attempt)
    store.save(other)
    assert list(AttemptStore(tmp_path / "attempts").all()) == [attempt, other]
    store.forget(attempt)
    assert list(store.all()) == [other]


def worker_here(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return main_here(main, "run", "--server", "http://127.0.0.1:9", "--folder", str(folder), *arguments)


def test_a_second_worker_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("t")
    arguments = ["run", "--server", "http://127.0.0.1:9", "--token-file", str(token), "--folder", str(tmp_path)]
    with subprocess.Popen([sys.executable, "-m", "worker", *arguments], stderr=subprocess.PIPE, text=True) as first:
        assert first.stderr is not None
        assert "cannot be reached" in first.stderr.readline()
        second = worker_here(tmp_path, "--token-file", str(token))
        first.terminate()
        assert first.wait(PATIENCE_SECONDS) == 0
    assert second.returncode == 1
    assert "another worker uses" in second.stderr
    assert len(second.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--slots", "0", "--token-file", "/dev/null"], "BAPO_WORKER_SLOTS = 0: must be at least 1"),
        (["--token-file", "/nowhere/token"], "/nowhere/token cannot be read"),
        ([], "a worker token is needed"),
    ],
)
def test_wrong_options_are_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    result = worker_here(tmp_path, *arguments)
    assert result.returncode in (1, 2)
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
