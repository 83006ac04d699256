"""`bapo webhooks`: messages about runs and alerts to other services."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from bapo.api.webhooks import DeliveryInfo, DeliveryPage, WebhookInfo, WebhookPage, WebhookWrite
from bapo.cli.connection import Answer, answering, online
from bapo.cli.failures import Exit
from bapo.cli.lazy import group
from bapo.cli.listing import LimitOption, Listing, listed
from bapo.cli.output import JsonOption, ago, print_answer, print_json, say
from bapo.client import Client

app = group("Send messages about runs and alerts to other services.")

WebhookArgument = Annotated[str, typer.Argument(metavar="WEBHOOK", help="Webhook id; see `bapo webhooks list`.")]


class Form(StrEnum):
    """Format of the messages."""

    JSON = "json"
    SLACK = "slack"
    DISCORD = "discord"
    TEXT = "text"


def _state(webhook: WebhookInfo) -> str:
    if not webhook.enabled:
        return webhook.disabled_reason or "off"
    return "on" if webhook.failing_since is None else f"failing, first {ago(webhook.failing_since)}"


WEBHOOKS = Listing[WebhookInfo](
    {
        "id": lambda webhook: webhook.id,
        "name": lambda webhook: webhook.name,
        "url": lambda webhook: webhook.url,
        "events": lambda webhook: ", ".join(webhook.events),
        "state": _state,
        "last sent": lambda webhook: webhook.last_delivered_at,
    },
    cut=("name", "url", "events", "state"),
    empty="no webhooks yet: create one with `bapo webhooks add NAME URL`",
)
DELIVERIES = Listing[DeliveryInfo](
    {
        "id": lambda delivery: f"{delivery.id}",
        "event": lambda delivery: delivery.event,
        "run": lambda delivery: delivery.run_id,
        "created": lambda delivery: delivery.created_at,
        "state": lambda delivery: delivery.state,
        "tries": lambda delivery: delivery.num_tries,
        "answer": lambda delivery: None if delivery.status_code is None else f"{delivery.status_code}",
        "problem": lambda delivery: delivery.problem or "",
    },
    cut=("problem",),
    right=("id",),
)


@app.command("list")
@listed(WEBHOOKS)
def list_webhooks(client: Client) -> WebhookPage:
    """List your webhooks; as administrator, all of them."""
    return client.webhooks()


@app.command("add")
@online
def add(
    client: Client,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the webhook.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="Address to send to.")],
    events: Annotated[
        list[str] | None,
        typer.Option(
            "--event",
            help="run.succeeded, run.failed, run.lost, run.queued, run.running, run.paused, run.cancelled, "
            "alert.opened, alert.resolved; repeatable. Default: runs that ended or were lost, and alerts.",
        ),
    ] = None,
    form: Annotated[Form, typer.Option("--format", help="Format of the messages.")] = Form.JSON,
    project: Annotated[str | None, typer.Option("--project", help="Only runs of this project.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Create a webhook and print the secret that signs its messages, which is shown only once.

    [bold]bapo webhooks add "Team channel" https://hooks.example.org/bapo --format slack[/bold]
    """
    given: dict[str, Any] = {"name": name, "url": url, "format": form.value, "events": events, "project": project}
    # The server checks the events, and says which there are.
    body = WebhookWrite.model_construct(**{key: value for key, value in given.items() if value is not None})
    made = client.create_webhook(body)
    if as_json:
        print_json(made)
    else:
        say(f"{made.id} {made.name}: created; its secret, shown only once:")
        print(made.secret)


@app.command("delete")
@answering
def delete(client: Client, webhook: WebhookArgument) -> Answer:
    """Delete a webhook and its messages."""
    client.delete_webhook(webhook)
    return {"id": webhook, "done": "deleted"}, f"{webhook}: deleted"


@app.command("test")
@online
def send_test(client: Client, webhook: WebhookArgument, as_json: JsonOption = False) -> None:
    """Send a test message and print the result."""
    _print_delivery(client.test_webhook(webhook), as_json=as_json)


@app.command("deliveries")
@listed(DELIVERIES)
def deliveries(client: Client, webhook: WebhookArgument, limit: LimitOption = 30) -> DeliveryPage:
    """List the messages of a webhook, newest first."""
    return client.deliveries(webhook, limit=limit)


@app.command("resend")
@online
def resend(
    client: Client,
    webhook: WebhookArgument,
    delivery: Annotated[int, typer.Argument(metavar="DELIVERY", help="Message id.")],
    as_json: JsonOption = False,
) -> None:
    """Send a message again, under the same id."""
    _print_delivery(client.send_delivery_again(webhook, delivery), as_json=as_json)


def _print_delivery(delivery: DeliveryInfo, *, as_json: bool) -> None:
    problem = f": {delivery.problem}" if delivery.problem else ""
    print_answer(delivery, f"{delivery.id} {delivery.event}: {delivery.state}{problem}", as_json=as_json)
    if delivery.state == "given_up":
        raise SystemExit(Exit.FAILED)
