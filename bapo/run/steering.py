"""Requests to a running trainer, in the order in which they take effect, also after a crash.

A request is answered once. An answer that an earlier attempt gave at a step after the checkpoint is given again at
the same step, so that the resumed run takes the same course.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bapo.config import RunConfig
from bapo.methods.base import Method
from bapo.records import EventRecord
from bapo.run.control import ControlRequest, changed_config, read_requests
from bapo.run.journal import RECORDS_FILE, attempt_folders, read_records

_REPEATED = ("parameter_change", "parameter_refused")
_ANSWERS = (*_REPEATED, "stop", "request_withdrawn")


def answers(run_folder: Path) -> Iterator[EventRecord]:
    """Return the answers of the run's trainers to requests, in order."""
    for folder in attempt_folders(run_folder):
        for record in read_records(folder / RECORDS_FILE):
            if isinstance(record, EventRecord) and record.event in _ANSWERS and "id" in record.data:
                yield record


def open_requests(run_folder: Path) -> list[ControlRequest]:
    """Return the requests of the control file that no trainer has answered."""
    answered = {record.data["id"] for record in answers(run_folder)}
    requests, _ = read_requests(run_folder)
    return [request for request in requests if request.id not in answered and request.withdraws is None]


class Steering:
    """Reads the control file at every step boundary."""

    def __init__(self, run_folder: Path) -> None:
        self._run_folder = run_folder
        self._requests: Sequence[ControlRequest] = ()
        self._rejected: Sequence[str] = ()
        self._num_reported = 0
        self._answered: set[str] = set()
        self._to_repeat: dict[str, int] = {}
        for record in answers(run_folder):
            self._answered.add(record.data["id"])
            if record.event in _REPEATED:
                self._to_repeat[record.data["id"]] = record.data["applied_step"]

    def resume_after(self, completed: int) -> None:
        """Forget the answers that the checkpoint of `completed` steps already contains."""
        self._to_repeat = {request_id: step for request_id, step in self._to_repeat.items() if step > completed}

    def due(self, step: int, *, at_checkpoint: bool = False) -> Sequence[ControlRequest]:
        """Return the requests that take effect before this step, in the file's order, withdrawals before all others.

        `at_checkpoint` says that the last completed step has its checkpoint, which some stops wait for.
        """
        self._requests, self._rejected = read_requests(self._run_folder)
        due = list(self._withdrawals())
        for request in self._requests:
            if self._to_repeat.get(request.id) == step:
                due.append(request)
                del self._to_repeat[request.id]
            elif self._is_open(request, step) and (at_checkpoint or request.when != "checkpoint"):
                due.append(request)
                self._answered.add(request.id)
        return due

    def fulfilled_stops(self, step: int) -> Sequence[ControlRequest]:
        """Return the stops that `due` left waiting for a checkpoint, which the end of the attempt before this step
        fulfils."""
        stops = [request for request in self._requests if request.stop and self._is_open(request, step)]
        self._answered.update(request.id for request in stops)
        return stops

    def _is_open(self, request: ControlRequest, step: int) -> bool:
        is_known = request.id in self._answered or request.withdraws is not None
        return not is_known and (request.at_step is None or request.at_step <= step)

    def _withdrawals(self) -> Iterator[ControlRequest]:
        known = {request.id for request in self._requests}
        for request in self._requests:
            if request.withdraws in known and request.withdraws not in self._answered:
                self._answered.add(request.withdraws)
                yield request

    def rejected(self) -> Sequence[str]:
        """Return messages about lines of the control file that `due` found to be no requests, each once."""
        new = self._rejected[self._num_reported :]
        self._num_reported = len(self._rejected)
        return new

    @staticmethod
    def change(config: RunConfig, request: ControlRequest, method: Method) -> RunConfig:
        """Apply a parameter change to the method. Raises ConfigError, changing nothing, where it is illegal."""
        changed = changed_config(config, request.set)
        method.reconfigure(changed)
        return changed
