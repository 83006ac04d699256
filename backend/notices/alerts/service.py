"""Creates, replaces and deletes rules; acknowledges alerts."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from backend.identity.audit.repository import add_audit
from backend.identity.projects import choice
from backend.kit.bodies import rendered
from backend.kit.cursors import decode_numbers, encode
from backend.kit.database import clock
from backend.kit.errors import Problem
from backend.kit.principal import Principal
from backend.models import Alert, AlertRule
from backend.notices.alerts import repository, texts
from backend.notices.alerts.alert_lifecycle import announce_alert
from backend.notices.alerts.repository import AlertRow, RuleRow
from backend.notices.alerts.rules import read_rule, scope_of
from backend.notices.webhooks import repository as webhooks
from backend.runs import repository as runs
from bapo.api.alerts import AlertInfo, AlertPage, AlertSummary, RuleInfo, RuleScope, RuleWrite

_CURSOR = "alerts"
MOST_RULES = 200
"""Maximum number of rules of a project: each is judged at every step of every run that it watches."""
NUM_NEWEST = 5

# ---------------------------------------------------------------- rules


def rule_info(row: RuleRow, caller: Principal) -> RuleInfo:
    """Render a rule for the API. Raises Problem 409 if a newer version wrote it."""
    rule = read_rule(row.rule)
    if rule is None:
        remedy = "this rule was written by a newer version of the server: update the server"
        raise Problem(409, "unknown_kind", remedy, field="rule_id")
    return rendered(
        RuleInfo,
        row,
        row.rule,
        condition=rule.condition,
        scope=scope_of(row.rule),
        sentence=texts.sentence(rule.draft),
        may_change=caller.may_change(row.rule),
    )


def create_rule(session: Session, body: RuleWrite, caller: Principal) -> RuleRow:
    """Return a rule of the project. Raises Problem 404 for a run that is not there, 409 where there are too many."""
    project_id = choice.for_new(session, caller, body.project).id
    if repository.count_rules(session, project_id) >= MOST_RULES:
        raise Problem(409, "too_many", f"the project has {MOST_RULES} rules: delete one first")
    rule = AlertRule(project_id=project_id, owner_id=caller.id)
    _write(session, rule, body)
    session.add(rule)
    session.flush()
    _note(session, rule, caller, "alert rule created")
    return repository.rule(session, rule.id)


def replace_rule(session: Session, rule_id: str, body: RuleWrite, caller: Principal) -> RuleRow:
    """Replace a rule under its ID; resolves its open alerts and evaluates runs from the beginning."""
    rule = _own_rule(session, rule_id, caller)
    if body.project is not None:
        rule.project_id = choice.for_new(session, caller, body.project).id
    _write(session, rule, body)
    rule.updated_at = clock(session)
    repository.forget(session, rule.id)
    _resolve_all(session, rule, f"{caller.name} changed the rule")
    session.flush()
    _note(session, rule, caller, "alert rule changed")
    return repository.rule(session, rule_id)


def delete_rule(session: Session, rule_id: str, caller: Principal) -> None:
    """Delete a rule; what it found stays."""
    rule = _own_rule(session, rule_id, caller)
    _resolve_all(session, rule, f"{caller.name} deleted the rule")
    _note(session, rule, caller, "alert rule deleted")
    session.flush()
    session.delete(rule)


def _own_rule(session: Session, rule_id: str, caller: Principal) -> AlertRule:
    # Against the follower, which reads the rule and writes what it found under it.
    repository.lock_follower(session)
    row = repository.rule(session, rule_id)
    if not caller.may_change(row.rule):
        remedy = f"only {row.owner} and the project's administrators may change this rule: create your own"
        raise Problem(403, "not_your_rule", remedy, field="rule_id", value=rule_id)
    return row.rule


def _write(session: Session, rule: AlertRule, body: RuleWrite) -> None:
    check_scope(session, body.scope, rule.project_id)
    rule.name = body.name
    rule.condition = body.condition.model_dump(mode="json")
    rule.tag, rule.method, rule.run_id = body.scope.tag, body.scope.method, body.scope.run_id
    rule.enabled = body.enabled


def check_scope(session: Session, scope: RuleScope, project_id: str | None) -> None:
    """Raise Problem 404 or 422 if the rule is about a run that does not exist, or is not in its project."""
    if scope.run_id is None:
        return
    try:
        run = runs.get(session, scope.run_id)
    except Problem as problem:
        problem.field, problem.value = "scope.run_id", scope.run_id
        raise
    if run.project_id != project_id:
        remedy = "the run belongs to another project: create the rule there"
        raise Problem(422, "other_project", remedy, field="scope.run_id", value=scope.run_id)


def _resolve_all(session: Session, rule: AlertRule, resolution: str) -> None:
    now = clock(session)
    for alert in repository.open_alerts_of_rule(session, rule.id):
        alert.resolved_at, alert.resolution = now, resolution
        announce_alert(session, alert, "resolved")


def _note(session: Session, rule: AlertRule, caller: Principal, action: str) -> None:
    detail = {"rule_id": rule.id, "name": rule.name, "condition": rule.condition}
    add_audit(session, None, caller.name, action, detail)


# ---------------------------------------------------------------- alerts


def alert_info(row: AlertRow) -> AlertInfo:
    """Render an alert for the API."""
    return rendered(AlertInfo, row, row.alert, rule=row.alert.rule_name)


def list_alerts(
    session: Session, conditions: Sequence[ColumnElement[bool]], cursor: str | None, limit: int
) -> AlertPage:
    """Return a page, the newest first. Raises Problem 422 for a cursor of another list."""
    before = None if cursor is None else decode_numbers(cursor, _CURSOR)[1]
    rows = repository.alerts(session, conditions, before, limit + 1)
    page = rows[:limit]
    next_cursor = encode(_CURSOR, [0, page[-1].alert.id]) if len(rows) > limit else None
    return AlertPage(items=[alert_info(row) for row in page], next_cursor=next_cursor)


def summary(session: Session, caller: Principal) -> AlertSummary:
    """Count open alerts."""
    unseen = [Alert.resolved_at.is_(None), Alert.acknowledged_at.is_(None)]
    num_open, num_runs = repository.count_unseen(session, unseen)
    newest = repository.alerts(session, unseen, None, NUM_NEWEST) if num_open else []
    return AlertSummary(
        num_open=num_open,
        num_runs=num_runs,
        newest=[alert_info(row) for row in newest],
        num_disabled_webhooks=webhooks.count_given_up(session, caller.id),
    )


def acknowledge(session: Session, alert_ids: Sequence[int], caller: Principal) -> int:
    """Acknowledge alerts; returns how many were not acknowledged before. Resolves alerts about failures.

    Raises Problem 404 where one of them is not there, 403 where the caller only looks into its project.
    """
    for alert_id in alert_ids:
        if not caller.may_write_in(repository.alert(session, alert_id).project_id):
            remedy = "you have read access only to this alert's project: ask one of its members"
            raise Problem(403, "forbidden", remedy, field="ids", value=alert_id)
    now = clock(session)
    alerts = repository.lock_unacknowledged(session, alert_ids)
    for alert in alerts:
        alert.acknowledged_at, alert.acknowledged_by = now, caller.name
        if alert.kind == "failed" and alert.resolved_at is None:
            alert.resolved_at, alert.resolution = now, f"acknowledged by {caller.name}"
        detail = {"alert_id": alert.id, "rule": alert.rule_name}
        add_audit(session, alert.run_id, caller.name, "alert acknowledged", detail)
        announce_alert(session, alert, "acknowledged")
    return len(alerts)
