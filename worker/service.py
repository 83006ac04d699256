"""The worker process: registers, claims delivered runs, sends heartbeats, and on SIGTERM returns its runs."""

from __future__ import annotations

import fcntl
import logging
import os
import queue
import socket
import sys
import threading
import time
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import httpx

from bapo.api.workers import AttemptHeartbeat, ClaimRequest, WorkerHeartbeat, WorkerRegistration, WorkerWelcome
from bapo.client import ApiError, BapoError, Client, InvalidRequestError
from bapo.deploy.processes import Stop
from bapo.run.zygote_client import Zygote
from worker import health, metrics, polling
from worker.attempts import Attempt, AttemptStore
from worker.delivery import Delivery
from worker.errors import WorkerError, lasting_refusal
from worker.gpu_readings import GpuWatch
from worker.maintenance_jobs import TIMEOUT_SECONDS, MaintenanceJobThread
from worker.metrics import WorkerState
from worker.polling import PolledDelivery
from worker.run_folders import folder_here, runs_dir_here
from worker.settings import WorkerSettings
from worker.supervision import REPORT_GRACE_SECONDS, AttemptSupervisor, StopLimits
from worker.system import folder_of_runs, gpus, memory_gib, utilisation

RETRY_SECONDS = 1.0

log = logging.getLogger(__name__)


