"""Each fault: how it is done, and how it is undone where it lasts."""

from __future__ import annotations

import random
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import psutil
from celery import Celery
from kombu.exceptions import OperationalError

from bapo.api.workers import ClaimRequest, WorkerInfo
from bapo.client import ApiError, Client
from bapo.deploy.up.folder import DataFolder
from tests.chaos.proxy import Cut, Network
from tests.chaos.schedule import FAULTS, Fault
from tests.chaos.world import (
    LEASE_SECONDS,
    LOCAL,
    REMOTE,
    World,
    family,
    is_alive,
    kill,
    limit_files,
    make_read_only,
    run_folder_of,
)

Undo = Callable[[], None]
CLOCK_JUMP_SECONDS = 3_600.0
THREE_DAYS_SECONDS = 3 * 86_400.0
"""Longer than what waits for hours and what is kept for a day."""


class NotNowError(Exception):
    """What the fault needs is not there; it is tried again in a moment."""


class Faults:
    """Does faults to a world, and undoes them."""

    def __init__(self, world: World, submit: Callable[[], None]) -> None:
        """`submit` asks for one more run."""
        self._world = world
        self._submit = submit
        self._suspended: set[int] = set()

    def do(self, fault: Fault) -> Undo | None:
        """Do it; returns what ends it. Raises NotNowError where its victim is not there."""
        return _DOINGS[fault.kind](self, fault)

    # ------------------------------------------------------------ processes

    def _kill_trainer(self, fault: Fault) -> None:
        kill(self._a_trainer(fault))

    def _a_trainer(self, fault: Fault) -> psutil.Process:
        trainers = sorted(self._world.trainers(), key=lambda process: process.pid)
        if not trainers:
            raise NotNowError
        return trainers[int(fault.pick * len(trainers))]

    def _damage_checkpoint(self, fault: Fault) -> None:
        trainer = self._a_trainer(fault)
        folder = run_folder_of(trainer)
        if folder is None:
            raise NotNowError
        # Held still, so that nothing newer is written in between.
        trainer.suspend()
        newest = sorted((folder / "checkpoints").glob("step-*/optimizer.safetensors"))
        if newest:
            with newest[-1].open("r+b") as file:
                file.truncate(int(fault.pick * newest[-1].stat().st_size))
        kill(trainer)

    def _a_run_folder(self, fault: Fault) -> Path:
        folder = run_folder_of(self._a_trainer(fault))
        if folder is None or not folder.is_dir():
            raise NotNowError
        return folder

    def _delete_folder(self, fault: Fault) -> None:
        folder = self._a_run_folder(fault)
        self._world.deleted.add(folder.name)
        # Renamed first: it is gone at once, and nothing can be added while it is emptied.
        shutil.rmtree(folder.rename(folder.with_name(f"deleted-{folder.name}")))

    def _make_read_only(self, fault: Fault) -> Undo:
        return make_read_only(self._a_run_folder(fault))

    def _service(self, name: str) -> psutil.Process:
        process = self._world.service(name)
        if process is None:
            raise NotNowError
        return process

    def _worker(self, which: str) -> psutil.Process:
        process = self._world.worker(which)
        if process is None:
            raise NotNowError
        return process

    def _kill_everything(self, _: Fault) -> None:
        names = ("worker", "backend", "frontend", "redis")
        services = [service for name in names if (service := self._world.service(name)) is not None]
        self._world.stack.stop(signal.SIGKILL)
        for service in services[:1]:
            kill(service)
        self._world.restart()
        assert not any(is_alive(service) for service in services), "the next start ends what was left"

    def _hang(self, process: psutil.Process) -> Undo:
        if process.pid in self._suspended:
            raise NotNowError
        self._suspended.add(process.pid)
        process.suspend()

        def go_on() -> None:
            self._suspended.discard(process.pid)
            if is_alive(process):
                process.resume()

        return go_on

    def _redis_hangs(self, _: Fault) -> Undo:
        undo = self._hang(self._service("redis"))
        self._submit()
        return undo

    def _delete_redis_folder(self, _: Fault) -> None:
        self._service("redis")
        folder = DataFolder(self._world.stack.folder).redis
        shutil.rmtree(folder.rename(folder.with_name("deleted-redis")))
        self._submit()

    # ------------------------------------------------------------ network

    def _network(self, network: Network) -> Undo:
        self._world.proxy.set(network)
        return lambda: self._world.proxy.set(Network.OPEN)

    def _cut_upload(self, fault: Fault) -> None:
        self._world.proxy.cut_next_upload(Cut(answer=False, after_bytes=int(fault.pick * 2_000)))

    def _lose_answer(self, fault: Fault) -> None:
        def kill_backend() -> None:
            backend = self._world.service("backend")
            if backend is not None:
                kill(backend)

        self._world.proxy.cut_next_upload(Cut(answer=True, after_bytes=int(fault.pick * 100), on_cut=kill_backend))

    # ------------------------------------------------------------ disk and clock

    def _full(self, processes: list[psutil.Process], fault: Fault) -> Undo:
        limit_files(processes, int(fault.pick * 300_000))

        def free() -> None:
            # What they have started meanwhile has their limit too.
            everything = [member for process in processes for member in family(process)]
            limit_files([*everything, *self._world.trainers()], None)

        return free

    def _trainer_full(self, fault: Fault) -> Undo:
        return self._full([self._a_trainer(fault)], fault)

    def _worker_full(self, fault: Fault) -> Undo:
        return self._full([self._worker(REMOTE if fault.pick < 0.5 else LOCAL)], fault)

    def _database_full(self, fault: Fault) -> Undo:
        return self._full(family(self._service("postgres")), fault)

    def _up_full(self, fault: Fault) -> Undo:
        # Nothing can be recorded, and what is started again has its disk full, too.
        redis = self._service("redis")
        undo = self._full([psutil.Process(self._world.stack.pid)], replace(fault, pick=0.0))
        kill(redis)
        return undo

    def _jump(self, seconds: float) -> None:
        self._world.move_clock(seconds)

    # ------------------------------------------------------------ deliveries

    @contextmanager
    def _server(self) -> Iterator[Client]:
        """The server as it is now: lasting faults end in this thread, so that nobody may wait here for their end."""
        token = (self._world.stack.folder / "admin-token").read_text().strip()
        try:
            with Client(self._world.stack.url, token=token, timeout_seconds=5) as client:
                yield client
        except (ApiError, httpx.TransportError):
            raise NotNowError from None

    def _workers(self, client: Client) -> Sequence[WorkerInfo]:
        workers = client.workers().items
        if len(workers) < 2:
            raise NotNowError
        return workers

    def _double_deliveries(self, fault: Fault) -> None:
        dice = random.Random(fault.pick)
        with self._server() as client:
            queues = [f"worker-{worker.id}" for worker in self._workers(client) if worker.delivery == "broker"]
            # All there are: ended, running and waiting ones.
            deliveries = [(run.id, queue) for run in client.runs(limit=50).items for queue in queues] * 2
        dice.shuffle(deliveries)
        with Celery("bapo", broker=self._world.broker_url, set_as_current=False) as app:
            app.conf.update(broker_transport_options={"socket_timeout": 2, "socket_connect_timeout": 2})
            try:
                for run_id, queue in deliveries[:60]:
                    app.send_task("bapo.run", args=[run_id], queue=queue, retry=False)
            except OperationalError:
                # Redis is away: as good a time as any to send nothing.
                raise NotNowError from None

    def _claim_as_another(self, _: Fault) -> None:
        """Both workers claim every run at once; those that are nobody's, or another's, are refused."""
        self._submit()
        token = (self._world.stack.folder / "worker-token").read_text().strip()
        with self._server() as client:
            worker_ids = [worker.id for worker in self._workers(client)]
            held = [run.id for run in client.runs(limit=50, status=["starting", "running", "pausing"]).items]
        if not held:
            raise NotNowError

        def claim(run_id: str, worker_id: str) -> None:
            with Client(self._world.stack.url, token=token) as worker:
                try:
                    worker.claim(run_id, ClaimRequest(worker_id=worker_id))
                except (ApiError, httpx.TransportError):
                    # Refused, or nobody is there to refuse.
                    return

        claims = [
            threading.Thread(target=claim, args=(run_id, worker_id)) for run_id in held for worker_id in worker_ids
        ]
        for each in claims:
            each.start()
        for each in claims:
            each.join()


