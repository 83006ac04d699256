"""Opens and resolves the alerts of a run; announces each change and queues its webhook messages in one transaction."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from backend.kit.events import announce
from backend.models import Alert, Run
from backend.notices.alerts import repository
from backend.notices.alerts.rules import Rule
from backend.notices.alerts.texts import AlertText
from backend.notices.webhooks import outbox


class AlertBook:
    """The alerts of one run."""

    def __init__(self, session: Session, run: Run, open_alerts: list[Alert], now: datetime, public_url: str) -> None:
        self._session = session
        self._run = run
        self._open = open_alerts
        self._now = now
        self._public_url = public_url

    def open_of(self, rule: Rule) -> Alert | None:
        """Return the rule's alert that is not resolved."""
        return next((alert for alert in self._open if alert.rule_id == rule.id), None)

    def open(
        self, rule: Rule, occurrence: str, text: AlertText, *, step: int, value: float | None = None
    ) -> Alert | None:
        """Open an alert; None where it was opened before."""
        alert = Alert(
            rule_id=rule.id,
            rule_name=rule.stored.name,
            kind=rule.condition.kind,
            run_id=self._run.id,
            occurrence=f"{rule.version} {occurrence}",
            step=step,
            value=value,
            message=text.message,
            advice=text.advice,
            link=text.link,
        )
        if not repository.add_alert(self._session, alert):
            return None
        stored = self._session.get_one(Alert, alert.id)
        self._open.append(stored)
        self._tell(stored, "opened")
        return stored

    def resolve(self, alert: Alert, resolution: str, *, step: int | None = None, quietly: bool = False) -> None:
        """Resolve an alert."""
        alert.resolved_at = self._now
        alert.resolved_step = step
        alert.resolution = resolution
        self._open.remove(alert)
        if not quietly:
            self._tell(alert, "resolved")

    def resolve_where(self, matches: Callable[[Alert], bool], resolution: str) -> None:
        """Resolve all alerts of the run that match."""
        for alert in [alert for alert in self._open if matches(alert)]:
            self.resolve(alert, resolution, step=self._run.step)

    def _tell(self, alert: Alert, change: str) -> None:
        announce_alert(self._session, alert, change)
        outbox.add(self._session, self._run, f"alert.{change}", self._body(alert))

    def _body(self, alert: Alert) -> dict[str, Any]:
        return {
            **outbox.run_body(self._run, self._public_url),
            "alert": {
                "id": alert.id,
                "rule": alert.rule_name,
                "kind": alert.kind,
                "step": alert.step,
                "value": alert.value,
                "message": alert.message,
                "advice": alert.advice,
                "link": self._public_url.rstrip("/") + alert.link,
                "opened_at": alert.opened_at.isoformat(),
                "resolved_at": None if alert.resolved_at is None else alert.resolved_at.isoformat(),
                "resolution": alert.resolution,
            },
        }


def announce_alert(session: Session, alert: Alert, change: str) -> None:
    """Notify open pages."""
    data = {"alert_id": alert.id, "change": change, "kind": alert.kind, "step": alert.step}
    announce(session, alert.run_id, "alert", data)
