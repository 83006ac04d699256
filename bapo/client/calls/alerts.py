"""Alerts, and the rules that open them."""

from __future__ import annotations

from collections.abc import Sequence

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
from bapo.client.call import Call, Endpoint, post, route


class AlertCalls:
    """Alerts, and the rules that open them."""

    @route("GET /alerts")
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
    ) -> AlertPage:
        """Return alerts, newest first; `state` is open, unseen, resolved or all."""

    @route("GET /alerts/summary")
    def alert_summary(self) -> AlertSummary:
        """Return the number of open alerts, and the newest of them."""

    @Endpoint
    def acknowledge_alerts(self, ids: Sequence[int]) -> Call[AlertsAcknowledged]:
        """Mark alerts as seen."""
        # Checked by the server, also where there are none.
        return post("/alerts/acknowledge", AlertsAcknowledged, AlertsAcknowledge.model_construct(ids=list(ids)))

    @route("GET /alerts/{alert_id}")
    def alert(self, alert_id: int) -> AlertInfo:
        """Return one alert."""

    @route("GET /runs/{run_id}/alerts")
    def run_alerts(self, run_id: str, *, cursor: str | None = None, limit: int | None = None) -> AlertPage:
        """Return a run's alerts, the newest first."""

    @route("GET /alert-rules")
    def alert_rules(self) -> RulePage:
        """Return all alert rules by name."""

    @route("POST /alert-rules")
    def create_alert_rule(self, body: RuleWrite) -> RuleInfo:
        """Create an alert rule."""

    @Endpoint
    def preview_alert_rule(self, body: RuleDraft) -> Call[RulePreview]:
        """Preview a rule: where it would have opened an alert in the newest runs."""
        if isinstance(body, RuleWrite):
            # Of a whole rule its name does not matter.
            body = RuleDraft(condition=body.condition, scope=body.scope, project=body.project)
        return post("/alert-rules/preview", RulePreview, body)

    @route("GET /alert-rules/{rule_id}")
    def alert_rule(self, rule_id: str) -> RuleInfo:
        """Return one alert rule."""

    @route("PUT /alert-rules/{rule_id}")
    def replace_alert_rule(self, rule_id: str, body: RuleWrite) -> RuleInfo:
        """Change an alert rule."""

    @route("DELETE /alert-rules/{rule_id}")
    def delete_alert_rule(self, rule_id: str) -> None:
        """Delete an alert rule."""
