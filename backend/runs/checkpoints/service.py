"""Works out which checkpoints a run keeps, by the same rule as `bapo.run.checkpoint.write_checkpoint`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from sqlalchemy.orm import Session

from backend.kit.errors import Problem
from backend.models import Run
from backend.runs.checkpoints import repository
from backend.runs.checkpoints.repository import Written
from backend.settings.environment import Settings
from bapo.api.artifacts import CheckpointInfo
from bapo.api.workers import ForkSource
from bapo.run.checkpoint import checkpoint_name


def kept(session: Session, run: Run) -> list[CheckpointInfo]:
    """Return the checkpoints of a run, newest first; none of an imported run, whose folder is nowhere that we reach."""
    storage = repository.storage(session, run.id)
    if run.host is None or (storage is not None and storage.checkpoints_deleted_at is not None):
        return []
    newest_first = remaining(repository.written(session, run.id), run.config["training"]["keep_checkpoints"])[::-1]
    sizes = {each["step"]: each["bytes"] for each in (storage.checkpoints or () if storage else ())}
    accuracies: dict[int, dict[str, float]] = {}
    for step, record in repository.evaluations(session, run.id, [each.step for each in newest_first]):
        name = f"{record['dataset']} avg@{record['num_samples']}"
        accuracies.setdefault(step, {})[name] = record["avg_at_k"]["value"]
    return [
        CheckpointInfo(
            step=each.step,
            name=checkpoint_name(each.step),
            attempt=each.attempt,
            written_at=_time(each.record.get("timing", {})),
            num_bytes=sizes.get(each.step),
            evaluations=accuracies.get(each.step, {}),
        )
        for each in newest_first
    ]


def find(session: Session, run: Run, step: int) -> CheckpointInfo:
    """Return one checkpoint. Raises Problem 404 naming those that there are."""
    found = kept(session, run)
    for each in found:
        if each.step == step:
            return each
    there_are = ", ".join(str(each.step) for each in found) or "none"
    raise Problem(
        404, "no_checkpoint", f"the run has no checkpoint of this step: it has {there_are}", field="step", value=step
    )


def remaining(written: Sequence[Written], keep: int) -> list[Written]:
    """Return the checkpoints that remain of those written in this order, oldest first.

    Each checkpoint removes those of the same and of later steps, as the run went back behind them, and the oldest
    beyond `keep` but for the one that it names as the best.
    """
    left: list[Written] = []
    for each in written:
        left = [*(other for other in left if other.step < each.step), each]
        best = each.record.get("data", {}).get("best")
        left = [other for index, other in enumerate(left) if index >= len(left) - keep or other.step == best]
    return left


def _time(timing: Mapping[str, float]) -> datetime | None:
    seconds = timing.get("unix_time")
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def fork_source(run: Run, settings: Settings) -> ForkSource | None:
    """Return the checkpoint that a run starts from; None if it is not a fork."""
    if run.fork_step is None:
        return None
    assert run.forked_from is not None, "both are set together"
    return ForkSource(run_id=run.forked_from, run_dir=str(settings.runs_dir / run.forked_from), step=run.fork_step)
