"""`bapo alerts`: alerts on runs, and the rules that open them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from bapo.api.alerts import AlertInfo, AlertPage, PreviewFiring, PreviewRun, RuleDraft, RuleInfo, RulePage, RuleWrite
from bapo.cli.connection import Answer, answering, online
from bapo.cli.drafts import checked, parse_value
from bapo.cli.lazy import group
from bapo.cli.listing import LimitOption, Listing, listed
from bapo.cli.output import JsonOption, ago, number, print_json, say
from bapo.cli.run_lookup import find_run
from bapo.client import Client

app = group("Read alerts and manage their rules.")
rules = group("Manage the rules that open alerts.")
app.add_typer(rules, name="rules")


class AlertFilter(StrEnum):
    """Filters of alerts."""

    OPEN = "open"
    UNSEEN = "unseen"
    RESOLVED = "resolved"
    ALL = "all"


ALERTS = Listing[AlertInfo](
    {
        "id": lambda alert: f"{alert.id}",
        "opened": lambda alert: ago(alert.opened_at) + (" (resolved)" if alert.resolved_at else ""),
        "run": lambda alert: alert.run,
        "rule": lambda alert: alert.rule,
        "step": lambda alert: alert.step,
        "message": lambda alert: alert.message,
    },
    cut=("run", "rule"),
    wrap=("message",),
    right=("id", "opened"),
    empty="no such alerts",
)
RULES = Listing[RuleInfo](
    {
        "id": lambda rule: rule.id,
        "name": lambda rule: rule.name,
        "enabled": lambda rule: "yes" if rule.enabled else "no",
        "open": lambda rule: rule.num_open,
        "condition": lambda rule: rule.sentence,
    },
    cut=("name",),
    wrap=("condition",),
)


FIRINGS = Listing[tuple[PreviewRun, PreviewFiring]](
    {
        "run": lambda pair: pair[0].run_id,
        "name": lambda pair: pair[0].name,
        "steps": lambda pair: pair[0].step,
        "alert at step": lambda pair: pair[1].step,
        "value": lambda pair: number(pair[1].value),
        "resolved at": lambda pair: pair[1].resolved_step,
    },
    cut=("name",),
    right=("value",),
)


@app.command("list")
@listed(ALERTS)
def list_alerts(
    client: Client,
    state: Annotated[AlertFilter, typer.Option(help="State of the alerts.")] = AlertFilter.OPEN,
    run: Annotated[str | None, typer.Option("--run", help="Alerts of this run only.")] = None,
    limit: LimitOption = 30,
) -> AlertPage:
    """List alerts, newest first."""
    run_id = None if run is None else find_run(client, run).id
    return client.alerts(state=state.value, run_id=run_id, limit=limit)


@app.command("ack")
@answering
def acknowledge(client: Client, ids: Annotated[list[int], typer.Argument(metavar="ID…", help="Alert ids.")]) -> Answer:
    """Acknowledge alerts."""
    answer = client.acknowledge_alerts(ids)
    return answer, f"{answer.num_acknowledged} acknowledged"


@rules.command("list")
@listed(RULES)
def list_rules(client: Client) -> RulePage:
    """List the rules."""
    return client.alert_rules()


@dataclass(frozen=True)
class RuleOptions:
    """Options of a rule: condition and runs."""

    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="finished, failed, lost, stalled, entropy_collapse, empty_batches, fill_rate, ratio, finding or "
            "metric.",
        ),
    ]
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--with", metavar="NAME=VALUE", help="Setting of the condition, such as below=0.5 or steps=10; repeatable."
        ),
    ] = None
    tag: Annotated[str | None, typer.Option("--tag", help="Only runs with this tag.")] = None
    method: Annotated[str | None, typer.Option("--method", help="Only runs of this method.")] = None
    run: Annotated[str | None, typer.Option("--run", help="Only this run.")] = None
    project: Annotated[
        str | None, typer.Option("--project", help="Project to watch. Default: the one you submit to.")
    ] = None

    def content(self, client: Client) -> dict[str, Any]:
        """Return the rule as a body of the API."""
        condition: dict[str, Any] = {"kind": self.kind}
        for setting in self.settings or ():
            name, separator, value = setting.partition("=")
            if not separator:
                raise typer.BadParameter(f"write NAME=VALUE, not {setting!r}", param_hint="--with")
            condition[name] = parse_value(value)
        run_id = None if self.run is None else find_run(client, self.run).id
        scope = {"tag": self.tag, "method": self.method, "run_id": run_id}
        content: dict[str, Any] = {
            "condition": condition,
            "scope": {key: value for key, value in scope.items() if value},
        }
        return content if self.project is None else {**content, "project": self.project}


@rules.command("add")
@answering
def add_rule(
    client: Client,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the rule.")],
    options: RuleOptions,
) -> Answer:
    """Create a rule.

    [bold]bapo alerts rules add "Batches not filled" fill_rate --with below=0.5 --with steps=10[/bold]

    [bold]bapo alerts rules add "Gradient too large" metric --with key=actor/grad_norm --with 'comparison=">"' --with
    threshold=5[/bold]

    [bold]bapo alerts rules add "Data is wrong" finding --with 'severity="problem"'[/bold]
    """
    rule = client.create_alert_rule(checked(RuleWrite, {**options.content(client), "name": name}))
    return rule, f"{rule.id} {rule.name}: {rule.sentence}"


@rules.command("try")
@online
def try_rule(client: Client, options: RuleOptions, as_json: JsonOption = False) -> None:
    """Preview a rule: where it would have opened an alert in the newest runs.

    [bold]bapo alerts rules try entropy_collapse --with below=0.1[/bold]
    """
    found = client.preview_alert_rule(checked(RuleDraft, options.content(client)))
    if as_json:
        print_json(found)
        return
    say(found.sentence)
    if found.num_firings:
        FIRINGS.print([(run, firing) for run in found.runs for firing in run.firings])
    say(f"{found.num_firings} alerts in the {found.num_runs} newest runs")


@rules.command("delete")
@answering
def delete_rule(client: Client, rule: Annotated[str, typer.Argument(metavar="RULE", help="Rule id.")]) -> Answer:
    """Delete a rule; its alerts stay."""
    client.delete_alert_rule(rule)
    return {"id": rule, "done": "deleted"}, f"{rule}: deleted"
