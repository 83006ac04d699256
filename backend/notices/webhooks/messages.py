"""Formats and signs messages for their receivers."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson

from backend.models import Delivery, Webhook
from bapo import __version__

MAX_TEXT_CHARACTERS = 1_800
"""Discord takes 2,000."""
SIGNATURE_VERSION = "v1"


class Message(NamedTuple):
    """A message to send."""

    headers: dict[str, str]
    content: bytes


def message(webhook: Webhook, delivery: Delivery, unix_time: int) -> Message:
    """Return the message in its webhook's format, signed for each try under the same ID."""
    body = {
        "id": delivery.id,
        "event": delivery.event,
        "created_at": delivery.created_at.astimezone(UTC).isoformat(),
        **delivery.body,
    }
    content_type, content = _FORMATS[webhook.format](body)
    headers = {
        "Content-Type": content_type,
        "User-Agent": f"BAPO-Control-Plane/{__version__}",
        "BAPO-Event": delivery.event,
        "BAPO-Delivery": str(delivery.id),
        "BAPO-Timestamp": str(unix_time),
        "BAPO-Signature": f"{SIGNATURE_VERSION}={signature(webhook.secret, unix_time, content)}",
    }
    return Message(headers, content)


def signature(secret: str, unix_time: int, content: bytes) -> str:
    """Return the HMAC-SHA256 over `timestamp.body`, in hexadecimal digits."""
    return hmac.new(secret.encode(), b"%d.%b" % (unix_time, content), hashlib.sha256).hexdigest()


def text_of(body: Mapping[str, Any]) -> str:
    """Return a message in a few plain lines."""
    run, alert = body.get("run"), body.get("alert")
    if run is None:
        return str(body.get("message", "BAPO"))
    if alert is not None:
        resolved = alert["resolution"]
        lines = [
            f"{run['name']}: {alert['rule']}" + (" (resolved)" if resolved else ""),
            f"Resolved: {resolved}." if resolved else alert["message"],
            *([] if resolved else [alert["advice"]]),
            alert["link"],
        ]
    else:
        reason = f": {run['reason']}" if run["reason"] else ""
        lines = [f"{run['name']} is {run['status']}{reason}", f"step {run['step']} of {run['num_steps']}", run["link"]]
    text = "\n".join(lines)
    return text if len(text) <= MAX_TEXT_CHARACTERS else text[: MAX_TEXT_CHARACTERS - 1] + "…"


def _json(body: Mapping[str, Any]) -> tuple[str, bytes]:
    return "application/json", orjson.dumps(body)


def _slack(body: Mapping[str, Any]) -> tuple[str, bytes]:
    # <!channel> and <http://…|…> are commands to Slack: a run's name must not call a channel.
    text = text_of(body).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "application/json", orjson.dumps({"text": text})


def _discord(body: Mapping[str, Any]) -> tuple[str, bytes]:
    return "application/json", orjson.dumps({"content": text_of(body), "allowed_mentions": {"parse": []}})


def _text(body: Mapping[str, Any]) -> tuple[str, bytes]:
    return "text/plain; charset=utf-8", text_of(body).encode()


_FORMATS: Mapping[str, Callable[[Mapping[str, Any]], tuple[str, bytes]]] = {
    "json": _json,
    "slack": _slack,
    "discord": _discord,
    "text": _text,
}


def unix_time_of(moment: datetime) -> int:
    """Return the whole seconds since 1970."""
    return int(moment.timestamp())
