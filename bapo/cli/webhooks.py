"""`bapo webhooks`: addresses that are told what happens."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from bapo.api.webhooks import DeliveryInfo, WebhookWrite
from bapo.cli.connection import online
from bapo.cli.failures import Exit
from bapo.cli.lazy import group
from bapo.cli.output import JsonOption, ago, print_json, print_table, say, table, tell, user_text
from bapo.client import Client

app = group("Addresses that are told what happens (docs/webhooks.md).")

WebhookArgument = Annotated[str, typer.Argument(metavar="WEBHOOK", help="Id, as `bapo webhooks list` shows it.")]


class Form(StrEnum):
    """What is sent."""

    JSON = "json"
    SLACK = "slack"
    DISCORD = "discord"
    TEXT = "text"


@app.command("list")
@online
def list_webhooks(client: Client, as_json: JsonOption = False) -> None:
    """List your webhooks; for administrators everybody's."""
    page = client.webhooks()
    if as_json:
        print_json(page)
        return
    if not page.items:
        say("there is no webhook: `bapo webhooks add NAME URL` makes one")
        return
    made = table("id", "name", "url", "events", "state", "last sent", right=("last sent",))
    for each in page.items:
        state = "on" if each.enabled else each.disabled_reason or "off"
        if each.enabled and each.failing_since is not None:
            state = f"failing since {ago(each.failing_since)}"
        made.add_row(
            each.id,
            user_text(each.name),
            user_text(each.url),
            ", ".join(each.events),
            user_text(state),
            ago(each.last_delivered_at),
        )
    print_table(made, cut=("name", "url", "events", "state"))


@app.command("add")
@online
def add(
    client: Client,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="Where to send to.")],
    events: Annotated[
        list[str] | None,
        typer.Option(
            "--event",
            help="run.succeeded, run.failed, run.lost, run.queued, run.running, run.paused, run.cancelled, "
            "alert.opened, alert.resolved; repeatable. Default: ends, losses and alerts.",
        ),
    ] = None,
    form: Annotated[Form, typer.Option("--format", help="What is sent.")] = Form.JSON,
    project: Annotated[str | None, typer.Option("--project", help="Whose runs.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a webhook. Prints the secret that its messages are signed with, this once.

    [bold]bapo webhooks add "Team channel" https://hooks.example.org/bapo --format slack[/bold]
    """
    given: dict[str, Any] = {"name": name, "url": url, "format": form.value, "events": events, "project": project}
    # The server checks the events, and says which there are.
    body = WebhookWrite.model_construct(**{key: value for key, value in given.items() if value is not None})
    made = client.create_webhook(body)
    if as_json:
        print_json(made)
    else:
        say(f"{made.id} {made.name}: made; its secret, shown only now:")
        print(made.secret)


@app.command("delete")
@online
def delete(client: Client, webhook: WebhookArgument, as_json: JsonOption = False) -> None:
    """Delete a webhook with its messages."""
    client.delete_webhook(webhook)
    tell({"id": webhook, "done": "deleted"}, f"{webhook}: deleted", as_json=as_json)


@app.command("test")
@online
def send_test(client: Client, webhook: WebhookArgument, as_json: JsonOption = False) -> None:
    """Send a message that says that it is a test, and say what became of it."""
    _tell(client.test_webhook(webhook), as_json=as_json)


@app.command("deliveries")
@online
def deliveries(
    client: Client,
    webhook: WebhookArgument,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=500, help="At most so many.")] = 30,
    as_json: JsonOption = False,
) -> None:
    """List the messages to a webhook, the newest first."""
    page = client.deliveries(webhook, limit=limit)
    if as_json:
        print_json(page)
        return
    made = table("id", "event", "run", "made", "state", "tries", "answer", "problem", right=("id", "made", "tries"))
    for each in page.items:
        made.add_row(
            f"{each.id}",
            each.event,
            each.run_id or "",
            ago(each.created_at),
            each.state,
            f"{each.num_tries}",
            "" if each.status_code is None else f"{each.status_code}",
            user_text(each.problem or ""),
        )
    print_table(made, cut=("problem",))


@app.command("resend")
@online
def resend(
    client: Client,
    webhook: WebhookArgument,
    delivery: Annotated[int, typer.Argument(metavar="DELIVERY", help="Number of the message.")],
    as_json: JsonOption = False,
) -> None:
    """Send a message once more, under the same number."""
    _tell(client.send_delivery_again(webhook, delivery), as_json=as_json)


def _tell(delivery: DeliveryInfo, *, as_json: bool) -> None:
    problem = f": {delivery.problem}" if delivery.problem else ""
    tell(delivery, f"{delivery.id} {delivery.event}: {delivery.state}{problem}", as_json=as_json)
    if delivery.state == "given_up":
        raise SystemExit(Exit.FAILED)
