"""SQL of alert rules and alerts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, delete, func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, defer

from backend.kit.errors import existing
from backend.models import Alert, AlertFollower, AlertRule, AlertWatch, Project, Run, RunFindings, StreamRow, User

# ---------------------------------------------------------------- following


def lock_follower(session: Session) -> AlertFollower:
    """Lock the place up to which the event log was followed."""
    query = select(AlertFollower).with_for_update().execution_options(populate_existing=True)
    return session.scalars(query).one()


def runs(session: Session, run_ids: Collection[str]) -> Sequence[Run]:
    """Return the runs among these that trained here, without their configs."""
    query = select(Run).where(Run.id.in_(run_ids), Run.import_source.is_(None))
    return session.scalars(_light(query)).all()


def runs_with_status(session: Session, project_ids: Collection[str], statuses: Collection[str]) -> Sequence[Run]:
    """Return the runs of these projects in these states, without their configs."""
    query = select(Run).where(Run.project_id.in_(project_ids), Run.status.in_(statuses), Run.import_source.is_(None))
    return session.scalars(_light(query)).all()


def _light(query: Select[Run]) -> Select[Run]:
    # The texts and configs of a run may be long, and change with nothing that is looked at here.
    unread = (defer(column) for column in (Run.config, Run.explicit, Run.diff, Run.search_text, Run.notes))
    return query.options(*unread).execution_options(populate_existing=True)


def enabled_rules(session: Session, project_ids: Collection[str]) -> Sequence[AlertRule]:
    """Return the rules in force in these projects."""
    query = select(AlertRule).where(AlertRule.project_id.in_(project_ids), AlertRule.enabled).order_by(AlertRule.id)
    return session.scalars(query.execution_options(populate_existing=True)).all()


def enabled_rules_of_kind(session: Session, kind: str) -> Sequence[AlertRule]:
    """Return the rules of one kind in force in any project."""
    query = select(AlertRule).where(AlertRule.condition["kind"].astext == kind, AlertRule.enabled)
    return session.scalars(query.order_by(AlertRule.id).execution_options(populate_existing=True)).all()


def watches(session: Session, run_ids: Collection[str]) -> dict[tuple[str, str], AlertWatch]:
    """Return the memory of rules about these runs, by rule and run."""
    query = select(AlertWatch).where(AlertWatch.run_id.in_(run_ids)).execution_options(populate_existing=True)
    return {(watch.rule_id, watch.run_id): watch for watch in session.scalars(query)}


def open_alerts(session: Session, run_ids: Collection[str]) -> Sequence[Alert]:
    """Return the alerts of these runs that are not resolved, oldest first."""
    query = select(Alert).where(Alert.run_id.in_(run_ids), Alert.resolved_at.is_(None)).order_by(Alert.id)
    return session.scalars(query.execution_options(populate_existing=True)).all()


def open_alerts_of_rule(session: Session, rule_id: str) -> Sequence[Alert]:
    """Return the alerts of a rule that are not resolved."""
    return session.scalars(select(Alert).where(Alert.rule_id == rule_id, Alert.resolved_at.is_(None))).all()


def add_alert(session: Session, alert: Alert) -> bool:
    """Store an alert, unless it is there already."""
    columns = ("rule_id", "rule_name", "kind", "run_id", "occurrence", "step", "value", "message", "advice", "link")
    values = {name: getattr(alert, name) for name in columns}
    query = insert(Alert).values(values).on_conflict_do_nothing().returning(Alert.id, Alert.opened_at)
    row = session.execute(query).one_or_none()
    if row is not None:
        alert.id, alert.opened_at = row
    return row is not None


def found_lately(session: Session, project_ids: Collection[str], since: datetime) -> Sequence[tuple[Run, RunFindings]]:
    """Return runs of these projects that had not ended by then, without their configs, and their last findings.

    Observed runs came by the way of imports, but are news.
    """
    query = (
        select(Run)
        .join(RunFindings, RunFindings.run_id == Run.id)
        .where(
            Run.project_id.in_(project_ids),
            or_(Run.import_source.is_(None), Run.method == "observed"),
            or_(Run.finished_at.is_(None), Run.finished_at > since),
        )
    )
    found = {run.id: run for run in session.scalars(_light(query))}
    stored = select(RunFindings).where(RunFindings.run_id.in_(found)).execution_options(populate_existing=True)
    return [(found[each.run_id], each) for each in session.scalars(stored)]


def findings_of(session: Session, run_id: str) -> RunFindings | None:
    """Return the run's last findings; `None` before it was checked."""
    return session.get(RunFindings, run_id)


