"""The examples for Slurm, whose script runs here without Slurm, and for SkyPilot, whose task is validated."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import psutil
import pytest
import yaml
from pydantic import BaseModel, ConfigDict, StringConstraints

from bapo.api.runs import RunStatus
from bapo.deploy.settings import known_variables, variable_of
from bapo.run.checkpoint import CHECKPOINTS_FOLDER, checkpoint_name
from tests.support.compose import ROOT
from tests.support.services import BackendServer, new_database, running_backend, wait_until
from tests.support.simulated_engine import PACE_VARIABLE
from tests.support.stack import submit
from worker.settings import WorkerSettings
from worker.supervision import REPORT_GRACE_SECONDS

EXAMPLES = ROOT / "examples"
SBATCH = EXAMPLES / "slurm" / "worker.sbatch"
STOP_SECONDS: float = WorkerSettings.model_fields["stop_limit_seconds"].default + REPORT_GRACE_SECONDS
"""What a worker may take from SIGTERM to its end."""

# ---------------------------------------------------------------- Slurm


def test_the_script_asks_for_a_signal_in_time_and_to_be_requeued() -> None:
    subprocess.run(["bash", "-n", SBATCH], check=True)
    options = re.findall(r"^#SBATCH (\S+)$", SBATCH.read_text(), re.MULTILINE)
    assert "--requeue" in options
    (lead,) = (int(option.removeprefix("--signal=B:TERM@")) for option in options if option.startswith("--signal"))
    # Slurm may send it up to 60 s early, never late.
    assert lead >= STOP_SECONDS + 60


def test_the_settings_of_the_script_are_known_and_hold_no_secret() -> None:
    text = (SBATCH.parent / "worker.env").read_text()
    names = re.findall(r"^(\w+)=", text, re.MULTILINE)
    known = {variable_of(field) for field in WorkerSettings.model_fields}
    assert {name for name in names if name.startswith("BAPO_")} <= known
    # Address and token are all that it takes.
    assert not {"BAPO_WORKER_TOKEN", "BAPO_BROKER_URL"} & set(names)


@dataclass
class Job:
    """The script as a job, with stand-ins for Slurm's commands."""

    folder: Path
    environment: dict[str, str]

    @property
    def settings(self) -> Path:
        return self.folder / "worker.env"

    @property
    def requests(self) -> list[str]:
        """What was asked of `scontrol`."""
        path = self.folder / "requests"
        return path.read_text().splitlines() if path.exists() else []

    def program(self, name: str, script: str) -> Path:
        """A program of this name on the search path."""
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)
        return path

    def runs_worker(self, script: str) -> None:
        """Lets a shell script stand in for the worker."""
        self.environment["WORKER_COMMAND"] = str(self.program("stand-in", script))

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["bash", SBATCH, self.settings], env=self.environment, stderr=subprocess.PIPE, text=True, cwd=self.folder
        )

    def run(self) -> tuple[int, str]:
        """Exit status and what it said."""
        with self.start() as process:
            _, said = process.communicate(timeout=60)
            return process.returncode, said


@pytest.fixture
def job(tmp_path: Path) -> Job:
    (tmp_path / "bin").mkdir()
    (tmp_path / "node").mkdir()
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    keep = {name: value for name, value in os.environ.items() if not name.startswith("BAPO_")}
    slurm = {"SLURM_JOB_ID": "4711", "SLURM_TMPDIR": str(tmp_path / "node")}
    job = Job(tmp_path, {**keep, **slurm, "PATH": path, "HOME": str(tmp_path)})
    job.program("squeue", "echo RUNNING")
    job.program("scontrol", f'echo "$*" >>{tmp_path}/requests')
    job.settings.touch(0o600)
    return job


@contextmanager
def started(job: Job) -> Iterator[subprocess.Popen[str]]:
    process = job.start()
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


