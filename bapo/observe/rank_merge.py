"""Merging of the ranks of one run: each step once, the groups of all ranks in the order of the ranks.

Rank 0 does this in a thread, from the files of all. A step waits for each rank that runs, and for a limited time for
one that does not; recorded without it, it says so (`missing_ranks`). A rank that is past a step has no part in it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from bapo.config import ConfigError, ConfigProblem
from bapo.files.safe_paths import OutsideError
from bapo.observe import folder as folders
from bapo.observe.observation import EvaluationReport, Observation
from bapo.observe.observed_run import ObservedRun
from bapo.observe.rank_files import (
    RANKS,
    RankFile,
    attempts_of_ranks,
    files_of_ranks,
    is_locked,
    living_ranks,
    remove_rank_files,
    starting,
)
from bapo.observe.rank_reports import PartOfStep, RankReader
from bapo.records import EventRecord
from bapo.run.journal import Journal
from bapo.run.run_folder import LOCK_FILE, exclusive, next_attempt, read_config

LOG = logging.getLogger("bapo.observe")
PATIENCE_SECONDS = 60.0
"""Longest wait of a step for a rank that does not run: one that has not started, or was killed."""
CLOSING_SECONDS = 30.0
"""Longest wait of the end of rank 0 for the other ranks."""
FAILING_SECONDS = 2.0
"""Longest wait if rank 0 ended by an error."""
INTERVAL_SECONDS = 0.2
"""Pause between two reads of the other ranks' files."""


class _Next(NamedTuple):
    """A step that can be recorded."""

    step: int
    parts: dict[int, PartOfStep]
    missing: Sequence[int]


class Merger:
    """Makes the records of one attempt from the parts of its ranks."""

    def __init__(
        self,
        run: ObservedRun,
        folder: Path,
        observation: Observation,
        world_size: int,
        readers: dict[int, RankReader] | None = None,
    ) -> None:
        """Take `readers` of the ranks that kept running while rank 0 restarted."""
        self.readers = readers or {}
        self._run = run
        self._folder = folder
        self._observation = observation
        self._world_size = world_size
        self._evaluations: dict[tuple[int, str], dict[int, EvaluationReport]] = {}
        self._absent_since: dict[int, float] = {}
        self._waits_since: float | None = None
        self._has_reported_wait = False
        self._strangers: set[RankFile] = set()
        """Files of ranks that were given another world size."""
        self._ends_at: float | None = None
        self._news = threading.Event()
        # A trainer that is done must not be held by a rank that hangs.
        self._thread = threading.Thread(target=self._merge_all, name="bapo-observe-ranks", daemon=True)
        for rank, reader in self.readers.items():
            reader.hand_over(observation.attempt, self._listener(rank))

    def start(self) -> None:
        """Begin to merge."""
        self._thread.start()

    def wake(self) -> None:
        """Wake the thread: there is a new part."""
        self._news.set()

    def finish(self, error: BaseException | None) -> None:
        """Merge what the others still report, and end the run."""
        self._ends_at = time.monotonic() + (CLOSING_SECONDS if error is None else FAILING_SECONDS)
        self._news.set()
        self._thread.join()
        for reader in self.readers.values():
            reader.close()
        with starting(self._folder):
            remove_rank_files(self._folder, self._observation.attempt)
        self._run.finish(error)

    def _merge_all(self) -> None:
        is_over = False
        while not is_over:
            is_over = self._is_over()
            try:
                self.merge(is_rest=is_over)
            except Exception:
                self._run.note_failure("a part of a rank")
            if not is_over:
                self._news.wait(INTERVAL_SECONDS)
                self._news.clear()

    def _is_over(self) -> bool:
        if self._ends_at is None:
            return False
        num_done = sum(reader.has_ended for reader in self.readers.values())
        return num_done == self._world_size or time.monotonic() > self._ends_at

    def merge(self, *, is_rest: bool) -> None:
        """Record every step that all ranks reported; with `is_rest`, all that there is. Raises ValueError."""
        for file in files_of_ranks(self._folder, self._observation.attempt):
            if file.world_size == self._world_size:
                self._reader(file.rank).add(file)
            elif file not in self._strangers:
                self._strangers.add(file)
                message = f"rank {file.rank} was given world_size {file.world_size}, and rank 0 {self._world_size}"
                self._observation.reject("world_size", f"{message}: give all ranks the same")
        while (found := self._next(is_rest=is_rest)) is not None:
            self._record(found)
        for step, dataset in list(self._evaluations):
            self._evaluate(step, dataset, is_rest=is_rest)
        self._run.complain()

    def _reader(self, rank: int) -> RankReader:
        if rank not in self.readers:
            observation = self._observation
            self.readers[rank] = RankReader(
                self._folder, observation.attempt, self._listener(rank), from_step=observation.step
            )
        return self.readers[rank]

    def _next(self, *, is_rest: bool) -> _Next | None:
        heads = {rank: head for rank in sorted(self.readers) if (head := self._head(rank)) is not None}
        if not heads:
            return None
        absent = [rank for rank in range(self._world_size) if rank not in heads]
        if not is_rest and (awaited := self._awaited(absent)):
            self._note_wait(awaited)
            return None
        self._waits_since = None
        step = min(head.report.step for head in heads.values())
        parts = {rank: head for rank, head in heads.items() if head.report.step == step}
        return _Next(step, parts, [rank for rank in range(self._world_size) if rank not in parts])

    def _head(self, rank: int) -> PartOfStep | None:
        """Return the next part of a rank; one that came too late is left out."""
        reader = self.readers[rank]
        while (head := reader.head()) is not None and head.report.step <= self._observation.step:
            reader.take()
            message = f"rank {rank} reported step {head.report.step} after it was recorded: report steps once, in order"
            self._observation.reject("late_rank", message, count=len(head.report.groups))
        return head

    def _awaited(self, ranks: Sequence[int]) -> list[int]:
        """Return the ranks that may still report the next step."""
        asked = [rank for rank in ranks if rank not in self.readers or not self.readers[rank].has_ended]
        newest = {rank: file for rank in asked if rank in self.readers and (file := self.readers[rank].newest)}
        living = living_ranks(self._folder, newest) if newest else frozenset()
        now = time.monotonic()
        self._absent_since = {rank: self._absent_since.get(rank, now) for rank in asked if rank not in living}
        return [rank for rank in asked if rank in living or now - self._absent_since[rank] < PATIENCE_SECONDS]

    def _note_wait(self, ranks: Sequence[int]) -> None:
        """Say so, once, where a rank that runs holds the others up: it may never report anything."""
        self._waits_since = self._waits_since or time.monotonic()
        if time.monotonic() - self._waits_since > PATIENCE_SECONDS and not self._has_reported_wait:
            self._has_reported_wait = True
            message = (
                f"steps wait for rank {ranks[0]}, which runs but is silent for {PATIENCE_SECONDS:g} s: call step "
                "on every rank, with groups=[] on one that has none"
            )
            LOG.warning("%s", message)
            self._run.record_event("warning", message)

    def _record(self, found: _Next) -> None:
        for rank, part in found.parts.items():
            self.readers[rank].take()
            self._observation.rejections.update(part.rejections)
        for rank in found.missing:
            message = f"rank {rank} reported nothing of step {found.step}, which is recorded without its groups"
            self._observation.reject("missing_rank", message)
        reports = [part.report for part in found.parts.values()]
        self._run.record(f"step {found.step}", lambda: self._observation.lines_of_reports(reports, found.missing))

    def _evaluate(self, step: int, dataset: str, *, is_rest: bool) -> None:
        """Record answers to a held-out set once all ranks reported theirs: a part of a set has another accuracy."""
        parts = self._evaluations[step, dataset]
        missing = [rank for rank in range(self._world_size) if rank not in parts]
        if missing and not is_rest:
            return
        del self._evaluations[step, dataset]
        if missing:
            message = f"{dataset} at step {step} lacks the problems of rank {missing[0]}: report it on every rank"
            self._observation.reject("evaluation", message)
            return
        reports = [parts[rank] for rank in sorted(parts)]
        self._run.record(
            f"the evaluation at step {step}", lambda: self._observation.lines_of_evaluation_reports(reports)
        )

    def _listener(self, rank: int) -> Callable[[EvaluationReport | EventRecord], None]:
        def listen(part: EvaluationReport | EventRecord) -> None:
            if isinstance(part, EvaluationReport):
                self._evaluations.setdefault((part.step, part.dataset), {})[rank] = part
            elif part.event == "warning":
                self._run.record_event("warning", f"rank {rank}: {part.message}", part.data)
            elif rank and part.event in ("failed", "stop"):
                self._run.record_event("warning", f"rank {rank} ended: {part.message}")

        return listen