def newest_events(session: Session, run_ids: Collection[str]) -> dict[str, int]:
    """Return the ID of the newest event of each run that reports training."""
    query = (
        select(StreamRow.run_id, func.max(StreamRow.id))
        .where(StreamRow.run_id.in_(run_ids), StreamRow.event != "alert")
        .group_by(StreamRow.run_id)
    )
    return {row[0]: row[1] for row in session.execute(query)}


def forget(session: Session, rule_id: str) -> None:
    """Forget a rule's memory, so that it reads every run from the beginning."""
    session.execute(delete(AlertWatch).where(AlertWatch.rule_id == rule_id))


# ---------------------------------------------------------------- rules


class RuleRow(NamedTuple):
    """A rule, its author's name and its project's, and what it found."""

    rule: AlertRule
    owner: str
    project: str
    num_open: int
    last_opened_at: datetime | None


def _rules() -> Select[AlertRule, str, str, int, datetime | None]:
    found = (
        select(
            Alert.rule_id,
            func.count().filter(Alert.resolved_at.is_(None)).label("num_open"),
            func.max(Alert.opened_at).label("last"),
        )
        .join(Run, Run.id == Alert.run_id)
        .group_by(Alert.rule_id)
        .subquery()
    )
    return (
        select(AlertRule, User.name, Project.name, func.coalesce(found.c.num_open, 0), found.c.last)
        .join(User, User.id == AlertRule.owner_id)
        .join(Project, Project.id == AlertRule.project_id)
        .outerjoin(found, found.c.rule_id == AlertRule.id)
    )


def rules(session: Session) -> list[RuleRow]:
    """Return all rules that the session sees, by name."""
    query = _rules().order_by(func.lower(AlertRule.name), AlertRule.id)
    return [RuleRow(*row) for row in session.execute(query)]


def rule(session: Session, rule_id: str) -> RuleRow:
    """Return one rule of the caller's projects. Raises Problem 404."""
    row = session.execute(_rules().where(AlertRule.id == rule_id)).one_or_none()
    return RuleRow(*existing(row, "alert rule", rule_id))


def count_rules(session: Session, project_id: str) -> int:
    """Return the number of rules of a project."""
    return session.scalars(select(func.count()).where(AlertRule.project_id == project_id)).one()


def newest_runs(
    session: Session, project_id: str | None, conditions: Sequence[ColumnElement[bool]], limit: int
) -> Sequence[Run]:
    """Return the newest runs that have trained, without their configs."""
    query = select(Run).where(Run.project_id == project_id, Run.attempt > 0, *conditions)
    return session.scalars(_light(query).order_by(Run.created_at.desc(), Run.id.desc()).limit(limit)).all()


# ---------------------------------------------------------------- alerts


class AlertRow(NamedTuple):
    """An alert, its run's name, and the run's project."""

    alert: Alert
    run: str
    project_id: str


def _alerts() -> Select[Alert, str, str]:
    # By way of the run: a caller sees the alerts of the runs that they see.
    return select(Alert, Run.name, Run.project_id).join(Run, Run.id == Alert.run_id)


def alerts(
    session: Session, conditions: Sequence[ColumnElement[bool]], before_id: int | None, limit: int
) -> list[AlertRow]:
    """Return the newest first."""
    query = _alerts().where(*conditions).order_by(Alert.id.desc()).limit(limit)
    if before_id is not None:
        query = query.where(Alert.id < before_id)
    return [AlertRow(*row) for row in session.execute(query)]


def alert(session: Session, alert_id: int) -> AlertRow:
    """Return one alert of a run that the caller sees. Raises Problem 404."""
    row = session.execute(_alerts().where(Alert.id == alert_id)).one_or_none()
    return AlertRow(*existing(row, "alert", str(alert_id)))


def count_unseen(session: Session, conditions: Sequence[ColumnElement[bool]]) -> tuple[int, int]:
    """Return the numbers of alerts that are neither resolved nor acknowledged, and of runs that have them."""
    query = select(func.count(), func.count(Alert.run_id.distinct())).select_from(Alert)
    alerts, with_alerts = session.execute(query.join(Run, Run.id == Alert.run_id).where(*conditions)).one()
    return alerts, with_alerts


def lock_unacknowledged(session: Session, alert_ids: Collection[int]) -> Sequence[Alert]:
    """Return the unacknowledged ones of these alerts, locked."""
    query = (
        select(Alert)
        .join(Run, Run.id == Alert.run_id)
        .where(Alert.id.in_(alert_ids), Alert.acknowledged_at.is_(None))
        .order_by(Alert.id)
        .with_for_update(of=Alert)
    )
    return session.scalars(query).all()
