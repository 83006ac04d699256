"""Webhooks and their messages."""

from __future__ import annotations

from bapo.api.webhooks import DeliveryInfo, DeliveryPage, WebhookCreated, WebhookInfo, WebhookPage, WebhookWrite
from bapo.client.call import route


class WebhookCalls:
    """Webhooks and their messages."""

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