def _killing(name: str) -> Callable[[Faults, Fault], None]:
    return lambda faults, _: kill(faults._service(name))


_DOINGS: Mapping[str, Callable[[Faults, Fault], Undo | None]] = {
    "kill a trainer": Faults._kill_trainer,
    "kill the worker": lambda faults, _: kill(faults._worker(LOCAL)),
    "kill the remote worker": lambda faults, _: kill(faults._worker(REMOTE)),
    "kill the backend": _killing("backend"),
    "kill the frontend": _killing("frontend"),
    "kill Redis": _killing("redis"),
    "kill PostgreSQL": _killing("postgres"),
    "kill everything but the trainers": Faults._kill_everything,
    "Redis hangs while a run is submitted": Faults._redis_hangs,
    "Redis' folder is deleted": Faults._delete_redis_folder,
    "the backend hangs": lambda faults, _: faults._hang(faults._service("backend")),
    "the remote worker hangs for longer than its lease": lambda faults, _: faults._hang(faults._worker(REMOTE)),
    "the network refuses": lambda faults, _: faults._network(Network.REFUSED),
    "the network is silent": lambda faults, _: faults._network(Network.SILENT),
    "an upload is cut off": Faults._cut_upload,
    "an answer is lost and the backend killed after its commit": Faults._lose_answer,
    "a trainer's disk is full": Faults._trainer_full,
    "a worker's disk is full": Faults._worker_full,
    "PostgreSQL's disk is full": Faults._database_full,
    "the disk is full for bapo up while Redis is killed": Faults._up_full,
    "the clock jumps ahead": lambda faults, _: faults._jump(CLOCK_JUMP_SECONDS),
    "the clock jumps back": lambda faults, _: faults._jump(-CLOCK_JUMP_SECONDS),
    "the clock jumps three days ahead": lambda faults, _: faults._jump(THREE_DAYS_SECONDS),
    "the clock jumps three days back": lambda faults, _: faults._jump(-THREE_DAYS_SECONDS),
    "deliveries are doubled and reordered": Faults._double_deliveries,
    "another worker claims": Faults._claim_as_another,
    "a trainer is killed and its newest checkpoint damaged": Faults._damage_checkpoint,
    "the folder of a run is deleted": Faults._delete_folder,
    "the folder of a run is read-only": Faults._make_read_only,
}
assert set(_DOINGS) == set(FAULTS)
LASTING = {"the remote worker hangs for longer than its lease": LEASE_SECONDS + 1, "the network is silent": 3.0}
"""Seconds that are added to how long these last."""
