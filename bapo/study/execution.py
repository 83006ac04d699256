"""Makes the runs of a study in its folder: several trainers at once, none twice, interrupted ones resumed."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from bapo.config.errors import ConfigError, ConfigProblem
from bapo.engines.verl.interpreter import trainer_python
from bapo.run import nvidia_smi
from bapo.run.line_reader import LOG_FILE
from bapo.run.trainer import EXIT_STOPPED
from bapo.run.trainer_process import TrainerProcess, start_trainer
from bapo.run.zygote_client import Zygote, can_fork
from bapo.study.folder import FAILURE_FILE, StudyFolder, is_held, state_of
from bapo.study.plan import PlannedRun, final_runs, tuning_runs
from bapo.study.report import choose

LOOK_SECONDS = 0.5
"""Between two looks at a trainer that an earlier, killed `bapo study` left behind."""
POLL_SECONDS = 0.05
"""Between two looks at a trainer of this one."""


class Outcome(NamedTuple):
    """The end of one run."""

    run: PlannedRun
    state: str
    reason: str | None
    seconds: float
    """Duration of this call, in seconds; 0 for a run that was done already."""


Say = Callable[[Outcome], None]


class StudyRunner:
    """Works through a study's runs with several trainers at once."""

    def __init__(self, folder: StudyFolder, *, workers: int, say: Say) -> None:
        self._folder = folder
        self._workers = workers
        self._say = say
        self._stopped = threading.Event()
        self._guard = threading.Lock()
        self._trainers: set[TrainerProcess] = set()
        self._zygote = Zygote()

    def run(self) -> list[Outcome]:
        """Make what is missing: first the runs that choose settings, then those that count.

        Raises ConfigError where another `bapo study` is using the folder, or no setting could be chosen.
        """
        with self._folder.exclusive(), closing(self._zygote):
            outcomes = []
            if self._folder.choices is None:
                outcomes += self._make(tuning_runs(self._folder.study))
                if self._stopped.is_set():
                    return outcomes
                self._choose()
            return outcomes + self._make(final_runs(self._folder.study, self._folder.choices or {}))

    def stop(self) -> None:
        """Let the trainers end at their next step boundary, with a checkpoint, and start no more."""
        with self._guard:
            self._stopped.set()
            for trainer in self._trainers:
                trainer.ask_to_stop()

    def _choose(self) -> None:
        infos = [info for info in self._folder.runs() if info.stage == "tuning"]
        failed = [info for info in infos if info.state != "done"]
        if failed:
            remedy = f"it is {failed[0].state} ({failed[0].reason or 'no reason known'}): fix that, then run again"
            raise ConfigError([ConfigProblem("tuning run", failed[0].name, remedy)])
        self._folder.write_choices(choose(self._folder.study, infos, self._folder.measured(infos)))

    def _make(self, runs: Sequence[PlannedRun]) -> list[Outcome]:
        with ThreadPoolExecutor(self._workers) as pool:
            return list(pool.map(self._make_one, runs))

    def _make_one(self, run: PlannedRun) -> Outcome:
        place = self._folder.run_folder(run)
        while is_held(place) and not self._stopped.wait(LOOK_SECONDS):
            pass
        state, reason, _ = state_of(place)
        begin = time.monotonic()
        if state != "done" and not self._stopped.is_set():
            self._train(run)
            state, reason, _ = state_of(place)
        outcome = Outcome(run, state, reason, time.monotonic() - begin)
        self._say(outcome)
        return outcome

    def _train(self, run: PlannedRun) -> None:
        place, config = self._folder.prepare(run), self._folder.config_of(run)
        python = trainer_python(config)
        trainer = start_trainer(
            str(place),
            python=python,
            environment=os.environ,
            threads=config.engine.threads,
            log=place / LOG_FILE,
            zygote=self._zygote if can_fork(config.engine, python, has_gpus=self._has_gpus) else None,
        )
        with self._guard:
            self._trainers.add(trainer)
            if self._stopped.is_set():
                trainer.ask_to_stop()
        while trainer.is_running():
            time.sleep(POLL_SECONDS)
        with self._guard:
            self._trainers.discard(trainer)
        # One that was asked before it listened, while it loads PyTorch, is ended by the signal itself.
        was_asked = self._stopped.is_set() and trainer.exit_code == -signal.SIGTERM
        _note_failure(place, EXIT_STOPPED if was_asked else trainer.exit_code or 0)

    @cached_property
    def _has_gpus(self) -> bool:
        return bool(nvidia_smi.query("index"))


def _note_failure(place: Path, code: int) -> None:
    """Note the last line of a trainer's log as the reason; for a killed trainer, which has none, the exit code."""
    note = place / FAILURE_FILE
    if code in (0, EXIT_STOPPED):
        note.unlink(missing_ok=True)
        return
    lines = (place / LOG_FILE).read_text(encoding="utf-8", errors="replace").strip().splitlines()
    note.write_text(f"exit code {code}: {lines[-1] if lines else 'nothing was said'}"[:2_000], encoding="utf-8")
