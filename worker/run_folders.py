"""Writes into a run's folder in place of the trainer: before it starts, and after it was killed."""

from __future__ import annotations

from pathlib import Path

from bapo.api.workers import Claim
from bapo.config import ConfigError, ConfigProblem, RunConfig
from bapo.config.paths import PermittedFolders, named_paths
from bapo.records import EventRecord, StepRecord, dump_record
from bapo.run.control import ControlRequest, append_request
from bapo.run.fork import ForkOrigin, begin_fork
from bapo.run.journal import RECORDS_FILE, LineWriter, read_records
from bapo.run.steering import open_requests
from worker.attempts import Attempt, Ending


def check_paths(config: RunConfig, run_folder: Path, claim: Claim) -> None:
    """Raise ConfigError for each path in the config that leads out of the permitted folders on this machine.

    The server has checked them, but links on this machine are its own, and a run may have waited for long.
    """
    roots = [Path(root).resolve() for root in claim.resource_roots]
    folders = PermittedFolders(roots, closed=[run_folder.resolve().parent])
    named = named_paths(config).items()
    refused = [(field, value, folders.refusal(kind, value)) for field, (kind, value) in named]
    problems = [ConfigProblem(field, value, remedy) for field, value, remedy in refused if remedy is not None]
    if problems:
        raise ConfigError(problems)


def prepare(run_folder: Path, claim: Claim) -> None:
    """The checkpoint that a fork goes on from, and nothing left to answer of what was settled without a trainer.

    Raises CheckpointError where the parent's checkpoint is gone or damaged.
    """
    if claim.fork is not None:
        origin = ForkOrigin(run_id=claim.fork.run_id, step=claim.fork.step)
        begin_fork(run_folder, Path(claim.fork.run_dir), origin)
    for request in open_requests(run_folder):
        if request.id in claim.settled:
            append_request(
                run_folder, ControlRequest(id=f"{request.id}-withdrawn", author="system", withdraws=request.id)
            )


def record_stop(attempt: Attempt) -> Ending:
    """Answer the stop requests of a killed trainer in its journal, with the steps that were lost."""
    step, held = _progress(attempt)
    lost = f"{step - held} completed steps" if step > held else "the step under way"
    message = f"stopped at once: lost {lost} after the checkpoint of step {held}"
    with LineWriter(attempt.folder / RECORDS_FILE) as journal:
        for request in open_requests(attempt.run_folder):
            if request.stop and request.at_step is None:
                data = {"id": request.id, "author": request.author, "steps_lost": step - held}
                record = EventRecord(attempt=attempt.number, step=step, event="stop", message=message, data=data)
                journal.write(dump_record(record))
    return Ending(status="stopped", reason=message)


def _progress(attempt: Attempt) -> tuple[int, int]:
    """Latest completed step of the attempt, and the latest step with a checkpoint."""
    step = held = 0
    for record in read_records(attempt.folder / RECORDS_FILE):
        if isinstance(record, StepRecord) or (isinstance(record, EventRecord) and record.event in _BEGINNINGS):
            step = record.step
        if isinstance(record, EventRecord) and record.event in ("checkpoint", *_BEGINNINGS):
            held = record.step
    return step, held


_BEGINNINGS = ("resumed", "forked")