def hold_folder(folder: Path) -> int:
    """Hold the worker's folder until the process ends. Raises WorkerError where another worker has it."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise WorkerError(f"another worker uses {folder}: give another folder with --folder") from None
    return descriptor


def _client(settings: WorkerSettings, token: str, timeout_seconds: float) -> Client:
    try:
        return Client(settings.server_url, token=token, timeout_seconds=timeout_seconds)
    except InvalidRequestError as error:
        raise WorkerError(str(error)) from None


class Worker:
    """A worker of one server."""

    def __init__(self, settings: WorkerSettings, token: str) -> None:
        self._settings = settings
        self._folder = settings.worker_folder.resolve()
        self._client = _client(settings, token, 15.0)
        self._store = AttemptStore(self._folder / "attempts")
        try:
            self._gpus = gpus(settings.gpu_indices)
        except ValueError as error:
            raise WorkerError(str(error)) from None
        self._slots = settings.worker_slots or max(1, len(self._gpus))
        self._supervisors: dict[str, AttemptSupervisor] = {}
        self._stopping = Stop()
        self._delivery: Delivery | PolledDelivery | None = None
        self._waiting_client = _client(settings, token, polling.TIMEOUT_SECONDS)
        self._worker_id = ""
        self._jobs = MaintenanceJobThread(_client(settings, token, TIMEOUT_SECONDS), self._folder / "outgoing")
        self._runs_dir = Path()
        self._limits = StopLimits(settings.stop_limit_seconds, settings.drain_before)
        self._gpu_watch = GpuWatch()
        self._zygote = Zygote()

    def stop(self) -> None:
        """Ask the worker to return its runs and exit. Safe to call from a signal handler."""
        self._stopping.set()

    def run(self) -> None:
        """Work until `stop`. Raises WorkerError where the server refuses the token."""
        threading.excepthook = _end_process
        self._serve_metrics()
        with closing(self._zygote):
            self._work()

    def _work(self) -> None:
        for attempt in self._store.all():
            log.info("run %s, attempt %d: resumed supervision", attempt.run_id, attempt.number)
            self._supervise(AttemptSupervisor(self._client, self._store, attempt, limits=self._limits))
        welcome = self._register()
        if welcome is not None:
            self._worker_id = welcome.worker_id
            heart = threading.Thread(target=self._beat, args=(welcome,), name="heartbeat", daemon=True)
            heart.start()
            self._jobs.start()
            if self._gpus:
                self._gpu_watch.start()
            self._take_deliveries()
        self._shut_down()

    def _serve_metrics(self) -> None:
        host, port = self._settings.metrics_host, self._settings.metrics_port
        if port is None:
            return
        try:
            metrics.serve(host, port, self._settings.metrics_token_file, self._state)
        except (OSError, ValueError) as error:
            raise WorkerError(f"metrics on {host}:{port}: {error}") from None

    def _state(self) -> WorkerState:
        supervisors = [each for each in self._supervisors.copy().values() if each.is_alive()]
        return WorkerState(
            slots=self._slots,
            trainers=len(supervisors),
            gpus=len(self._gpus),
            seconds_since_heartbeat=health.seconds_since_heartbeat(self._folder),
            upload_lag_bytes=sum(each.upload_lag_bytes for each in supervisors),
        )

    # ------------------------------------------------------------ registration and heartbeat

    def _register(self) -> WorkerWelcome | None:
        """Register, for as long as it takes. Returns None if asked to stop meanwhile."""
        body = WorkerRegistration(
            name=self._settings.worker_name,
            host=socket.gethostname(),
            slots=self._slots,
            gpus=self._gpus,
            memory_gib=memory_gib(),
            version=version("bapo-control-plane"),
            drain_before=self._settings.drain_before,
        )
        if not self._settings.broker_url:
            # Said only where it is so: earlier releases of the server know of brokers alone.
            body = body.model_copy(update={"delivery": "https"})
        complained = False
        while not self._stopping.is_set():
            try:
                welcome = self._client.register_worker(body)
            except BapoError as error:
                refusal = lasting_refusal(self._settings.server_url, error)
                if refusal is not None:
                    raise refusal from None
                if not complained:
                    log.warning("not registered yet, retrying: %s", error)
                complained = True
                self._stopping.wait(RETRY_SECONDS)
                continue
            source = "the broker" if self._settings.broker_url else "the server"
            log.info("registered as %s with %d slots, runs come from %s", body.name, self._slots, source)
            self._runs_dir = self._find_runs_dir(welcome)
            self._listen(welcome)
            return welcome
        return None

    def _find_runs_dir(self, welcome: WorkerWelcome) -> Path:
        if self._settings.worker_runs_dir is not None:
            return self._settings.worker_runs_dir.resolve()
        own = self._folder / "runs"
        found = runs_dir_here(Path(welcome.runs_dir), own, is_shared=welcome.runs_dir_shared)
        if found == own:
            log.info("the server's folder of runs, %s, cannot be had here: runs lie in %s", welcome.runs_dir, own)
        return found

    def _listen(self, welcome: WorkerWelcome) -> None:
        """Listen for runs at the broker, or at the server if none is set; a new registration may change the source."""
        broker_url = self._settings.broker_url
        delivery = (
            Delivery(broker_url, welcome.queue)
            if broker_url
            else PolledDelivery(self._waiting_client, welcome.worker_id)
        )
        if self._delivery is not None:
            if self._delivery.source == delivery.source:
                return
            self._delivery.end()
        self._delivery = delivery
        delivery.start()

    def _beat(self, welcome: WorkerWelcome) -> None:
        while True:
            try:
                self._exchange()
            except httpx.TransportError as error:
                log.warning("heartbeat: %s", error)
            except ApiError as error:
                log.warning("heartbeat: %s", error)
                if error.status == 404:
                    # The server's database was replaced: it no longer knows this worker.
                    welcome = self._register() or welcome
                    self._worker_id = welcome.worker_id
            time.sleep(welcome.heartbeat_seconds)

    def _exchange(self) -> None:
        supervisors = {run_id: each for run_id, each in self._supervisors.copy().items() if each.is_alive()}
        beats = [
            AttemptHeartbeat(
                run_id=run_id,
                fencing_token=each.attempt.fencing_token,
                step=each.step,
                start_seconds=each.stop_time.start_seconds,
                stop_seconds=each.stop_time.stop_seconds,
            )
            for run_id, each in supervisors.items()
        ]
        answer = self._client.heartbeat(
            WorkerHeartbeat(worker_id=self._worker_id, attempts=beats, system=self._system())
        )
        health.stamp(self._folder)
        for run_id in answer.revoked:
            if run_id in supervisors:
                supervisors[run_id].revoke()
        for run_id in answer.hand_back:
            if run_id in supervisors:
                supervisors[run_id].hand_back()
        for pending in answer.controls:
            if pending.run_id in supervisors:
                supervisors[pending.run_id].control(pending)
        if answer.has_chores:
            self._jobs.wake(self._worker_id, self._runs_dir)

    def _system(self) -> dict[str, float]:
        return utilisation() | self._gpu_watch.latest | folder_of_runs(self._runs_dir)

    # ------------------------------------------------------------ runs

    def _take_deliveries(self) -> None:
        while not self._stopping.is_set():
            assert self._delivery is not None, "registered before"
            try:
                run_id = self._delivery.run_ids.get(timeout=0.1)
            except queue.Empty:
                continue
            self._claim(run_id)

    def _claim(self, run_id: str) -> None:
        try:
            claim = self._client.claim(run_id, ClaimRequest(worker_id=self._worker_id))
        except (httpx.TransportError, ApiError) as error:
            # Claimed already, withdrawn, or the server is away: it sends unclaimed runs again.
            log.info("run %s was not claimed: %s", run_id, error)
            return
        attempt = Attempt(
            run_id=run_id,
            number=claim.attempt,
            fencing_token=claim.fencing_token,
            run_folder=folder_here(claim.run_dir, self._runs_dir),
            gpus=None if claim.gpus is None else tuple(claim.gpus),
        )
        self._store.save(attempt)
        log.info("run %s, attempt %d: claimed", run_id, attempt.number)
        self._supervise(AttemptSupervisor(self._client, self._store, attempt, claim, self._limits, self._zygote))

    def _supervise(self, supervisor: AttemptSupervisor) -> None:
        run_id = supervisor.attempt.run_id
        supervisor.predecessor = self._supervisors.get(run_id)
        supervisor.gpu_holders = [
            each
            for key, each in self._supervisors.items()
            if key != run_id and each.is_alive() and each.attempt.shares_gpu_with(supervisor.attempt)
        ]
        for ended in [key for key, each in self._supervisors.items() if each.is_ended]:
            del self._supervisors[ended]
        self._supervisors[run_id] = supervisor
        supervisor.start()

    # ------------------------------------------------------------ the end

    def _shut_down(self) -> None:
        """Stop the trainers after their step and report to the server; the next start reports what it missed."""
        if self._delivery is not None:
            self._delivery.end()
        supervisors = [each for each in self._supervisors.values() if each.is_alive()]
        for each in supervisors:
            each.shut_down()
        seconds = max((each.grace_seconds for each in supervisors), default=0.0)
        if supervisors:
            log.info("stopping %d trainers, within %.0f s", len(supervisors), seconds)
        deadline = time.monotonic() + seconds + REPORT_GRACE_SECONDS
        for each in supervisors:
            while each.is_alive() and time.monotonic() < deadline:
                each.join(0.1)
                if each.attempt.ending is not None:
                    deadline = min(deadline, time.monotonic() + REPORT_GRACE_SECONDS)


def _end_process(failure: threading.ExceptHookArgs) -> None:
    """End the worker when a thread fails; the next start finds the trainers again."""
    try:
        cause = (failure.exc_type, failure.exc_value or failure.exc_type(), failure.exc_traceback)
        log.error("a thread failed", exc_info=cause)
        sys.stderr.flush()
    finally:
        # Also where the disk that takes the log is full.
        os._exit(70)
