"""Writes into a run's folder in place of the trainer: before it starts, and after it was killed."""

from __future__ import annotations

import os
from pathlib import Path

from bapo.api.workers import Claim
from bapo.config import ConfigError, ConfigProblem, RunConfig, parse_config
from bapo.config.paths import PermittedFolders, named_paths
from bapo.config.resolve import config_digest
from bapo.records import EventRecord, StepRecord, dump_record
from bapo.run.control import ControlRequest, append_request
from bapo.run.fork import ForkOrigin, begin_fork
from bapo.run.journal import RECORDS_FILE, LineWriter, read_records
from bapo.run.steering import open_requests
from worker.attempts import Attempt, Ending
from worker.errors import WorkerError


def runs_dir_here(servers: Path, own: Path, *, is_shared: bool) -> Path:
    """Return the folder of the runs on this machine: the server's path, or `own` if that is unusable.

    Raises WorkerError if the server's folder is shared: no other worker would find the checkpoints elsewhere.
    """
    try:
        servers.mkdir(parents=True, exist_ok=True)
        problem = None if os.access(servers, os.W_OK | os.X_OK) else "permission denied"
    except OSError as error:
        problem = error.strerror or str(error)
    if problem is None:
        return servers
    if is_shared:
        raise WorkerError(
            f"{servers}, the folder of the runs that all machines share, cannot be written here ({problem}): mount it, "
            "or say where it is with --runs-dir"
        )
    return own


def folder_here(run_dir: str, runs_dir: Path) -> Path:
    """Return the folder below `runs_dir`, on this machine, for the server's path of a run."""
    return runs_dir / Path(run_dir).name


def submitted_config(claim: Claim) -> RunConfig:
    """Return the config of a claimed run. Raises ConfigError where it is not the one that was checked and submitted."""
    digest = config_digest(claim.config)
    # Servers of earlier releases send none.
    if claim.config_digest not in (None, digest):
        remedy = f"the config has changed since it was checked (now: {digest}): clone the run to check it again"
        raise ConfigError([ConfigProblem("config_digest", claim.config_digest, remedy)])
    return parse_config(claim.config)


def check_paths(config: RunConfig, run_folder: Path, claim: Claim) -> None:
    """Raise ConfigError for each path in the config that leads out of the permitted folders on this machine.

    The server has checked them, but links on this machine are its own, and a run may have waited for long.
    """
    roots = [Path(root).resolve() for root in claim.resource_roots]
    folders = PermittedFolders(roots, closed=[run_folder.resolve().parent])
    # Uploaded content is the server's own choice, and is compared with its checksum where it is fetched.
    uploaded = {content.path for content in claim.contents}
    named = [(field, *named) for field, named in named_paths(config).items() if named[1] not in uploaded]
    refused = [(field, value, folders.refusal(kind, value)) for field, kind, value in named]
    problems = [ConfigProblem(field, value, remedy) for field, value, remedy in refused if remedy is not None]
    if problems:
        raise ConfigError(problems)


def prepare(run_folder: Path, claim: Claim) -> None:
    """Copy the checkpoint from which a fork starts, and withdraw requests that were settled without a trainer.

    Raises CheckpointError if the parent's checkpoint is missing or damaged.
    """
    if claim.fork is not None:
        origin = ForkOrigin(run_id=claim.fork.run_id, step=claim.fork.step)
        begin_fork(run_folder, folder_here(claim.fork.run_dir, run_folder.parent), origin)
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
    """Return the latest completed step of the attempt, and the latest step with a checkpoint."""
    step = held = 0
    for record in read_records(attempt.folder / RECORDS_FILE):
        if isinstance(record, StepRecord) or (isinstance(record, EventRecord) and record.event in _BEGINNINGS):
            step = record.step
        if isinstance(record, EventRecord) and record.event in ("checkpoint", *_BEGINNINGS):
            held = record.step
    return step, held


_BEGINNINGS = ("resumed", "forked")
