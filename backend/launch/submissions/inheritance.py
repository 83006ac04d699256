"""Copies a parent's records up to the checkpoint into its fork, so that its curves begin with them.

They are copied, as records of attempt 0: the parent may be deleted, and every page reads one run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Select, Table, insert, literal, select
from sqlalchemy.orm import Session

from backend.models import Base, MetricChunk, MetricKey, MetricTail, PromptText, Run, Sample, SparseRecord, StepRow
from backend.models.records import INHERITED_ATTEMPT
from backend.records import chunks
from backend.records.best import best_evaluation
from backend.records.repository import recent_reward


def inherit(session: Session, run: Run, parent: Run, step: int) -> None:
    """Copy what the parent recorded up to `step`, and bring the new run's own row up to it."""
    _copy(session, StepRow, run, parent, StepRow.step <= step)
    whole = (step // chunks.CHUNK_STEPS) - 1
    _copy(session, MetricTail, run, parent, MetricTail.step <= step)
    _copy(session, MetricChunk, run, parent, MetricChunk.chunk <= whole)
    # The parent's chunk that the fork leaves in the middle becomes rows again.
    chunks.write_metrics(session, run.id, StepRow.step > chunks.last_step(whole))
    _copy(session, MetricKey, run, parent)
    is_change = SparseRecord.record["event"].astext == "parameter_change"
    # A change is recorded at the last step without it.
    _copy(
        session,
        SparseRecord,
        run,
        parent,
        ((SparseRecord.type != "event") & (SparseRecord.step <= step)) | (is_change & (SparseRecord.step < step)),
    )
    _copy(session, Sample, run, parent, Sample.step <= step)
    _copy(session, PromptText, run, parent)
    _bring_up_to_date(session, run, parent, step)


# The typed overloads of `select` take no list of columns.
_select: Callable[..., Select[Any]] = select


def _copy(session: Session, table: type[Base], run: Run, parent: Run, *conditions: Any) -> None:
    """Copy rows to the new run, with new row IDs."""
    columns: Table = table.__table__  # type: ignore[assignment]
    given = {"run_id": literal(run.id), "attempt": literal(INHERITED_ATTEMPT)}
    names = [column.name for column in columns.columns if column.identity is None]
    values: list[Any] = [given.get(name, columns.columns[name]) for name in names]
    rows = _select(*values).where(columns.columns["run_id"] == parent.id, *conditions)
    if "id" in columns.columns:
        rows = rows.order_by(columns.columns["id"])
    session.execute(insert(table).from_select(names, rows))


def _bring_up_to_date(session: Session, run: Run, parent: Run, step: int) -> None:
    last = session.execute(select(StepRow.record).where(StepRow.run_id == run.id, StepRow.step == step)).scalar_one()
    run.step = step
    run.num_rollouts = last["cost"]["num_rollouts"]
    run.reward_mean = recent_reward(session, run.id, step)
    run.step_seconds = parent.step_seconds
    if parent.eval_name is None:
        return
    dataset, _, _ = parent.eval_name.rpartition(" ")
    query = (
        select(SparseRecord.step, SparseRecord.num_problems, SparseRecord.problems, SparseRecord.record)
        .where(SparseRecord.run_id == run.id, SparseRecord.type == "evaluation", SparseRecord.identity == dataset)
        .order_by(SparseRecord.step.desc())
        .limit(1)
    )
    newest = session.execute(query).one_or_none()
    if newest is None:
        return
    run.eval_name, run.eval_base = parent.eval_name, parent.eval_base
    run.eval_step, run.eval_num_problems, run.eval_problems, record = newest
    run.eval_latest = record["avg_at_k"]["value"]
    run.eval_best, run.eval_best_step = best_evaluation(session, run.id, parent.eval_name, run.eval_problems)
