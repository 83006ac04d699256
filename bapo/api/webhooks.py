"""Webhooks: addresses that are told what happens, and each message that was sent to them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from bapo.api.base import Body, Page, Text

WebhookEvent = Literal[
    "run.queued",
    "run.starting",
    "run.running",
    "run.pausing",
    "run.paused",
    "run.stopping",
    "run.lost",
    "run.succeeded",
    "run.failed",
    "run.cancelled",
    "alert.opened",
    "alert.resolved",
]
WebhookFormat = Literal["json", "slack", "discord", "text"]


class WebhookWrite(Body):
    """Where to send what."""

    name: Text = Field(min_length=1, max_length=100, examples=["Team channel"])
    url: Text = Field(min_length=1, max_length=2_000, examples=["https://hooks.example.org/bapo"])
    """http or https, without a user name or password in it. The address behind the name must be a public one, unless
    the administrator permits it in BAPO_WEBHOOK_ALLOWED_HOSTS."""
    format: WebhookFormat = "json"
    """`json`: all of it, see docs/webhooks.md; `slack`, `discord`: their own message; `text`: a line of plain text, as
    ntfy takes it."""
    events: Sequence[WebhookEvent] = Field(
        default=("run.succeeded", "run.failed", "run.lost", "alert.opened"), min_length=1, max_length=20
    )
    enabled: bool = True
    project: Text | None = Field(default=None, max_length=200)
    """Name of the project that it is told about; empty: the one that the caller submits to."""


class WebhookInfo(WebhookWrite):
    """A webhook; its author and the project's administrators see it."""

    id: str
    owner: str
    created_at: datetime
    updated_at: datetime
    failing_since: datetime | None
    """First failure after the last success."""
    disabled_reason: str | None
    """Why it was switched off without anybody asking."""
    num_waiting: int
    """Messages that are still to be sent."""
    last_delivered_at: datetime | None


class WebhookCreated(WebhookInfo):
    """A webhook and what its messages are signed with."""

    secret: str
    """Shown only now."""


class WebhookPage(Page):
    """Webhooks by name."""

    items: Sequence[WebhookInfo]


class DeliveryInfo(Body):
    """One message to one webhook."""

    id: int
    """The same at every try; a later message has a larger one."""
    event: WebhookEvent | Literal["test"]
    run_id: str | None
    created_at: datetime
    state: Literal["waiting", "delivered", "given_up"]
    num_tries: int
    last_try_at: datetime | None
    next_try_at: datetime | None
    status_code: int | None
    response: str | None
    """The answer's beginning."""
    problem: str | None
    """Why the last try did not succeed, and what to do."""
    seconds: float | None
    """Time that the last try took."""
    body: dict[str, Any]
    """What is told, before it is put into the webhook's format."""


class DeliveryPage(Page):
    """Messages, the newest first."""

    items: Sequence[DeliveryInfo]
