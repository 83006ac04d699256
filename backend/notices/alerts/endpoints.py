"""Routes for alerts and alert rules."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path, Query
from sqlalchemy import ColumnElement, select

from backend.identity.projects import choice
from backend.kit.context import DbSession, new_router
from backend.kit.permissions import Reader, Writer
from backend.models import Alert, Project, Run
from backend.notices.alerts import preview, repository, service
from backend.runs import repository as runs
from bapo.api.alerts import (
    AlertInfo,
    AlertKind,
    AlertPage,
    AlertsAcknowledge,
    AlertsAcknowledged,
    AlertSummary,
    RuleDraft,
    RuleInfo,
    RulePage,
    RulePreview,
    RuleWrite,
)
from bapo.api.base import Text

router = new_router("alerts")

AlertId = Annotated[int, Path(ge=1, lt=2**63)]
State = Literal["open", "unseen", "resolved", "all"]
Limit = Annotated[int, Query(ge=1, le=500)]


@router.get("/alerts", summary="List alerts")
def list_alerts(
    _: Reader,
    session: DbSession,
    state: State = "all",
    kind: AlertKind | None = None,
    rule_id: Text | None = None,
    run_id: Text | None = None,
    project: Text | None = None,
    cursor: str | None = None,
    limit: Limit = 50,
) -> AlertPage:
    """List alerts, newest first. `open`: still true; `unseen`: open, not acknowledged; `resolved`: no longer true."""
    conditions: list[ColumnElement[bool]] = []
    if project is not None:
        conditions.append(Run.project_id.in_(select(Project.id).where(Project.name == project)))
    if state in ("open", "unseen"):
        conditions.append(Alert.resolved_at.is_(None))
    if state == "unseen":
        conditions.append(Alert.acknowledged_at.is_(None))
    if state == "resolved":
        conditions.append(Alert.resolved_at.is_not(None))
    for column, value in ((Alert.kind, kind), (Alert.rule_id, rule_id), (Alert.run_id, run_id)):
        if value is not None:
            conditions.append(column == value)
    return service.list_alerts(session, conditions, cursor, limit)


@router.get("/alerts/summary", summary="Count open alerts")
def alert_summary(caller: Reader, session: DbSession) -> AlertSummary:
    """Count alerts for the bell in the dashboard's header."""
    return service.summary(session, caller)


@router.post("/alerts/acknowledge", summary="Acknowledge alerts")
def acknowledge_alerts(caller: Writer, session: DbSession, body: AlertsAcknowledge) -> AlertsAcknowledged:
    """Acknowledge alerts: they no longer count at the bell, and stay open until their condition no longer holds."""
    return AlertsAcknowledged(num_acknowledged=service.acknowledge(session, body.ids, caller))


@router.get("/alerts/{alert_id}", summary="Get an alert")
def get_alert(_: Reader, session: DbSession, alert_id: AlertId) -> AlertInfo:
    """Get an alert by ID."""
    return service.alert_info(repository.alert(session, alert_id))


@router.get("/runs/{run_id}/alerts", summary="List a run's alerts")
def run_alerts(_: Reader, session: DbSession, run_id: str, cursor: str | None = None, limit: Limit = 200) -> AlertPage:
    """List the alerts of a run, newest first."""
    runs.get(session, run_id)
    return service.list_alerts(session, [Alert.run_id == run_id], cursor, limit)


@router.get("/alert-rules", summary="List alert rules")
def list_rules(caller: Reader, session: DbSession) -> RulePage:
    """List the alert rules of the caller's projects by name."""
    rows = repository.rules(session)
    return RulePage(items=[service.rule_info(row, caller) for row in rows])


@router.post("/alert-rules", status_code=201, summary="Create an alert rule")
def create_rule(caller: Writer, session: DbSession, body: RuleWrite) -> RuleInfo:
    """Create an alert rule. It checks all further steps of the runs it watches, and past steps of active runs."""
    return service.rule_info(service.create_rule(session, body, caller), caller)


@router.post("/alert-rules/preview", summary="Preview an alert rule")
def preview_rule(_: Reader, session: DbSession, body: RuleDraft) -> RulePreview:
    """Say where, and how often, the rule would have opened an alert in the newest twenty runs that it watches."""
    project_id = choice.for_reading(session, body.project)
    service.check_scope(session, body.scope, project_id)
    return preview.preview(session, body, project_id)


@router.get("/alert-rules/{rule_id}", summary="Get an alert rule")
def get_rule(caller: Reader, session: DbSession, rule_id: str) -> RuleInfo:
    """Get an alert rule by ID."""
    return service.rule_info(repository.rule(session, rule_id), caller)


@router.put("/alert-rules/{rule_id}", summary="Replace an alert rule")
def replace_rule(caller: Writer, session: DbSession, rule_id: str, body: RuleWrite) -> RuleInfo:
    """Replace a rule. Only its owner or an administrator may do this. Resolves the alerts that it opened before."""
    return service.rule_info(service.replace_rule(session, rule_id, body, caller), caller)


@router.delete("/alert-rules/{rule_id}", status_code=204, summary="Delete an alert rule")
def delete_rule(caller: Writer, session: DbSession, rule_id: str) -> None:
    """Delete a rule. Only its owner or an administrator may do this. Its past alerts stay in the history."""
    service.delete_rule(session, rule_id, caller)
