"""What the faults happen to: `bapo up`, a second worker behind a network of its own, and a clock that can jump."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
import psutil
import psycopg

from bapo.client import ApiError, Client
from bapo.client.call import Call
from bapo.deploy.up.folder import DataFolder
from bapo.deploy.up.postgres import EmbeddedPostgres
from bapo.deploy.up.redis import EmbeddedRedis
from tests.chaos.clock import Clock, DatabaseClock
from tests.chaos.proxy import Proxy
from tests.support.disks import mount_read_only
from tests.support.stack import PATIENCE_SECONDS, Stack, wait_for

T = TypeVar("T")

LEASE_SECONDS = 4.0
SETTINGS = {
    "BAPO_LEASE_SECONDS": str(LEASE_SECONDS),
    "BAPO_MAX_ATTEMPTS_WITHOUT_PROGRESS": "25",
    # After a full disk a run waits six times as long.
    "BAPO_RETRY_DELAY_SECONDS": "1",
}
LOCAL, REMOTE = "local", "remote"


class PatientClient(Client):
    """Asks again until there is an answer."""

    def send(self, call: Call[T]) -> T:
        """Make one call of the table."""

        def answer() -> tuple[T] | None:
            try:
                return (super(PatientClient, self).send(call),)
            except httpx.TransportError:
                return None
            except ApiError as error:
                if error.status >= 500:
                    return None
                raise

        (value,) = wait_for(answer)
        return value


def is_alive(process: psutil.Process) -> bool:
    """Whether it runs and is no zombie."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def kill(process: psutil.Process) -> None:
    """SIGKILL, and wait for its effect; of one that has ended meanwhile, nothing."""
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return
    wait_for(lambda: not is_alive(process))


class World:
    """The stack of a chaos run."""

    def __init__(self, stack: Stack, clock: Clock | None = None) -> None:
        """`clock`: the one that jumps; the database's unless another is given."""
        self.stack = stack
        self._clock = clock or DatabaseClock()
        self.proxy = Proxy("127.0.0.1", stack.port)
        self.deleted: set[str] = set()
        """Runs whose folder was deleted under them."""
        self._remote: subprocess.Popen[bytes] | None = None
        self._began = time.monotonic()
        folder = DataFolder(stack.folder)
        self.broker_url = EmbeddedRedis(folder).url
        self._database_url = EmbeddedPostgres(folder).url.replace("postgresql+psycopg://", "postgresql://", 1)

    def say(self, message: str) -> None:
        """One line of the protocol, with the seconds since the beginning."""
        print(f"{time.monotonic() - self._began:7.1f} s  {message}", flush=True)

    def start(self) -> None:
        """Everything up, with the clock in place."""
        self._start_stack()
        with self.database() as database:
            self._clock.install(database)
        if self._clock.begins_with_sessions:
            kill(self.stack.service("backend"))
        with self.client() as client:
            client.workers()
        self.start_remote()

    def restart(self) -> None:
        """Start again what was killed together with `bapo up` itself."""
        self._start_stack()

    def _start_stack(self) -> None:
        self.stack.start("--no-demo", "--slots", "2", **SETTINGS, **self._clock.environment)

    def client(self) -> Client:
        """The administrator's, for a server that comes and goes."""
        token = (self.stack.folder / "admin-token").read_text().strip()
        return PatientClient(self.stack.url, token=token, timeout_seconds=10)

    @contextmanager
    def database(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection to the database, waited for."""

        def connected() -> psycopg.Connection[Any] | None:
            try:
                return psycopg.connect(self._database_url, autocommit=True, connect_timeout=5)
            except psycopg.OperationalError:
                return None

        with wait_for(connected) as connection:
            yield connection

    # ------------------------------------------------------------ processes

    def start_remote(self) -> None:
        """The worker that reaches the server through the network."""
        log = (self.stack.folder / "logs" / "remote.log").open("ab")
        with log:
            self._remote = subprocess.Popen(
                [
                    *(sys.executable, "-m", "worker", "run", "--server", self.proxy.url, "--name", REMOTE),
                    *("--token-file", str(self.stack.folder / "worker-token")),
                    *("--folder", str(self.folder_of(REMOTE))),
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "OMP_NUM_THREADS": "1", **self._clock.environment},
            )

    def supervise(self) -> None:
        """Start the remote worker again where it has ended."""
        if self._remote is not None and self._remote.poll() is not None:
            self.say(f"the remote worker ended with {self._remote.returncode}: started again")
            self.start_remote()

    def stop_remote(self) -> int:
        """Let it go."""
        assert self._remote is not None
        remote, self._remote = self._remote, None
        remote.terminate()
        return remote.wait(PATIENCE_SECONDS)

    def folder_of(self, worker: str) -> Path:
        """What a worker keeps."""
        return self.stack.folder / ("worker" if worker == LOCAL else "remote-worker")

    def worker(self, which: str) -> psutil.Process | None:
        """A worker's process, where it runs."""
        if which == REMOTE:
            return psutil.Process(self._remote.pid) if self._remote and self._remote.poll() is None else None
        return self.service("worker")

    def service(self, name: str) -> psutil.Process | None:
        """A child of `bapo up`; None while it is being started again."""
        try:
            process = self.stack.service(name)
        except (StopIteration, psutil.NoSuchProcess):
            return None
        return process if is_alive(process) else None

    def trainers(self) -> list[psutil.Process]:
        """Every trainer at work here."""
        prefix = ["-m", "bapo.run.trainer"]
        return [process for process in self.stack.processes() if _arguments(process)[1:3] == prefix]

    # ------------------------------------------------------------ clock and disk

    def move_clock(self, seconds: float) -> None:
        """Let the clock jump."""
        with self.database() as database:
            self._clock.move(database, seconds)


def run_folder_of(trainer: psutil.Process) -> Path | None:
    """The folder of the run that a trainer trains; None where it has ended."""
    arguments = _arguments(trainer)
    return Path(arguments[3]) if len(arguments) > 3 else None


def make_read_only(folder: Path) -> Callable[[], None]:
    """Let nothing be made in a folder, and return what lets it again.

    Permissions do so for everybody but root, and a mount for root; what is open stays open.
    """
    folders = [folder, *(each for each in folder.rglob("*") if each.is_dir())]
    for each in folders:
        each.chmod(0o555)
    is_mounted = os.geteuid() == 0 and mount_read_only(folder)

    def undo() -> None:
        if is_mounted:
            # Lazily: somebody may be in it.
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
        for each in folders:
            # A checkpoint may have gone since.
            if each.exists():
                each.chmod(0o755)

    return undo


def _arguments(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []


def family(process: psutil.Process) -> list[psutil.Process]:
    """A process and all beneath it."""
    try:
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def limit_files(processes: Sequence[psutil.Process], num_bytes: int | None) -> None:
    """Let no file of these processes grow beyond a size: what they write fails as on a full disk. None: any size."""
    limit = "unlimited" if num_bytes is None else str(num_bytes)
    for process in processes:
        try:
            owner = process.uids().real
        except psutil.NoSuchProcess:
            continue
        # As their own account: PostgreSQL's is another one where we are root. One that has ended needs no limit.
        command = ["prlimit", "--pid", str(process.pid), f"--fsize={limit}:"]
        subprocess.run(command, capture_output=True, check=False, user=owner if owner != os.geteuid() else None)
