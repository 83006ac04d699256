"""Judges the rules about findings, from what was found in each run last: nothing is computed here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from backend.models import Alert, AlertWatch, Run, RunFindings
from backend.notices.alerts import repository, texts
from backend.notices.alerts.alert_lifecycle import AlertBook
from backend.notices.alerts.rules import Rule, read_rule
from bapo.analysis.findings.finding import SEVERITIES
from bapo.api.alerts import FindingCondition


def matching(condition: FindingCondition, stored: RunFindings) -> dict[str, str]:
    """Return the titles of the findings that the rule is about, by kind, most severe first."""
    gravest = SEVERITIES[: SEVERITIES.index(condition.severity) + 1]
    return {
        each["kind"]: each["title"]
        for each in stored.found
        if each["severity"] in gravest and (not condition.findings or each["kind"] in condition.findings)
    }


def look(session: Session, now: datetime, public_url: str) -> None:
    """Judge every rule about findings for the runs that were looked at since."""
    stored = repository.enabled_rules_of_kind(session, "finding")
    rules = [rule for each in stored if (rule := read_rule(each)) is not None]
    if not rules:
        return
    rows = repository.found_lately(session, {rule.stored.project_id for rule in rules}, min(map(_since, rules)))
    run_ids = [run.id for run, _ in rows]
    watches = repository.watches(session, run_ids)
    open_alerts: dict[str, list[Alert]] = defaultdict(list)
    for alert in repository.open_alerts(session, run_ids):
        open_alerts[alert.run_id].append(alert)
    for run, found in rows:
        book = AlertBook(session, run, open_alerts[run.id], now, public_url)
        for rule in rules:
            # What had ended before the rule was made is no news.
            if rule.watches(run) and (run.finished_at is None or run.finished_at > _since(rule)):
                _judge(session, run, rule, watches.get((rule.id, run.id)), found, book)


def _since(rule: Rule) -> datetime:
    return rule.stored.updated_at


def _judge(
    session: Session, run: Run, rule: Rule, watch: AlertWatch | None, stored: RunFindings, book: AlertBook
) -> None:
    if watch is not None and watch.memory["revision"] == stored.revision:
        return
    assert isinstance(rule.condition, FindingCondition), "chosen by its kind"
    found = matching(rule.condition, stored)
    known: Sequence[str] = () if watch is None else watch.memory["kinds"]
    alert = book.open_of(rule)
    if alert is not None and not found:
        book.resolve(alert, f"not found any more at step {stored.step}", step=stored.step)
    elif set(found) - set(known):
        if alert is not None:
            book.resolve(alert, "more was found", step=stored.step, quietly=True)
        value = float(len(found))
        book.open(
            rule, f"step {stored.step}", texts.findings(run.id, list(found.values())), step=stored.step, value=value
        )
    memory = {"revision": stored.revision, "kinds": list(found)}
    if watch is None:
        session.add(AlertWatch(rule_id=rule.id, run_id=run.id, step=stored.step, memory=memory))
    else:
        watch.step, watch.memory = stored.step, memory
