"""Alerts, and the rules that open them."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from bapo.api.alerts import (
    AlertInfo,
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
from bapo.client.call import Call, Endpoint, answer, get, nothing, post, run_path


class AlertCalls:
    """Alerts, and the rules that open them."""

    @Endpoint
    def alerts(
        self,
        *,
        state: str | None = None,
        kind: str | None = None,
        rule_id: str | None = None,
        run_id: str | None = None,
        project: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Call[AlertPage]:
        """Alerts, the newest first; `state` is open, unseen, resolved or all."""
        return get(
            "/alerts",
            AlertPage,
            state=state,
            kind=kind,
            rule_id=rule_id,
            run_id=run_id,
            project=project,
            cursor=cursor,
            limit=limit,
        )

    @Endpoint
    def alert_summary(self) -> Call[AlertSummary]:
        """How many alerts are open, and the newest of them."""
        return get("/alerts/summary", AlertSummary)

    @Endpoint
    def acknowledge_alerts(self, ids: Sequence[int]) -> Call[AlertsAcknowledged]:
        """Say that alerts were seen."""
        # Checked by the server, also where there are none.
        return post("/alerts/acknowledge", AlertsAcknowledged, AlertsAcknowledge.model_construct(ids=list(ids)))

    @Endpoint
    def alert(self, alert_id: int) -> Call[AlertInfo]:
        """One alert."""
        return get(f"/alerts/{quote(str(alert_id), safe='')}", AlertInfo)

    @Endpoint
    def run_alerts(self, run_id: str, *, cursor: str | None = None, limit: int | None = None) -> Call[AlertPage]:
        """A run's alerts, the newest first."""
        return get(run_path(run_id, "alerts"), AlertPage, cursor=cursor, limit=limit)

    @Endpoint
    def alert_rules(self) -> Call[RulePage]:
        """All alert rules by name."""
        return get("/alert-rules", RulePage)

    @Endpoint
    def create_alert_rule(self, body: RuleWrite) -> Call[RuleInfo]:
        """Make an alert rule."""
        return post("/alert-rules", RuleInfo, body)

    @Endpoint
    def preview_alert_rule(self, body: RuleDraft) -> Call[RulePreview]:
        """Where the rule would have opened an alert in the newest runs."""
        if isinstance(body, RuleWrite):
            # Of a whole rule its name does not matter.
            body = RuleDraft(condition=body.condition, scope=body.scope, project=body.project)
        return post("/alert-rules/preview", RulePreview, body)

    @Endpoint
    def alert_rule(self, rule_id: str) -> Call[RuleInfo]:
        """One alert rule."""
        return get(_path(rule_id), RuleInfo)

    @Endpoint
    def replace_alert_rule(self, rule_id: str, body: RuleWrite) -> Call[RuleInfo]:
        """Change an alert rule."""
        return Call("PUT", _path(rule_id), answer(RuleInfo), body=body)

    @Endpoint
    def delete_alert_rule(self, rule_id: str) -> Call[None]:
        """Delete an alert rule."""
        return Call("DELETE", _path(rule_id), nothing)


def _path(rule_id: str) -> str:
    return f"/alert-rules/{quote(rule_id, safe='')}"
