"""`bapo alerts`: what rules found in runs, and the rules."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any, TypeVar

import typer
from pydantic import ValidationError

from bapo.api.alerts import RuleDraft, RuleWrite
from bapo.cli.connection import online
from bapo.cli.drafts import parse_value
from bapo.cli.failures import RefusedError
from bapo.cli.lazy import group
from bapo.cli.naming import find_run
from bapo.cli.output import JsonOption, ago, number, print_json, print_table, say, table, tell, user_text
from bapo.client import Client

RuleT = TypeVar("RuleT", bound=RuleDraft)

app = group("What rules found in runs; the rules.")
rules = group("The rules that open alerts.")
app.add_typer(rules, name="rules")


class AlertFilter(StrEnum):
    """Which alerts."""

    OPEN = "open"
    UNSEEN = "unseen"
    RESOLVED = "resolved"
    ALL = "all"


@app.command("list")
@online
def list_alerts(
    client: Client,
    state: Annotated[AlertFilter, typer.Option(help="Which.")] = AlertFilter.OPEN,
    run: Annotated[str | None, typer.Option("--run", help="Of this run only.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=500, help="At most so many.")] = 30,
    as_json: JsonOption = False,
) -> None:
    """List alerts, the newest first."""
    run_id = None if run is None else find_run(client, run).id
    page = client.alerts(state=state.value, run_id=run_id, limit=limit)
    if as_json:
        print_json(page)
        return
    if not page.items:
        say(f"no alert is {state}" if state is not AlertFilter.ALL else "there is no alert")
        return
    made = table("id", "when", "run", "rule", "step", "what", right=("id", "when", "step"))
    made.columns[-1].no_wrap = False
    for each in page.items:
        when = ago(each.opened_at) + (" (over)" if each.resolved_at else "")
        made.add_row(
            f"{each.id}", when, user_text(each.run), user_text(each.rule), f"{each.step:,}", user_text(each.message)
        )
    print_table(made, cut=("run", "rule"))


@app.command("ack")
@online
def acknowledge(
    client: Client,
    ids: Annotated[list[int], typer.Argument(metavar="ID…", help="Numbers of alerts.")],
    as_json: JsonOption = False,
) -> None:
    """Say that alerts were seen."""
    answer = client.acknowledge_alerts(ids)
    tell(answer, f"{answer.num_acknowledged} acknowledged", as_json=as_json)


@rules.command("list")
@online
def list_rules(client: Client, as_json: JsonOption = False) -> None:
    """List the rules."""
    page = client.alert_rules()
    if as_json:
        print_json(page)
        return
    made = table("id", "name", "on", "open", "what", right=("open",))
    made.columns[-1].no_wrap = False
    for rule in page.items:
        made.add_row(
            rule.id, user_text(rule.name), "yes" if rule.enabled else "no", f"{rule.num_open}", user_text(rule.sentence)
        )
    print_table(made, cut=("name",))


KindArgument = Annotated[
    str,
    typer.Argument(
        metavar="KIND",
        help="finished, failed, lost, stalled, entropy_collapse, empty_batches, fill_rate, ratio or metric.",
    ),
]
WithOption = Annotated[
    list[str] | None,
    typer.Option("--with", metavar="NAME=VALUE", help="Of the condition, such as below=0.5 or steps=10; repeatable."),
]
TagOption = Annotated[str | None, typer.Option("--tag", help="Only runs with this tag.")]
MethodOption = Annotated[str | None, typer.Option("--method", help="Only runs of this method.")]
RunOption = Annotated[str | None, typer.Option("--run", help="Only this run.")]
ProjectOption = Annotated[str | None, typer.Option("--project", help="Whose runs. Default: where you submit to.")]


@rules.command("add")
@online
def add_rule(
    client: Client,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it.")],
    kind: KindArgument,
    settings: WithOption = None,
    tag: TagOption = None,
    method: MethodOption = None,
    run: RunOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a rule.

    [bold]bapo alerts rules add "Batches run empty" fill_rate --with below=0.5 --with steps=10[/bold]

    [bold]bapo alerts rules add "Gradient too large" metric --with key=actor/grad_norm --with 'comparison=">"' --with
    threshold=5[/bold]
    """
    watched = _watched(client, kind, settings, tag, method, run, project)
    rule = client.create_alert_rule(_checked(RuleWrite, {**watched, "name": name}))
    tell(rule, f"{rule.id} {rule.name}: {rule.sentence}", as_json=as_json)


@rules.command("try")
@online
def try_rule(
    client: Client,
    kind: KindArgument,
    settings: WithOption = None,
    tag: TagOption = None,
    method: MethodOption = None,
    run: RunOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say where a rule would have opened an alert in the newest runs; makes none.

    [bold]bapo alerts rules try entropy_collapse --with below=0.1[/bold]
    """
    found = client.preview_alert_rule(_checked(RuleDraft, _watched(client, kind, settings, tag, method, run, project)))
    if as_json:
        print_json(found)
        return
    say(found.sentence)
    made = table("run", "name", "steps", "alert at step", "value", "over at", right=("steps", "alert at step", "value"))
    for each in found.runs:
        for firing in each.firings:
            over = "" if firing.resolved_step is None else f"{firing.resolved_step:,}"
            made.add_row(
                each.run_id, user_text(each.name), f"{each.step:,}", f"{firing.step:,}", number(firing.value), over
            )
    if found.num_firings:
        print_table(made, cut=("name",))
    say(f"{found.num_firings} alerts in the {found.num_runs} newest runs")


@rules.command("delete")
@online
def delete_rule(
    client: Client,
    rule: Annotated[str, typer.Argument(metavar="RULE", help="Its id.")],
    as_json: JsonOption = False,
) -> None:
    """Delete a rule; the alerts that it opened stay."""
    client.delete_alert_rule(rule)
    tell({"id": rule, "done": "deleted"}, f"{rule}: deleted", as_json=as_json)


def _watched(
    client: Client,
    kind: str,
    settings: list[str] | None,
    tag: str | None,
    method: str | None,
    run: str | None,
    project: str | None,
) -> dict[str, Any]:
    condition: dict[str, Any] = {"kind": kind}
    for setting in settings or ():
        name, separator, value = setting.partition("=")
        if not separator:
            raise typer.BadParameter(f"write NAME=VALUE, not {setting!r}", param_hint="--with")
        condition[name] = parse_value(value)
    scope = {"tag": tag, "method": method, "run_id": None if run is None else find_run(client, run).id}
    watched: dict[str, Any] = {"condition": condition, "scope": {key: value for key, value in scope.items() if value}}
    return watched if project is None else {**watched, "project": project}


def _checked(model: type[RuleT], content: dict[str, Any]) -> RuleT:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, each['loc']))} = {json.dumps(each.get('input'), default=str)}: {each['msg']}"
            for each in error.errors()
        ]
        raise RefusedError("\n".join(problems)) from None
