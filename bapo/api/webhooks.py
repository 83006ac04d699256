"""Webhooks and their messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import Field, StrictBool

from bapo.api.base import Body, Name, Page, Text

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
    """A webhook: address, format and events."""

    name: Name = Field(min_length=1, max_length=100, examples=["Team channel"])
    url: Text = Field(min_length=1, max_length=2_000, examples=["https://hooks.example.org/bapo"])
    """http or https, without a user name or password in it. The address behind the name must be a public one, unless
    the administrator permits it in BAPO_WEBHOOK_ALLOWED_HOSTS."""
    format: WebhookFormat = "json"
    """`json`: all of it, see docs/webhooks.md; `slack`, `discord`: their own message; `text`: a line of plain text, as
    ntfy takes it."""
    events: Sequence[WebhookEvent] = Field(
        default=("run.succeeded", "run.failed", "run.lost", "alert.opened"), min_length=1, max_length=20
    )
    enabled: StrictBool = True
    project: Text | None = Field(default=None, max_length=200)
    """Name of the project to report on; empty: the project that the caller submits to."""


class WebhookInfo(WebhookWrite):
    """A webhook. Its author and the project's administrators see it."""

    id: str
    name: str
    owner: str
    created_at: datetime
    updated_at: datetime
    failing_since: datetime | None
    """First failure since the last success."""
    disabled_reason: str | None
    """Why it was switched off automatically."""
    num_waiting: int
    """Messages waiting to be sent."""
    last_delivered_at: datetime | None


class WebhookCreated(WebhookInfo):
    """A new webhook, with the secret that signs its messages."""

    secret: str
    """Returned only once."""


class WebhookPage(Page):
    """Webhooks by name."""

    items: Sequence[WebhookInfo]


class DeliveryInfo(Body):
    """One message to a webhook."""

    id: int
    """The same for every try; later messages have larger ones."""
    event: WebhookEvent | Literal["test"]
    run_id: str | None
    created_at: datetime
    state: Literal["waiting", "delivered", "given_up"]
    num_tries: int
    last_try_at: datetime | None
    next_try_at: datetime | None
    status_code: int | None
    response: str | None
    """Beginning of the response."""
    problem: str | None
    """Why the last try failed, and what to do."""
    seconds: float | None
    """Duration of the last try."""
    body: dict[str, Any]
    """The content, before conversion to the webhook's format."""


class DeliveryPage(Page):
    """Messages, newest first."""

    items: Sequence[DeliveryInfo]
