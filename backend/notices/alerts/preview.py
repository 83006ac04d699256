"""Replays a rule over the records of the newest runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from backend.models import AuditRow, Run, StepRow
from backend.notices.alerts import finding_rules, repository, texts
from backend.notices.alerts.rules import run_conditions
from backend.notices.alerts.watches import Finding, Watch, read_all, watch_of
from backend.records import series
from backend.records.repository import StepRange
from bapo.api.alerts import (
    AlertCondition,
    FindingCondition,
    PreviewFiring,
    PreviewRun,
    RuleDraft,
    RulePreview,
    StalledCondition,
)

NUM_RUNS = 20
MOST_FIRINGS = 50
"""Firings of one run that are listed; all are counted."""
_LAST_STEP = 2**31 - 1
_TIME = "timing_s/unix_time"
_MOVES = {"finished": "succeeded", "failed": "failed", "lost": "lost"}


def preview(session: Session, draft: RuleDraft, project_id: str | None) -> RulePreview:
    """Return the newest runs that the rule watches, and where it would have opened an alert."""
    found = repository.newest_runs(session, project_id, run_conditions(draft.scope), NUM_RUNS)
    runs, num_firings = [], 0
    for run in found:
        num_values, firings = _replay(session, draft.condition, run)
        num_firings += len(firings)
        runs.append(
            PreviewRun(
                run_id=run.id, name=run.name, step=run.step, num_values=num_values, firings=firings[:MOST_FIRINGS]
            )
        )
    return RulePreview(sentence=texts.sentence(draft), num_runs=len(runs), num_firings=num_firings, runs=runs)


def _replay(session: Session, condition: AlertCondition, run: Run) -> tuple[int, list[PreviewFiring]]:
    watch = watch_of(condition)
    if watch is not None:
        return _replay_metric(session, watch, run)
    if isinstance(condition, StalledCondition):
        return _replay_silences(session, condition, run)
    if isinstance(condition, FindingCondition):
        return _replay_findings(session, condition, run)
    return run.step, _replay_moves(session, _MOVES[condition.kind], run)


def _replay_findings(session: Session, condition: FindingCondition, run: Run) -> tuple[int, list[PreviewFiring]]:
    """Return the last findings; when they appeared is not stored."""
    stored = repository.findings_of(session, run.id)
    if stored is None:
        return 0, []
    found = finding_rules.matching(condition, stored)
    firing = PreviewFiring(step=stored.step, value=float(len(found)), resolved_step=None)
    return run.step, [firing] if found else []


def _replay_metric(session: Session, watch: Watch, run: Run) -> tuple[int, list[PreviewFiring]]:
    columns = series.read(session, run.id, [watch.key], StepRange(0, _LAST_STEP))
    values = columns.values[watch.key]
    pairs = list(zip(columns.steps.tolist(), values.tolist(), strict=True))
    return len(pairs), firings_of(read_all(watch, {}, pairs))


def firings_of(findings: Sequence[Finding]) -> list[PreviewFiring]:
    """Return each opening with the resolution that follows it."""
    firings: list[PreviewFiring] = []
    for finding in findings:
        if finding.change == "opened":
            firings.append(PreviewFiring(step=finding.step, value=finding.value, resolved_step=None))
        else:
            firings[-1].resolved_step = finding.step
    return firings


def _replay_silences(session: Session, condition: StalledCondition, run: Run) -> tuple[int, list[PreviewFiring]]:
    """Return the steps of one attempt that were further apart than the limit, by the trainer's clock."""
    columns = series.read_training(session, run.id, [_TIME], StepRange(1, _LAST_STEP))
    query = select(StepRow.step, StepRow.attempt).where(StepRow.run_id == run.id).order_by(StepRow.step)
    rows = session.execute(query).all()
    attempts = dict(zip((row[0] for row in rows), (row[1] for row in rows), strict=True))
    gaps = np.diff(columns.values[_TIME]) / 60
    firings = [
        PreviewFiring(step=before, value=minutes, resolved_step=after)
        for before, after, minutes in zip(
            columns.steps[:-1].tolist(), columns.steps[1:].tolist(), gaps.tolist(), strict=True
        )
        if minutes >= condition.minutes and attempts.get(before) == attempts.get(after)
    ]
    return len(columns.steps), firings


def _replay_moves(session: Session, status: str, run: Run) -> list[PreviewFiring]:
    query = select(AuditRow).where(AuditRow.run_id == run.id, AuditRow.action == "status").order_by(AuditRow.id)
    moves = [row.detail.get("to") for row in session.scalars(query)]
    return [PreviewFiring(step=run.step, value=None, resolved_step=None) for move in moves if move == status]
