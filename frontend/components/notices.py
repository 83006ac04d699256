"""Notices in place of content: empty states, errors, unknown addresses; messages in the corner; secrets shown once."""

from __future__ import annotations

from typing import Any

import dash_mantine_components as dmc
import httpx
from dash import html

from bapo.client import ApiError
from frontend.components.elements import Link, attributes
from frontend.components.icon import IconName, icon


def notice(title: str, text: Any, *, icon_name: IconName = "info", action: Any = None) -> dmc.Paper:
    """Return a centred message with one thing to do."""
    return dmc.Paper(
        dmc.Stack(
            [
                dmc.ThemeIcon(icon(icon_name, 24), size=48, radius="xl", variant="light", color="gray"),
                dmc.Title(title, order=2, size="h3", ta="center"),
                dmc.Text(text, c="dimmed", ta="center", maw=520),
                *([action] if action is not None else []),
            ],
            align="center",
            gap="sm",
        ),
        className="notice",
        p="xl",
        withBorder=True,
    )


def link_button(label: str, href: str, **properties: Any) -> Link:
    """Return a button that leads to a page."""
    return Link(dmc.Button(label, **properties), href=href, className="plain-link")


def nothing_to_write(text: str) -> dmc.Paper:
    """Return what those see in place of a form who may only look."""
    return notice(
        "You may only look",
        f"{text}: ask one of its administrators, who are listed under Projects, to make you one.",
        icon_name="user",
        action=link_button("Projects", "/projects", variant="light"),
    )


def error_text(error: ApiError | httpx.TransportError) -> str:
    """Return what happened, what to do, and the request to ask the administrator about."""
    if isinstance(error, ApiError):
        body = error.body
        given = f"{body.field} = {body.value!r}: " if body.field and body.value is not None else ""
        return f"{given}{body.remedy} (request {body.request_id})"
    return "The server does not answer. Training continues; try again in a moment."


def error_notice(error: ApiError | httpx.TransportError) -> dmc.Paper:
    """Return the notice in place of a page that failed."""
    missing = isinstance(error, ApiError) and error.status == 404
    return notice(
        "Not found" if missing else "This page could not be loaded",
        error_text(error),
        icon_name="alert",
        action=link_button("Back to runs", "/runs", variant="light"),
    )


def toast(message: str, *, title: str, colour: str = "red") -> list[dict[str, Any]]:
    """Return a passing message as the notification container takes it."""
    return [
        {
            "action": "show",
            "title": title,
            "message": message,
            "color": colour,
            "autoClose": 12_000 if colour == "red" else 5_000,
            "withBorder": True,
        }
    ]


def one_time_secret(label: str, secret: str, note: Any) -> html.Div:
    """Return the secret, a button that copies it, and what it is for."""
    text = dmc.Code(secret, className="secret-text", block=True, **attributes(aria_label=label))
    return html.Div(
        [
            dmc.Group([icon("info", 16), dmc.Text(label, fw=600, size="sm")], gap="xs"),
            to_copy(text),
            dmc.Text(note, size="sm", c="dimmed"),
        ],
        className="one-time-secret",
        role="status",
    )


def to_copy(text: dmc.Code) -> html.Div:
    """Return the text with a button that copies it (assets/copy_button.js)."""
    copy = html.Button(
        icon("copy"), type="button", title="Copy", className="icon-button secret-copy", **attributes(aria_label="Copy")
    )
    return html.Div([text, copy], className="secret-line")
