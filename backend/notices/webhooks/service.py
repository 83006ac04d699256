"""Creates, changes and tests webhooks."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from sqlalchemy import ColumnElement, or_
from sqlalchemy.orm import Session

from backend.identity.audit.repository import add_audit
from backend.identity.projects import choice
from backend.kit.bodies import rendered
from backend.kit.cursors import decode_numbers, encode
from backend.kit.database import clock
from backend.kit.errors import Problem, existing, not_found
from backend.kit.principal import Principal
from backend.models import Delivery, Webhook
from backend.notices.webhooks import repository
from backend.notices.webhooks.repository import WebhookRow
from backend.outbound.addresses import AddressPolicy, ForbiddenAddressError, destination, permitted_addresses
from bapo.api.webhooks import DeliveryInfo, DeliveryPage, WebhookCreated, WebhookInfo, WebhookWrite

_CURSOR = "deliveries"
MOST_WEBHOOKS = 50
"""Maximum number of webhooks of a project: each event of it may make a message for each."""
SECRET_PREFIX = "whsec_"  # noqa: S105 - says what the random rest is for


def info(row: WebhookRow) -> WebhookInfo:
    """Render a webhook for the API."""
    return rendered(WebhookInfo, row, row.webhook)


def created(row: WebhookRow) -> WebhookCreated:
    """Render a new webhook with its secret."""
    return rendered(WebhookCreated, row, row.webhook)


def visible(caller: Principal) -> Sequence[ColumnElement[bool]]:
    """Return the caller's webhooks, and all of a project for its administrators: an address may itself be a secret."""
    if caller.memberships is None:
        return [] if caller.role == "admin" else [Webhook.owner_id == caller.id]
    managed = [project_id for project_id, role in caller.memberships.items() if role == "admin"]
    return [or_(Webhook.owner_id == caller.id, Webhook.project_id.in_(managed))]


def list_webhooks(session: Session, caller: Principal) -> list[WebhookRow]:
    """Return the webhooks by name."""
    return repository.webhooks(session, visible(caller))


def get(session: Session, webhook_id: str, caller: Principal) -> WebhookRow:
    """Return a webhook that the caller may see. Raises Problem 404."""
    rows = repository.webhooks(session, [*visible(caller), Webhook.id == webhook_id])
    if not rows:
        raise not_found("webhook", webhook_id)
    return rows[0]


def create(session: Session, body: WebhookWrite, caller: Principal, policy: AddressPolicy) -> WebhookRow:
    """Return a webhook of the caller. Raises Problem 422 for an address that it may not have, 409 where there are too
    many."""
    project_id = choice.for_new(session, caller, body.project).id
    if repository.count(session, project_id) >= MOST_WEBHOOKS:
        raise Problem(409, "too_many", f"the project has {MOST_WEBHOOKS} webhooks: delete one first")
    webhook = Webhook(project_id=project_id, owner_id=caller.id, secret=_new_secret())
    _write(webhook, body, policy)
    session.add(webhook)
    session.flush()
    _note(session, webhook, caller, "webhook created")
    return get(session, webhook.id, caller)


def replace(
    session: Session, webhook_id: str, body: WebhookWrite, caller: Principal, policy: AddressPolicy
) -> WebhookRow:
    """Change a webhook; switched on again, it begins without its failures. Raises Problem 404 and 422."""
    webhook = _lock(session, webhook_id, caller)
    before = webhook.url
    if body.project is not None:
        webhook.project_id = choice.for_new(session, caller, body.project).id
    _write(webhook, body, policy)
    webhook.updated_at = clock(session)
    webhook.disabled_reason = webhook.failing_since = webhook.resume_at = None
    webhook.num_failures = 0
    if not body.enabled:
        repository.give_up_waiting(session, webhook.id, f"{caller.name} switched the webhook off")
    elif webhook.url != before:
        repository.send_now(session, webhook.id)
    session.flush()
    _note(session, webhook, caller, "webhook changed")
    return get(session, webhook_id, caller)


def delete(session: Session, webhook_id: str, caller: Principal) -> None:
    """Delete a webhook with its messages. Raises Problem 404."""
    webhook = _lock(session, webhook_id, caller)
    _note(session, webhook, caller, "webhook deleted")
    session.delete(webhook)


