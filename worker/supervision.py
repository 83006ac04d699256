"""Supervises one attempt in its own thread: starts or adopts the trainer, uploads, reports how it ended."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import httpx

from bapo.api.workers import AttemptOutcome, Claim, PendingControl
from bapo.client import ApiError, Client
from bapo.config import ConfigError
from bapo.deploy import service_log as log_lines
from bapo.engines.verl.interpreter import trainer_python
from bapo.engines.verl.leftovers import clean_up_after
from bapo.run.control import ControlRequest, append_request, read_requests
from bapo.run.journal import RECORDS_FILE
from bapo.run.run_folder import claim_config, read_config
from bapo.run.stop_time import StopTime, StopWatch, grace_seconds
from bapo.run.trainer import cannot_write
from bapo.run.trainer_process import TrainerProcess
from bapo.run.zygote_client import Zygote, can_fork
from worker.attempts import Attempt, AttemptStore, Ending
from worker.contents import fetch_contents
from worker.run_folders import check_paths, prepare, record_stop, submitted_config
from worker.trainer_process import (
    end_rest_of_session,
    ending_of,
    find_trainer,
    start_trainer_of,
    trainers_of,
)
from worker.upload import Uploader

POLL_SECONDS = 0.02
FIRST_RETRY_SECONDS = 0.25
LONGEST_RETRY_SECONDS = 5.0
REVOKED_GRACE_SECONDS = 45.0
"""Time between SIGTERM and SIGKILL of a run that was taken from this worker: its last step is not needed."""
STOP_NOW_GRACE_SECONDS = 3.0
"""Time between SIGTERM and SIGKILL of a run that is stopped without waiting for its step."""
REPORT_GRACE_SECONDS = 10.0
"""Time for which a worker that shuts down tries to report to the server how its trainers ended."""
MEASURE_INTERVAL_SECONDS = 2.0
"""Interval between two measurements of the run's step time."""
LEFTOVER_SECONDS = 60.0
"""Time for which the last lines of a revoked run are offered to a server that does not answer."""
UNREADABLE_SECONDS = 60.0
"""Time for which an ended attempt waits for unreadable files; afterwards the server never gets their contents."""

log = logging.getLogger(__name__)


class StopLimits(NamedTuple):
    """Bounds on the time that trainers of this worker have to stop."""

    longest_seconds: float
    """Maximum time in seconds between SIGTERM and SIGKILL, however long a run's steps take."""
    drain_before: datetime | None = None
    """Time at which the machine ends; `None` if unknown."""

    def seconds_left(self) -> float | None:
        """Return the seconds until the machine ends; `None` if unknown."""
        return None if self.drain_before is None else self.drain_before.timestamp() - time.time()


NO_LIMITS = StopLimits(float("inf"))


class ClaimLostError(Exception):
    """The server gave the run to another attempt, or no longer knows it."""


def is_unreachable(error: Exception) -> bool:
    """Return whether a retry may help: there was no answer, or an error that is independent of the request."""
    return isinstance(error, httpx.TransportError) or (isinstance(error, ApiError) and error.status not in (404, 409))


