"""Webhooks and their messages."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from backend.kit.context import DbSession, SettingsOf, new_router
from backend.kit.permissions import Writer
from backend.webhooks import service
from bapo.api.webhooks import DeliveryInfo, DeliveryPage, WebhookCreated, WebhookInfo, WebhookPage, WebhookWrite

router = new_router("webhooks")

DeliveryId = Annotated[int, Path(ge=1, lt=2**63)]


@router.get("/webhooks", summary="One's own webhooks")
def list_webhooks(caller: Writer, session: DbSession) -> WebhookPage:
    """By name; for administrators of a project everybody's in it."""
    return WebhookPage(items=[service.info(row) for row in service.list_webhooks(session, caller)])


@router.post("/webhooks", status_code=201, summary="Make a webhook")
def create_webhook(caller: Writer, session: DbSession, settings: SettingsOf, body: WebhookWrite) -> WebhookCreated:
    """The answer has the secret that its messages are signed with, this once."""
    return service.created(service.create(session, body, caller, settings.webhook_policy))


@router.get("/webhooks/{webhook_id}", summary="One webhook")
def get_webhook(caller: Writer, session: DbSession, webhook_id: str) -> WebhookInfo:
    """Without its secret."""
    return service.info(service.get(session, webhook_id, caller))


@router.put("/webhooks/{webhook_id}", summary="Change a webhook")
def replace_webhook(
    caller: Writer, session: DbSession, settings: SettingsOf, webhook_id: str, body: WebhookWrite
) -> WebhookInfo:
    """As a whole; its secret stays. One that was switched off for its failures can be switched on again."""
    return service.info(service.replace(session, webhook_id, body, caller, settings.webhook_policy))


@router.delete("/webhooks/{webhook_id}", status_code=204, summary="Delete a webhook")
def delete_webhook(caller: Writer, session: DbSession, webhook_id: str) -> None:
    """With all its messages, sent or not."""
    service.delete(session, webhook_id, caller)


@router.post("/webhooks/{webhook_id}/secret", summary="Another secret")
def renew_webhook_secret(caller: Writer, session: DbSession, webhook_id: str) -> WebhookCreated:
    """Every message from now on is signed with it, also those that are tried again."""
    return service.created(service.renew_secret(session, webhook_id, caller))


@router.post("/webhooks/{webhook_id}/test", status_code=202, summary="Send a test")
def test_webhook(caller: Writer, session: DbSession, webhook_id: str) -> DeliveryInfo:
    """Tried once, within moments: ask for the webhook's messages to see what became of it."""
    return service.delivery_info(service.send_test(session, webhook_id, caller))


@router.get("/webhooks/{webhook_id}/deliveries", summary="A webhook's messages")
def list_deliveries(
    caller: Writer,
    session: DbSession,
    webhook_id: str,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> DeliveryPage:
    """The newest first, for thirty days."""
    return service.list_deliveries(session, webhook_id, cursor, limit, caller)


@router.post("/webhooks/{webhook_id}/deliveries/{delivery_id}/send", status_code=202, summary="Send a message again")
def send_delivery_again(caller: Writer, session: DbSession, webhook_id: str, delivery_id: DeliveryId) -> DeliveryInfo:
    """Under the same identifier; one that waits is tried at once."""
    return service.delivery_info(service.send_again(session, webhook_id, delivery_id, caller))
