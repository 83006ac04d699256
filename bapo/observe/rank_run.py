"""A rank of a run that several record together: its calls are written to a separate file, which rank 0 merges."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from bapo.config import RunConfig
from bapo.observe.observation import Lines
from bapo.observe.observed_run import ObservedRun
from bapo.observe.rank_files import open_rank_file
from bapo.observe.rank_merge import Merger
from bapo.observe.rank_reports import RankObservation
from bapo.run.journal import LineWriter


class _Files(NamedTuple):
    """All of a rank goes into one file."""

    records: LineWriter
    samples: LineWriter


class RankRun(ObservedRun):
    """The run as one rank sees it."""

    def __init__(self, folder: Path, observation: RankObservation, config: RunConfig, held: ExitStack) -> None:
        """Begin the rank's file; `starting` is held. Raises ConfigError where the rank is running already."""
        writer = open_rank_file(folder, observation.rank, observation.world_size, held)
        super().__init__(folder, observation, config, _Files(writer, writer), held)
        self.merger: Merger | None = None
        """Merger of rank 0; `None` in other ranks."""
        # The config is completed by what is merged.
        self._has_sizes = True

    def finish(self, error: BaseException | None = None) -> None:
        """End this rank; rank 0 waits a while for the others, and ends the run."""
        if self._is_forked:
            return
        super().finish(error)
        merger, self.merger = self.merger, None
        if merger is not None:
            merger.finish(error)

    def _write(self, lines: Lines, *, is_event: bool = False) -> None:
        super()._write(lines, is_event=is_event)
        if self.merger is not None:
            self.merger.wake()
