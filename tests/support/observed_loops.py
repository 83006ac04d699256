"""Training loops that a test observes, each in a process that it can kill.

They are forked from one process that has imported `bapo.observe`: a fresh interpreter takes half a second for that.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from bapo import observe
from bapo.observe import rank_merge
from tests.support.waiting import PATIENCE_SECONDS, wait_until

FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload([__name__])


@dataclass(frozen=True)
class Loop:
    """A loop of some steps, which goes no further than a test has seen."""

    folder: Path
    """Of its run."""
    first: int
    last: int
    pauses: tuple[int, ...] = ()
    """Steps after which it waits for `release`."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """What `observe.run` is given besides the folder."""

    @property
    def rank(self) -> int:
        """Return its rank: 0 where it is the only one."""
        rank: int = self.given.get("rank", 0)
        return rank

    def has_paused(self, step: int) -> bool:
        """Return whether it waits after this step, or has waited."""
        return self._file("paused", step).exists()

    def release(self, step: int) -> None:
        """Let it train beyond the pause after this step."""
        self._file("released", step).touch()

    def lose_patience(self) -> None:
        """Let its steps wait no longer for ranks that do not run."""
        self._impatience.touch()

    def start(self) -> BaseProcess:
        """Start its process."""
        process = FORKING.Process(target=self._train, daemon=True)
        process.start()
        return process

    def _train(self) -> None:
        for name in ("BAPO_SERVER", "BAPO_TOKEN", "RANK"):
            os.environ.pop(name, None)
        rank_merge.PATIENCE_SECONDS = rank_merge.CLOSING_SECONDS = PATIENCE_SECONDS
        with observe.run(folder=self.folder, **self.given) as run:
            for step in range(self.first, self.last + 1):
                run.step(step, groups=[observe.Group(f"{step} on {self.rank}", [1, 0], ["a", "b"])])
                if step in self.pauses:
                    self._file("paused", step).touch()
                    wait_until(lambda step=step: self._is_released(step))  # type: ignore[misc]

    def _is_released(self, step: int) -> bool:
        if self._impatience.exists():
            rank_merge.PATIENCE_SECONDS = 0.0
        return self._file("released", step).exists()

    @property
    def _impatience(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.impatient")

    def _file(self, what: str, step: int) -> Path:
        return self.folder.with_name(f"{self.folder.name}.{self.rank}.{what}.{step}")
