"""Studies on this machine: train one in a folder, check a file, read a folder's report."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path

from bapo.analysis.number_format import counted
from bapo.cli.failures import RefusedError
from bapo.cli.output import duration, say
from bapo.config import ConfigProblem
from bapo.study.declaration import Declaration, load
from bapo.study.examination import checked
from bapo.study.execution import Outcome, StudyRunner
from bapo.study.folder import StudyFolder
from bapo.study.report import primary_words
from bapo.study.results import StudyReport


def train(
    file: str, out: Path | None, *, num_workers: int, amend: str | None
) -> tuple[Path, StudyReport, Sequence[Outcome]]:
    """Train the runs of a study file that are not done. Returns the folder, the report and what became of each run.

    Raises ConfigError for a declaration that cannot be run, or that is not that of the folder.
    """
    text = load(file)
    study, warnings = checked(text)
    for warning in warnings:
        say(f"warning: {warning}")
    if amend is not None and not amend.strip():
        raise RefusedError("--amend needs a reason: write why the declaration changes")
    folder = StudyFolder.begin(out or Path("studies") / Path(file).stem, text, amend=amend)
    runner = StudyRunner(folder, workers=num_workers, say=_Progress(study.num_runs))
    _stop_on_signals(runner)
    say(f"{counted(study.num_runs, 'run')} in {folder.path}; {primary_words(study)}")
    outcomes = runner.run()
    return folder.path, folder.report(), outcomes


def examined(file: str) -> tuple[Declaration, Sequence[ConfigProblem], str]:
    """Return a study, its warnings, and its primary comparison in words. Raises ConfigError with all its problems."""
    study, warnings = checked(load(file))
    return study, warnings, primary_words(study)


def report_of(folder: Path) -> StudyReport:
    """Return the report on the finished runs. Raises ConfigError if the folder holds no study."""
    return StudyFolder.open(folder).report()


class _Progress:
    """A line for each run that has ended."""

    def __init__(self, num_runs: int) -> None:
        self._num_runs = num_runs
        self._num_ended = 0

    def __call__(self, outcome: Outcome) -> None:
        """Print the outcome; the thread that waited for the run calls this."""
        self._num_ended += 1
        took = f" in {duration(outcome.seconds)}" if outcome.seconds >= 1 else ""
        reason = f": {outcome.reason}" if outcome.reason else ""
        say(f"{self._num_ended}/{self._num_runs} {outcome.run.name}: {outcome.state}{took}{reason}")


def _stop_on_signals(runner: StudyRunner) -> None:
    def stop(number: int, _: object) -> None:
        # The second one ends at once; the trainers then end their runs by themselves.
        signal.signal(number, signal.SIG_DFL)
        say("stopping at the next step boundary, with checkpoints; the same command resumes")
        runner.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
