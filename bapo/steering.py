"""Requests to a running trainer, in the order in which they take effect, also after a crash.

A request is answered once. An answer that an earlier attempt gave at a step after the checkpoint is given again at
the same step, so that the resumed run takes the same course.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bapo.config import RunConfig
from bapo.control import ControlRequest, changed_config, read_requests
from bapo.journal import RECORDS_FILE, attempt_folders, read_records
from bapo.methods.base import Method
from bapo.records import EventRecord


class Steering:
    """Reads the control file at every step boundary."""

    def __init__(self, run_folder: Path) -> None:
        self._run_folder = run_folder
        self._rejected: Sequence[str] = ()
        self._num_reported = 0
        self._answered: set[str] = set()
        self._to_repeat: dict[str, int] = {}
        for folder in attempt_folders(run_folder):
            for record in read_records(folder / RECORDS_FILE):
                if isinstance(record, EventRecord) and record.event.startswith(("parameter_", "stop")):
                    self._note_answer(record)

    def _note_answer(self, record: EventRecord) -> None:
        if "id" in record.data:
            self._answered.add(record.data["id"])
            if record.event != "stop":
                self._to_repeat[record.data["id"]] = record.data["applied_step"]

    def resume_after(self, completed: int) -> None:
        """Forget the answers that the checkpoint of `completed` steps already contains."""
        self._to_repeat = {request_id: step for request_id, step in self._to_repeat.items() if step > completed}

    def due(self, step: int) -> Sequence[ControlRequest]:
        """Requests that take effect before this step, in the file's order."""
        requests, self._rejected = read_requests(self._run_folder)
        due = []
        for request in requests:
            if self._to_repeat.get(request.id) == step:
                due.append(request)
                del self._to_repeat[request.id]
            elif request.id not in self._answered and (request.at_step is None or request.at_step <= step):
                due.append(request)
                self._answered.add(request.id)
        return due

    def rejected(self) -> Sequence[str]:
        """Messages about lines of the control file that `due` found to be no requests, each once."""
        new = self._rejected[self._num_reported :]
        self._num_reported = len(self._rejected)
        return new

    @staticmethod
    def change(config: RunConfig, request: ControlRequest, method: Method) -> RunConfig:
        """Apply a parameter change to the method. Raises ConfigError, changing nothing, where it is illegal."""
        changed = changed_config(config, request.set).config
        method.reconfigure(changed)
        return changed