STAND_IN = """
trap 'touch told; until [ -e written ]; do sleep 0.05; done; exit "$(cat written)"' TERM
touch ready
while :; do sleep 0.05; done
"""
"""Tells that the signal came, and ends with the status in the file `written` once there is one."""


def end_by_signal(job: Job, status: int, script: str = STAND_IN) -> tuple[int, str]:
    """Exit status of the script and what it said, of a worker that ends with `status` some time after SIGTERM."""
    job.runs_worker(script)
    with started(job) as process:
        scratch = job.folder / "node" / "bapo-4711"
        wait_until((scratch / "ready").exists)
        process.send_signal(signal.SIGTERM)
        wait_until((scratch / "told").exists)
        # Slurm may repeat itself. The script waits on.
        process.send_signal(signal.SIGTERM)
        assert process.poll() is None
        assert job.requests == []
        (scratch / "written").write_text(str(status))
        _, said = process.communicate(timeout=60)
        return process.returncode, said


def test_the_worker_gets_the_signal_and_its_time_and_the_job_is_requeued(job: Job) -> None:
    assert end_by_signal(job, 0) == (0, "")
    assert job.requests == ["requeue 4711"]


def test_a_job_that_was_cancelled_does_not_come_back(job: Job) -> None:
    job.program("squeue", "echo COMPLETING")
    assert end_by_signal(job, 0) == (0, "")
    assert job.requests == []


def test_a_requeue_that_slurm_refuses_is_told(job: Job) -> None:
    job.program("scontrol", "exit 1")
    assert end_by_signal(job, 0) == (1, "bapo: Slurm does not requeue job 4711: submit it again\n")


def test_a_worker_that_fails_is_not_requeued(job: Job) -> None:
    assert end_by_signal(job, 1)[0] == 1
    assert job.requests == []


@pytest.mark.parametrize("status", [0, 1, 2])
def test_a_worker_that_ends_by_itself_ends_the_job(job: Job, status: int) -> None:
    job.runs_worker(f"exit {status}")
    assert job.run() == (status, "")
    assert job.requests == []


def test_a_worker_with_a_failed_thread_is_started_again(job: Job) -> None:
    job.runs_worker("[ -e again ] && exit 3; touch again; exit 70")
    assert job.run() == (3, "bapo: starting the worker again\n")


def test_the_worker_has_its_name_and_folders_of_its_own_on_the_node(job: Job) -> None:
    job.runs_worker('printf "%s\\n" "$BAPO_WORKER_NAME" "$BAPO_WORKER_FOLDER" "$TMPDIR" "$GIVEN" >&2; ls -d "$TMPDIR"')
    job.settings.write_text("GIVEN='a b'\n")
    scratch = job.folder / "node" / "bapo-4711"
    name, folder, temporary, given = job.run()[1].splitlines()
    assert (name, folder, temporary, given) == ("slurm-4711", str(scratch / "worker"), str(scratch / "tmp"), "a b")
    assert scratch.stat().st_mode & 0o077 == 0
    assert not (scratch / "tmp").exists()


def test_the_worker_is_told_the_time_limit_of_the_job(job: Job) -> None:
    job.runs_worker('printf "%s\\n" "$BAPO_DRAIN_BEFORE" >&2')
    job.environment["SLURM_JOB_END_TIME"] = "1795460400"
    assert job.run() == (0, "1795460400\n")


def test_settings_that_others_may_read_are_refused(job: Job) -> None:
    job.settings.chmod(0o640)
    assert job.run() == (
        2,
        f"bapo: {job.settings} holds secrets and others may read it: chmod 600 {job.settings}\n",
    )
    job.settings.unlink()
    assert job.run() == (2, f"bapo: no settings in {job.settings}: copy worker.env there and fill it in\n")
    del job.environment["SLURM_JOB_ID"]
    assert job.run()[0] == 2


@pytest.fixture
def server(postgres_server: str, tmp_path: Path) -> Iterator[BackendServer]:
    with new_database(postgres_server) as url, running_backend(url, tmp_path, runs_dir_shared=True) as server:
        yield server