class AttemptSupervisor(threading.Thread):
    """One attempt, from the claim until the server knows how it ended."""

    def __init__(
        self,
        client: Client,
        store: AttemptStore,
        attempt: Attempt,
        claim: Claim | None = None,
        limits: StopLimits = NO_LIMITS,
        zygote: Zygote | None = None,
    ) -> None:
        """Supervise a new attempt with its `claim`; without it, one that the worker began before its restart.

        `zygote` forks the trainer if that is possible.
        """
        super().__init__(name=f"run-{attempt.run_id}", daemon=True)
        self.attempt = attempt
        self.stop_time = StopTime()
        """Measured times that the run takes to start and to stop."""
        self.predecessor: AttemptSupervisor | None = None
        """An earlier attempt at the same run that this worker still held; it ends before this one begins."""
        self.gpu_holders: Sequence[AttemptSupervisor] = ()
        """Attempts that the server has given up but whose trainers still use our GPUs; this one begins after them."""
        self._client = client
        self._store = store
        self._claim = claim
        self._zygote = zygote
        self._uploader = Uploader(client, attempt)
        self._wake = threading.Event()
        self._revoked = False
        self._shut_down = False
        self._ends_now = False
        self._hand_back = False
        self._limits = limits
        self._stop_watch = StopWatch(attempt.run_folder, attempt.number)
        self._next_measurement = 0.0
        self._stop_asked_at: float | None = None
        self._control_lock = threading.Lock()
        self._next_try = 0.0
        self._pause = FIRST_RETRY_SECONDS
        self._unreadable_until: float | None = None

    # ------------------------------------------------------------ asked from outside

    @property
    def step(self) -> int:
        """Latest completed step."""
        return self._uploader.step

    @property
    def upload_lag_bytes(self) -> int:
        """Bytes that the server does not have yet."""
        return self._uploader.lag_bytes

    @property
    def grace_seconds(self) -> float:
        """Time between SIGTERM and SIGKILL where the worker shuts down."""
        return min(self._limits.longest_seconds, grace_seconds(self.stop_time.stop_seconds))

    @property
    def is_ended(self) -> bool:
        """True if the thread was started and has ended."""
        return self.ident is not None and not self.is_alive()

    def revoke(self) -> None:
        """Give up a run that was taken from this worker: end its trainer."""
        self._revoked = True
        self._wake.set()

    def shut_down(self) -> None:
        """End the trainer after its step, within `grace_seconds`, and return the run."""
        self._shut_down = True
        self._wake.set()

    def hand_back(self) -> None:
        """End the trainer after its step, however long that takes, and return the run."""
        self._hand_back = True
        self._wake.set()

    def control(self, pending: PendingControl) -> None:
        """Append a request to the run's control file, once."""
        if pending.stop and pending.when == "now":
            self._ends_now = True
            self._wake.set()
        with self._control_lock:
            request = ControlRequest(
                id=pending.id,
                author=pending.author,
                at_step=pending.at_step,
                set=pending.set,
                stop=pending.stop,
                when=pending.when,
                withdraws=pending.withdraws,
            )
            try:
                requests, _ = read_requests(self.attempt.run_folder)
                if all(each.id != pending.id for each in requests):
                    append_request(self.attempt.run_folder, request)
            except OSError as error:
                # The server names it again in its next answer, until the journal has the trainer's.
                log.warning("run %s: %s", self.attempt.run_id, error)

    # ------------------------------------------------------------ the thread

    def run(self) -> None:
        """Supervise the attempt until it ends."""
        log_lines.bind(run_id=self.attempt.run_id, attempt=self.attempt.number)
        if self.predecessor is not None:
            self.predecessor.revoke()
            self.predecessor.join()
            self.predecessor = None
        while not self._revoked and any(each.is_alive() for each in self.gpu_holders):
            self._wake.wait(POLL_SECONDS)
        self.gpu_holders = ()
        try:
            self._watch(self._begin())
        except ClaimLostError as error:
            log.warning("run %s, attempt %d: %s", self.attempt.run_id, self.attempt.number, error)
            self._store.forget(self.attempt)

    def _begin(self) -> TrainerProcess | None:
        """Return the trainer: a new one, or the one that ran before the worker's restart."""
        trainer = None
        if self._claim is None:
            trainer = find_trainer(self.attempt)
        elif self.attempt.ending is None:
            try:
                config = submitted_config(self._claim)
                check_paths(config, self.attempt.run_folder, self._claim)
                fetch_contents(self._client, self.attempt.run_id, self._claim.contents)
                claim_config(self.attempt.run_folder, config)
                prepare(self.attempt.run_folder, self._claim)
                for left in trainers_of(self.attempt.run_folder):
                    # Of a worker that the server has given up on; its token is stale, ours is not.
                    log.warning("run %s: ending trainer %d of an earlier attempt", self.attempt.run_id, left.pid)
                    self._end_at_once(left)
                python, has_gpus = trainer_python(config), self.attempt.gpus is not None
                zygote = self._zygote if can_fork(config.engine, python, has_gpus=has_gpus) else None
                trainer = start_trainer_of(self.attempt, config.engine.threads, python, zygote)
            except ConfigError as error:
                self._note(ending=Ending(status="failed", reason=str(error)))
                return None
            except OSError as error:
                # A full disk, no memory for a process: nothing that a later try must find again.
                refused = cannot_write(error, self.attempt.run_folder)
                reason = f"the trainer could not be started: {error}"
                self._note(ending=Ending(status="lost", reason=reason, cannot_write=refused))
                return None
        if trainer is not None:
            self._note(pid=trainer.pid, created=trainer.created)
        return trainer

    def _watch(self, trainer: TrainerProcess | None) -> None:
        while True:
            running = trainer is not None and trainer.is_running()
            if self._revoked:
                self._end_at_once(trainer)
                self._clean_up()
                self._upload_what_is_left()
                raise ClaimLostError("the server took the run back")
            if running and trainer is not None:
                self._measure()
                self._carry_out_stop(trainer)
            elif self.attempt.ending is None:
                self._clean_up()
                self._note(ending=self._ending(trainer))
            if self._upload() and self._report():
                self._store.forget(self.attempt)
                return
            self._wake.wait(POLL_SECONDS)
            self._wake.clear()

    def _ending(self, trainer: TrainerProcess | None) -> Ending:
        """Return how the trainer ended; a missing or unreadable folder is the reason itself, since a retry would not
        help."""
        if not self.attempt.run_folder.is_dir():
            return Ending(
                status="failed",
                reason=f"the run folder {self.attempt.run_folder} is gone: clone the run to train it again",
            )
        try:
            ending = ending_of(self.attempt, trainer.exit_code if trainer else None)
            return record_stop(self.attempt) if self._ends_now and ending.status == "lost" else ending
        except (OSError, ValueError) as error:
            return Ending(status="failed", reason=f"the run folder cannot be read: {error}")

    def _clean_up(self) -> None:
        """Clean up after a killed trainer: processes on the GPUs, shared memory."""
        pid, created = self.attempt.pid, self.attempt.created
        if pid is None or created is None:
            return
        end_rest_of_session(pid, created)
        try:
            engine = read_config(self.attempt.run_folder).engine.type
        except (OSError, ConfigError) as error:
            log.warning("run %s: what its trainer left is not removed: %s", self.attempt.run_id, error)
            return
        if engine == "verl":
            clean_up_after(pid, created)

    def _measure(self) -> None:
        """Measure how long the run takes to stop, at intervals and once more when it is asked to stop."""
        if time.monotonic() < self._next_measurement or self._stop_asked_at is not None:
            return
        self._next_measurement = time.monotonic() + MEASURE_INTERVAL_SECONDS
        try:
            self.stop_time = self._stop_watch.look()
        except OSError as error:
            log.debug("run %s: its steps are not measured: %s", self.attempt.run_id, error)

    def _carry_out_stop(self, trainer: TrainerProcess) -> None:
        if self._stop_asked_at is not None:
            if self._is_overdue(self._stop_asked_at):
                trainer.kill()
            return
        if self._shut_down or self._hand_back or self._ends_now or self._must_leave():
            self._stop_asked_at = time.monotonic()
            trainer.ask_to_stop()

    def _must_leave(self) -> bool:
        """Return whether the machine ends so soon that the run has to be given back now."""
        left = self._limits.seconds_left()
        if left is None or left > grace_seconds(self.stop_time.stop_seconds) + REPORT_GRACE_SECONDS:
            return False
        log.info("run %s: given back, the machine ends in %.0f s", self.attempt.run_id, left)
        return True

    def _is_overdue(self, asked_at: float) -> bool:
        waited = time.monotonic() - asked_at
        if self._ends_now:
            return waited > STOP_NOW_GRACE_SECONDS
        left = self._limits.seconds_left()
        if left is not None and left < REPORT_GRACE_SECONDS:
            return True
        return self._shut_down and waited > self.grace_seconds

    def _end_at_once(self, trainer: TrainerProcess | None) -> None:
        if trainer is None:
            return
        trainer.ask_to_stop()
        deadline = time.monotonic() + REVOKED_GRACE_SECONDS
        while trainer.is_running():
            if time.monotonic() > deadline:
                trainer.kill()
            time.sleep(POLL_SECONDS)

    # ------------------------------------------------------------ talking to the server

    def _upload(self) -> bool:
        """Upload new lines. Returns whether the trainer has ended and the server has everything."""
        if time.monotonic() < self._next_try:
            return False
        ended = self.attempt.ending is not None
        try:
            if not self.attempt.announced and (self.attempt.folder / RECORDS_FILE).exists():
                self._post_outcome("running")
                self._note(announced=True)
            # One batch of a running trainer, which may write faster than a busy server takes: a stop does not wait.
            while self._uploader.pump(everything=ended) and ended:
                if self._revoked:
                    return False
        except (httpx.TransportError, ApiError) as error:
            self._postpone(error)
            return False
        except OSError as error:
            return self._has_given_up(error)
        self._pause = FIRST_RETRY_SECONDS
        self._unreadable_until = None
        return ended

    def _has_given_up(self, error: OSError) -> bool:
        """Return whether to report an ending although files are unreadable, as with an unreachable file server; if
        not, wait."""
        now = time.monotonic()
        if self._unreadable_until is None:
            log.warning("run %s: its files cannot be read, trying again: %s", self.attempt.run_id, error)
            self._unreadable_until = now + UNREADABLE_SECONDS
        if self.attempt.ending is not None and now >= self._unreadable_until:
            return True
        self._try_later()
        return False

    def _upload_what_is_left(self) -> None:
        """Send the last lines of an attempt that the server ended, unless another attempt has begun.

        A run that was stopped while this worker was unreachable ends on the server, and only this worker can send its
        last lines. If another worker has the run by now, the server rejects the token, and that worker sends the lines.
        """
        deadline = time.monotonic() + LEFTOVER_SECONDS
        while True:
            try:
                while self._uploader.pump(everything=True):
                    continue
            except (httpx.TransportError, ApiError) as error:
                if is_unreachable(error) and time.monotonic() < deadline:
                    time.sleep(FIRST_RETRY_SECONDS)
                    continue
                log.info("run %s: %s", self.attempt.run_id, error)
            except OSError as error:
                log.warning("run %s: %s", self.attempt.run_id, error)
            return

    def _report(self) -> bool:
        assert self.attempt.ending is not None, "only an ended attempt is reported"
        try:
            self._post_outcome(**self.attempt.ending.model_dump(exclude_defaults=True))
        except (httpx.TransportError, ApiError) as error:
            self._postpone(error)
            return False
        log.info("run %s, attempt %d: %s", self.attempt.run_id, self.attempt.number, self.attempt.ending.status)
        return True

    def _post_outcome(self, status: str, **ending: object) -> None:
        body = {"fencing_token": self.attempt.fencing_token, "status": status, "step": self.step}
        self._client.post_outcome(self.attempt.run_id, AttemptOutcome.model_validate(body | ending))

    def _postpone(self, error: httpx.TransportError | ApiError) -> None:
        if not is_unreachable(error):
            # A stale fencing token, or a run that is deleted.
            self._revoked = True
            return
        if self._pause == FIRST_RETRY_SECONDS:
            log.warning("run %s: the server cannot be reached, the trainer continues: %s", self.attempt.run_id, error)
        self._try_later()

    def _try_later(self) -> None:
        self._next_try = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, LONGEST_RETRY_SECONDS)

    def _note(self, **changes: object) -> None:
        self.attempt = self.attempt.model_copy(update=changes)
        self._store.save(self.attempt)