def renew_secret(session: Session, webhook_id: str, caller: Principal) -> WebhookRow:
    """Sign with another secret from now on. Raises Problem 404."""
    webhook = _lock(session, webhook_id, caller)
    webhook.secret = _new_secret()
    webhook.updated_at = clock(session)
    session.flush()
    _note(session, webhook, caller, "webhook secret renewed")
    return get(session, webhook_id, caller)


def _lock(session: Session, webhook_id: str, caller: Principal) -> Webhook:
    get(session, webhook_id, caller)
    webhook = existing(repository.lock(session, webhook_id), "webhook", webhook_id)
    if not caller.may_change(webhook):
        raise Problem(403, "forbidden", "you now have read access only to its project: ask its administrators")
    return webhook


def _write(webhook: Webhook, body: WebhookWrite, policy: AddressPolicy) -> None:
    try:
        # Only the address itself: its host name is resolved and checked at every try, and callers must not learn if a
        # name leads to the internal network.
        target = destination(body.url)
        if _is_literal(target.host):
            permitted_addresses(target, policy)
    except ForbiddenAddressError as error:
        raise Problem(422, "forbidden_address", str(error), field="url", value=body.url) from error
    webhook.name = body.name
    webhook.url = body.url
    webhook.format = body.format
    webhook.events = list(dict.fromkeys(body.events))
    webhook.enabled = body.enabled


def _is_literal(host: str) -> bool:
    return ":" in host or host.rpartition(".")[2].isdigit()


def _new_secret() -> str:
    return SECRET_PREFIX + secrets.token_urlsafe(32)


def _note(session: Session, webhook: Webhook, caller: Principal, action: str) -> None:
    # Not the address, which may be a secret itself.
    add_audit(session, None, caller.name, action, {"webhook_id": webhook.id, "name": webhook.name})


# ---------------------------------------------------------------- messages


def delivery_info(delivery: Delivery) -> DeliveryInfo:
    """Render a message for the API."""
    return rendered(DeliveryInfo, delivery)


def list_deliveries(
    session: Session, webhook_id: str, cursor: str | None, limit: int, caller: Principal
) -> DeliveryPage:
    """Return a page, the newest first. Raises Problem 404, and 422 for a cursor of another list."""
    get(session, webhook_id, caller)
    before = None if cursor is None else decode_numbers(cursor, _CURSOR)[1]
    rows = repository.deliveries(session, webhook_id, before, limit + 1)
    page = rows[:limit]
    next_cursor = encode(_CURSOR, [0, page[-1].id]) if len(rows) > limit else None
    return DeliveryPage(items=[delivery_info(row) for row in page], next_cursor=next_cursor)


def send_test(session: Session, webhook_id: str, caller: Principal) -> Delivery:
    """Return a message that says that it is a test. Raises Problem 404, 409 for a webhook that is switched off."""
    webhook = _enabled(_lock(session, webhook_id, caller))
    body = {"message": f"{caller.name} is testing whether BAPO's messages reach “{webhook.name}”."}
    delivery = Delivery(webhook_id=webhook.id, event="test", body=body, state="waiting", num_tries=0)
    session.add(delivery)
    session.flush()
    _note(session, webhook, caller, "webhook tested")
    return delivery


def send_again(session: Session, webhook_id: str, delivery_id: int, caller: Principal) -> Delivery:
    """Return the same message once more, under the same identifier. Raises Problem 404, 409 where it is under way."""
    webhook = _enabled(_lock(session, webhook_id, caller))
    delivery = existing(repository.delivery(session, webhook_id, delivery_id), "delivery", str(delivery_id))
    if delivery.state == "waiting":
        delivery.next_try_at = None
    else:
        # Restart the day in which it must be delivered.
        delivery.state, delivery.first_try_at, delivery.num_tries = "waiting", None, 0
    webhook.resume_at = None
    _note(session, webhook, caller, "webhook message sent again")
    session.flush()
    return delivery


def _enabled(webhook: Webhook) -> Webhook:
    if not webhook.enabled:
        remedy = "the webhook is switched off: switch it on first"
        raise Problem(409, "switched_off", remedy, field="enabled", value=False)
    return webhook