def merge_rest(folder: Path, *, before: int) -> dict[int, RankReader]:
    """Record the unmerged reports of earlier attempts' ranks. Returns the readers of ranks that still run.

    The folder is locked, so that none of these attempts continues. Raises ConfigError for lines that no rank wrote, and
    OSError.
    """
    living: dict[int, RankReader] = {}
    for attempt in attempts_of_ranks(folder):
        place = folder / f"attempt-{attempt}"
        files = files_of_ranks(folder, attempt)
        if attempt >= before or not files or not place.is_dir():
            continue
        config = read_config(folder)
        observation = folders.continued(folder, attempt, config)
        with closing(Journal(place)) as journal:
            run = ObservedRun(folder, observation, config, journal)
            merger = Merger(run, folder, observation, max(file.world_size for file in files))
            try:
                merger.merge(is_rest=True)
            except ValueError as error:
                raise ConfigError([ConfigProblem("run folder", str(folder / RANKS), str(error))]) from None
        newest = {rank: file for rank, reader in merger.readers.items() if (file := reader.newest) is not None}
        alive = living_ranks(folder, newest)
        for rank, reader in merger.readers.items():
            if rank in alive:
                living[rank] = reader
            else:
                reader.close()
        with starting(folder):
            remove_rank_files(folder, attempt)
    return living


def merge_left_over(folder: Path) -> None:
    """Complete a run whose rank 0 is gone for good by the other ranks' reports; a run in progress is left alone.

    Raises ConfigError and OSError as `merge_rest`, and OutsideError for a folder with a link: anyone may have made it,
    and is written to.
    """
    if not attempts_of_ranks(folder):
        return
    if link := next((path for path in folder.rglob("*") if path.is_symlink()), None):
        raise OutsideError(f"{link} is a link: copy what it leads to, and import again")
    with starting(folder):
        if is_locked(folder / LOCK_FILE):
            return
    with exclusive(folder):
        for reader in merge_rest(folder, before=next_attempt(folder)).values():
            reader.close()
