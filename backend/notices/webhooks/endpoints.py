"""Routes for webhooks and their messages."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from backend.kit.context import DbSession, SettingsOf, new_router
from backend.kit.permissions import Writer
from backend.notices.webhooks import service
from bapo.api.webhooks import DeliveryInfo, DeliveryPage, WebhookCreated, WebhookInfo, WebhookPage, WebhookWrite

router = new_router("webhooks")

DeliveryId = Annotated[int, Path(ge=1, lt=2**63)]


@router.get("/webhooks", summary="List webhooks")
def list_webhooks(caller: Writer, session: DbSession) -> WebhookPage:
    """List the caller's webhooks by name; for administrators of a project, all webhooks in it."""
    return WebhookPage(items=[service.info(row) for row in service.list_webhooks(session, caller)])


@router.post("/webhooks", status_code=201, summary="Create a webhook")
def create_webhook(caller: Writer, session: DbSession, settings: SettingsOf, body: WebhookWrite) -> WebhookCreated:
    """Create a webhook. The secret that signs its messages is returned only in this response."""
    return service.created(service.create(session, body, caller, settings.webhook_policy))


@router.get("/webhooks/{webhook_id}", summary="Get a webhook")
def get_webhook(caller: Writer, session: DbSession, webhook_id: str) -> WebhookInfo:
    """Get a webhook by ID, without its secret."""
    return service.info(service.get(session, webhook_id, caller))


@router.put("/webhooks/{webhook_id}", summary="Replace a webhook")
def replace_webhook(
    caller: Writer, session: DbSession, settings: SettingsOf, webhook_id: str, body: WebhookWrite
) -> WebhookInfo:
    """Replace a webhook; its secret stays. One that was switched off after failures can be switched on again."""
    return service.info(service.replace(session, webhook_id, body, caller, settings.webhook_policy))


@router.delete("/webhooks/{webhook_id}", status_code=204, summary="Delete a webhook")
def delete_webhook(caller: Writer, session: DbSession, webhook_id: str) -> None:
    """Delete a webhook and all its messages, sent or not."""
    service.delete(session, webhook_id, caller)


@router.post("/webhooks/{webhook_id}/secret", summary="Renew a webhook's secret")
def renew_webhook_secret(caller: Writer, session: DbSession, webhook_id: str) -> WebhookCreated:
    """Renew the secret. All messages from now on are signed with the new one, including retries."""
    return service.created(service.renew_secret(session, webhook_id, caller))


@router.post("/webhooks/{webhook_id}/test", status_code=202, summary="Send a test message")
def test_webhook(caller: Writer, session: DbSession, webhook_id: str) -> DeliveryInfo:
    """Send a test message once, within moments. List the webhook's messages to see the outcome."""
    return service.delivery_info(service.send_test(session, webhook_id, caller))


@router.get("/webhooks/{webhook_id}/deliveries", summary="List a webhook's messages")
def list_deliveries(
    caller: Writer,
    session: DbSession,
    webhook_id: str,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> DeliveryPage:
    """List the messages of the last thirty days, newest first."""
    return service.list_deliveries(session, webhook_id, cursor, limit, caller)


@router.post("/webhooks/{webhook_id}/deliveries/{delivery_id}/send", status_code=202, summary="Resend a message")
def send_delivery_again(caller: Writer, session: DbSession, webhook_id: str, delivery_id: DeliveryId) -> DeliveryInfo:
    """Resend a message under the same identifier. A message that waits is tried at once."""
    return service.delivery_info(service.send_again(session, webhook_id, delivery_id, caller))
