"""A run that is being observed: its steps go into its journal. Nothing here raises into a trainer's loop."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from bapo.config import RunConfig
from bapo.observe import folder as folders
from bapo.observe.group import Group
from bapo.observe.observation import Lines, Observation, RejectedStepError
from bapo.run.journal import LineWriter

if TYPE_CHECKING:
    from bapo.observe.live import Live

LOG = logging.getLogger("bapo.observe")
MOST_PENDING_BYTES = 1_000_000
"""Most bytes of events that wait for room on a full disk."""


class Files(Protocol):
    """The files to which the lines of a run are written."""

    @property
    def records(self) -> LineWriter:
        """Writer of steps, evaluations and events."""

    @property
    def samples(self) -> LineWriter:
        """Writer of responses and prompts."""


class ObservedRun:
    """A run that is being observed; thread-safe. Its methods count and report what goes wrong, and raise nothing."""

    def __init__(
        self,
        folder: Path | None,
        observation: Observation | None,
        config: RunConfig,
        files: Files | None = None,
        held: ExitStack | None = None,
    ) -> None:
        """Take the folder, `None` in a process that records nothing. `held` is released at the end of the run."""
        self.folder = folder
        self.live: Live | None = None
        self.num_lost = 0
        """Steps and evaluations that could not be written."""
        self._observation = observation
        self._config = config
        self._files = files
        self._held = held or ExitStack()
        self._lock = threading.RLock()
        self._has_sizes = observation is not None and observation.sizes is not None
        self._pending = b""
        """Events that the disk had no room for."""
        self._has_reported_loss = False
        self._process = os.getpid()
        self._warned_of_fork = False

    @property
    def rejections(self) -> Mapping[str, int]:
        """Counts of what was left out of the record, by kind."""
        return {} if self._observation is None else dict(self._observation.rejections)

    def step(
        self,
        step: int,
        *,
        groups: Sequence[Group],
        metrics: Mapping[str, Any] | None = None,
        sources: str | Sequence[str] | None = None,
    ) -> None:
        """Record a training step, from 1: the groups that were rolled out, and what the trainer measured.

        `metrics`: numbers by name; verl's names, such as `actor/entropy`, appear in the charts of that name.
        `sources`: the data source of all prompts, or of each. On disk when it returns, unless the disk refuses.
        """
        if (observation := self._observation) is not None:
            self.record(f"step {step}", lambda: observation.lines_of_step(step, groups, metrics, sources))

    def evaluation(self, step: int, *, dataset: str, groups: Sequence[Group]) -> None:
        """Record answers to a held-out set after so many training steps, one group per problem, all of one size."""
        if (observation := self._observation) is not None:
            self.record(
                f"the evaluation at step {step}", lambda: observation.lines_of_evaluation(step, dataset, groups)
            )

    @property
    def _is_forked(self) -> bool:
        """Return whether this is another process than that which began to observe, such as a data loader's worker.

        It may end while the run continues, and nothing says which of the two has a step.
        """
        return os.getpid() != self._process

    def record(self, what: str, lines: Callable[[], Lines]) -> None:
        """Write lines; those that cannot be made, by a RejectedStepError or any other exception, are counted."""
        # Before the lock: another thread may have held it as the process was forked.
        if self._is_forked:
            if not self._warned_of_fork and self._files is not None:
                self._warned_of_fork = True
                LOG.warning(
                    "%s is not recorded: process %d began to observe the run, and this one was forked from it; call "
                    "observe.run in the process that trains",
                    what,
                    self._process,
                )
            return
        with self._lock:
            if self._observation is None or self._files is None:
                return
            try:
                self._write(lines())
            except RejectedStepError as error:
                self._observation.reject(error.kind, str(error))
            except Exception:
                self.note_failure(what)
            self.complain()

    def record_event(self, event: str, message: str, data: Mapping[str, Any] | None = None) -> None:
        """Record an event, such as a warning; one that finds no room on the disk waits for the next line."""
        if self._is_forked:
            return
        with self._lock:
            if self._observation is None or self._files is None:
                return
            line = self._observation.line_of_event(event, message, data)
            try:
                self._write(Lines(line), is_event=True)
            except Exception:
                self.note_failure("an event")

    def finish(self, error: BaseException | None = None) -> None:
        """End the run, with the error that ended it, if any, and send the rest to the server. May be called twice."""
        if self._is_forked:
            return
        with self._lock:
            if self._files is None or self._observation is None:
                return
            self.complain()
            lost = {"rejected": dict(self._observation.rejections), "num_lost": self.num_lost}
            if error is None:
                left_out = ", ".join(f"{count:,} × {kind}" for kind, count in self._observation.rejections.items())
                message = f"recorded up to step {self._observation.step:,}"
                self.record_event("finished", f"{message}; left out: {left_out}" if left_out else message, lost)
            elif isinstance(error, KeyboardInterrupt | SystemExit):
                self.record_event("stop", f"the trainer was stopped ({type(error).__name__})", lost)
            else:
                self.record_event("failed", f"{type(error).__name__}: {error}", lost)
            self._files = None
            self._held.close()
        if self.live is not None:
            self.live.finish()

    def __enter__(self) -> ObservedRun:
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        self.finish(error)

    def note_failure(self, what: str) -> None:
        """Count the exception that is being handled, and log the first: ours must not end anybody's training."""
        if self._observation is None:
            return
        self._observation.rejections["failure"] += 1
        if self._observation.rejections["failure"] == 1:
            LOG.exception("%s could not be recorded; training continues, and further failures are only counted", what)

    def _note_sizes(self) -> None:
        """Complete the config before the first step is written: its readers need the sizes. Raises OSError."""
        assert self._observation is not None
        assert self.folder is not None
        if self._has_sizes or self._observation.sizes is None:
            return
        method = self._config.model_dump(mode="json")["method"]
        self._config = folders.config_of(
            method["config"],
            trainer=method["trainer"],
            trainer_version=method["trainer_version"],
            reward_threshold=method["reward_threshold"],
            sizes=self._observation.sizes,
        )
        folders.write_config(self.folder, self._config)
        self._has_sizes = True

    def _write(self, lines: Lines, *, is_event: bool = False) -> None:
        assert self._files is not None
        assert self._observation is not None
        found_room = b""
        if self._has_reported_loss and self.num_lost and not is_event:
            message = f"{self.num_lost} steps or evaluations could not be written until now"
            found_room = self._observation.line_of_event("warning", message, {"num_lost": self.num_lost})
        try:
            self._note_sizes()
            self._files.records.write(self._pending + found_room + lines.records)
            self._pending = b""
            if found_room:
                self._has_reported_loss = False
            if lines.samples:
                self._files.samples.write(lines.samples)
        except OSError as error:
            if is_event and len(self._pending) < MOST_PENDING_BYTES:
                self._pending += lines.records
            elif not is_event:
                self.num_lost += 1
            if not self._has_reported_loss:
                self._has_reported_loss = True
                LOG.error("training continues, but its steps are not recorded: %s", error)
        if self.live is not None:
            self.live.wake()

    def complain(self) -> None:
        assert self._observation is not None
        for complaint in self._observation.complaints():
            LOG.warning("%s", complaint)
            self.record_event("warning", complaint)
