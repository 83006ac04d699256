"""Webhooks and their messages."""

from __future__ import annotations

from urllib.parse import quote

from bapo.api.webhooks import DeliveryInfo, DeliveryPage, WebhookCreated, WebhookInfo, WebhookPage, WebhookWrite
from bapo.client.call import Call, Endpoint, answer, get, nothing, post


class WebhookCalls:
    """Webhooks and their messages."""

    @Endpoint
    def webhooks(self) -> Call[WebhookPage]:
        """One's own by name; for administrators everybody's."""
        return get("/webhooks", WebhookPage)

    @Endpoint
    def create_webhook(self, body: WebhookWrite) -> Call[WebhookCreated]:
        """Make a webhook; the answer has its secret, this once."""
        return post("/webhooks", WebhookCreated, body)

    @Endpoint
    def webhook(self, webhook_id: str) -> Call[WebhookInfo]:
        """One webhook."""
        return get(_path(webhook_id), WebhookInfo)

    @Endpoint
    def replace_webhook(self, webhook_id: str, body: WebhookWrite) -> Call[WebhookInfo]:
        """Change a webhook."""
        return Call("PUT", _path(webhook_id), answer(WebhookInfo), body=body)

    @Endpoint
    def delete_webhook(self, webhook_id: str) -> Call[None]:
        """Delete a webhook with its messages."""
        return Call("DELETE", _path(webhook_id), nothing)

    @Endpoint
    def renew_webhook_secret(self, webhook_id: str) -> Call[WebhookCreated]:
        """Sign with another secret from now on."""
        return post(f"{_path(webhook_id)}/secret", WebhookCreated)

    @Endpoint
    def test_webhook(self, webhook_id: str) -> Call[DeliveryInfo]:
        """Send a message that says that it is a test."""
        return post(f"{_path(webhook_id)}/test", DeliveryInfo)

    @Endpoint
    def deliveries(self, webhook_id: str, *, cursor: str | None = None, limit: int | None = None) -> Call[DeliveryPage]:
        """A webhook's messages, the newest first."""
        return get(f"{_path(webhook_id)}/deliveries", DeliveryPage, cursor=cursor, limit=limit)

    @Endpoint
    def send_delivery_again(self, webhook_id: str, delivery_id: int) -> Call[DeliveryInfo]:
        """Send a message once more, under the same identifier."""
        return post(f"{_path(webhook_id)}/deliveries/{quote(str(delivery_id), safe='')}/send", DeliveryInfo)


def _path(webhook_id: str) -> str:
    return f"/webhooks/{quote(webhook_id, safe='')}"