@pytest.mark.timeout(300)
def test_a_run_survives_the_time_limit_of_its_job(job: Job, server: BackendServer) -> None:
    # Read as the script reads it: by bash, so that the values reach the worker by the environment only.
    job.settings.write_text(
        f"BAPO_SERVER_URL={server.url}\nBAPO_WORKER_TOKEN={server.worker_token}\nPYTHONPATH={ROOT}\n"
        f"WORKER_COMMAND='{sys.executable} -m tests.support.simulated_worker run'\n{PACE_VARIABLE}=0.2\n"
    )
    with server.client() as client:
        # No checkpoint is due: only the signal writes one.
        run_id = submit(client, "preempted", **{"training.steps": 100_000, "training.checkpoint_interval": 100_000})

        def step() -> int:
            return client.run(run_id).step

        with started(job) as process:
            wait_until(lambda: step() >= 3)
            wait_until(lambda: client.run(run_id).stop_seconds is not None)
            commands = [part for each in psutil.Process(process.pid).children(True) for part in each.cmdline()]
            assert "tests.support.simulated_trainer" in commands
            assert not any(server.worker_token in part for part in commands)
            process.send_signal(signal.SIGTERM)
            assert process.wait(STOP_SECONDS + 30) == 0
        assert job.requests == ["requeue 4711"]
        returned = client.run(run_id)
        assert (returned.status, returned.stop_seconds) == (RunStatus.QUEUED, None)
        assert (server.settings.runs_dir / run_id / CHECKPOINTS_FOLDER / checkpoint_name(returned.step)).is_dir()

        with started(job) as process:
            wait_until(lambda: step() > returned.step)
            resumed = client.run(run_id)
            assert (resumed.attempt, resumed.worker) == (2, "slurm-4711")
            client.stop(run_id, "now")
            wait_until(lambda: client.run(run_id).status is RunStatus.CANCELLED)
            process.send_signal(signal.SIGTERM)
            assert process.wait(STOP_SECONDS + 30) == 0


# ---------------------------------------------------------------- SkyPilot


class Fields(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Machine(Fields):
    accelerators: Annotated[str, StringConstraints(pattern=r"^[\w-]+:\d+$")]
    cpus: Annotated[str, StringConstraints(pattern=r"^\d+\+?$")]
    memory: Annotated[str, StringConstraints(pattern=r"^\d+\+?$")]
    disk_size: int
    use_spot: bool


class Task(Fields):
    """The fields of docs.skypilot.co, "SkyPilot YAML", that the example uses."""

    name: str
    workdir: str
    resources: Machine
    envs: dict[str, str]
    secrets: dict[str, None]
    setup: str
    run: str


def test_the_task_for_skypilot_starts_a_worker_with_its_settings(tmp_path: Path) -> None:
    task = Task.model_validate(yaml.safe_load((EXAMPLES / "skypilot.yaml").read_text()))
    for script in (task.setup, task.run):
        subprocess.run(["bash", "-n", "-c", script], check=True)
    # The end of the script run for real, with a stand-in for the Python of the machine.
    python = tmp_path / "bapo-venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "$@"\nenv\n')
    python.chmod(0o755)
    secrets = dict.fromkeys(task.secrets, "s3cret/")
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], **task.envs, **secrets}
    done = subprocess.run(
        ["bash", "-c", task.run], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    command, *lines = done.stdout.splitlines()
    assert command == "-m worker run"
    given = dict(line.split("=", 1) for line in lines if line.startswith("BAPO_"))
    assert set(given) <= known_variables()
    settings = {name: value for name, value in given.items() if name != "BAPO_VERL_PYTHON"}
    fields = {variable_of(field): field for field in WorkerSettings.model_fields}
    loaded = WorkerSettings.model_validate({fields[name]: value for name, value in settings.items()})
    assert (loaded.server_url, loaded.worker_token) == (task.envs["BAPO_SERVER_URL"], "s3cret/")
    assert loaded.broker_url == ""
