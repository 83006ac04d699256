"""Alerts, the rules that open them, and webhooks with their messages."""

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
from bapo.api.webhooks import DeliveryInfo, DeliveryPage, WebhookCreated, WebhookInfo, WebhookPage, WebhookWrite
from bapo.client.call import Call, Endpoint, post, route


class AlertCalls:
    """Alerts, the rules that open them, and webhooks with their messages."""

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

    @route("GET /webhooks")
    def webhooks(self) -> WebhookPage:
        """Return the caller's webhooks by name; administrators get those of all users."""

    @route("POST /webhooks")
    def create_webhook(self, body: WebhookWrite) -> WebhookCreated:
        """Create a webhook; only this answer contains its secret."""

    @route("GET /webhooks/{webhook_id}")
    def webhook(self, webhook_id: str) -> WebhookInfo:
        """Return one webhook."""

    @route("PUT /webhooks/{webhook_id}")
    def replace_webhook(self, webhook_id: str, body: WebhookWrite) -> WebhookInfo:
        """Change a webhook."""

    @route("DELETE /webhooks/{webhook_id}")
    def delete_webhook(self, webhook_id: str) -> None:
        """Delete a webhook with its messages."""

    @route("POST /webhooks/{webhook_id}/secret")
    def renew_webhook_secret(self, webhook_id: str) -> WebhookCreated:
        """Replace the secret with which messages are signed."""

    @route("POST /webhooks/{webhook_id}/test")
    def test_webhook(self, webhook_id: str) -> DeliveryInfo:
        """Send a test message."""

    @route("GET /webhooks/{webhook_id}/deliveries")
    def deliveries(self, webhook_id: str, *, cursor: str | None = None, limit: int | None = None) -> DeliveryPage:
        """Return a webhook's messages, the newest first."""

    @route("POST /webhooks/{webhook_id}/deliveries/{delivery_id}/send")
    def send_delivery_again(self, webhook_id: str, delivery_id: int) -> DeliveryInfo:
        """Send a message once more, under the same identifier."""
