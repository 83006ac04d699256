"""The rules of the caller's projects, each as a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
import httpx
from dash import ALL, Dash, Input, Output, State, ctx, dcc, html, no_update

from bapo.api.alerts import (
    EmptyBatchesCondition,
    EntropyCondition,
    FailedCondition,
    FillRateCondition,
    LostCondition,
    RatioCondition,
    RuleInfo,
    RuleWrite,
    StalledCondition,
)
from bapo.client import ApiError
from frontend.components.attributes import attributes
from frontend.components.confirm import Question, confirm_dialog, question, when_agreed
from frontend.components.icon import icon
from frontend.components.moment import moment
from frontend.components.notices import error_text, notice, toast
from frontend.pages.alerts import frame
from frontend.pages.alerts.form import editor
from frontend.session import Api

USUAL: Sequence[RuleWrite] = (
    RuleWrite(name="A run fails", condition=FailedCondition()),
    RuleWrite(name="A run is lost", condition=LostCondition()),
    RuleWrite(name="No progress", condition=StalledCondition()),
    RuleWrite(name="Entropy collapses", condition=EntropyCondition()),
    RuleWrite(name="Empty batches", condition=EmptyBatchesCondition()),
    RuleWrite(name="Thin batches", condition=FillRateCondition()),
    RuleWrite(name="Far off policy", condition=RatioCondition()),
)
"""Silent over every healthy run that was recorded while they were chosen."""


async def layout(api: Api, _: Mapping[str, str], query: Mapping[str, str]) -> Any:
    """The list, and the editor, opened where the address says so: `?new=1`, `?run=ID`, `?rule=ID`."""
    client = api.client()
    page, me, newest = await client.alert_rules(), await client.me(), await client.runs(limit=1)
    keys = (await client.metric_keys(newest.items[0].id)).items if newest.items else []
    projects = [project.name for project in me.projects if project.role != "viewer" and not project.is_archived]
    asked = {name: query[name] for name in ("new", "run", "rule") if name in query}
    buttons = dmc.Group(
        [
            dmc.Button("Add the usual rules", id="rules-usual", variant="default", color="gray", size="xs"),
            dmc.Button("New rule", id="rule-new", leftSection=icon("plus", 16), size="xs"),
        ],
        gap="xs",
    )
    return frame.page(
        "/alerts/rules",
        dcc.Store(id="rules-changed", data=0),
        dcc.Store(id="rule-asked", data=asked),
        html.Div(rule_list(page.items), id="rules"),
        editor(projects, keys),
        confirm_dialog("rule"),
        action=buttons if projects else None,
    )


def rule_list(rules: Sequence[RuleInfo]) -> list[Any]:
    """By name; where there are none, what rules are for."""
    if not rules:
        text = (
            "A rule watches runs while they train and tells when something is wrong. It never stops a run. The usual "
            "ones: failures, lost workers, standstills, entropy, empty and thin batches, importance ratios."
        )
        return [notice("No rules yet", text, icon_name="bell")]
    now = datetime.now(UTC)
    return [html.Div([_card(rule, now) for rule in rules], className="rule-list")]


def _card(rule: RuleInfo, now: datetime) -> html.Div:
    found = [dmc.Badge(f"{rule.num_open} open", color="red", variant="light", size="sm")] if rule.num_open else []
    last = ["last alert ", moment(rule.last_opened_at, now=now)] if rule.last_opened_at else ["no alert yet"]
    side: list[Any] = [
        *found,
        dmc.Switch(
            id={"type": "rule-enabled", "id": rule.id},
            checked=rule.enabled,
            disabled=not rule.may_change,
            size="sm",
            **attributes(aria_label=f"{rule.name} watches"),
        ),
    ]
    if rule.may_change:
        side += [
            dmc.Button(
                "Edit", id={"type": "rule-edit", "id": rule.id}, size="compact-sm", variant="default", color="gray"
            ),
            dmc.ActionIcon(
                icon("trash", 16),
                id={"type": "rule-delete", "id": rule.id, "name": rule.name},
                variant="subtle",
                color="red",
                size="sm",
                **attributes(aria_label=f"Delete the rule {rule.name}"),
            ),
        ]
    return html.Div(
        [
            html.Div(
                [
                    html.Div(rule.name, className="rule-name"),
                    html.Div(rule.sentence, className="rule-sentence"),
                    html.Div([f"{rule.owner} · {rule.project} · ", *last], className="queue-detail"),
                ]
            ),
            html.Div(side, className="rule-side"),
        ],
        className="rule-card" if rule.enabled else "rule-card off",
    )


def register(app: Dash, api: Api) -> None:
    """Listing, switching, adding the usual ones and deleting."""

    @app.callback(Output("rules", "children"), Input("rules-changed", "data"), prevent_initial_call=True)
    async def refresh(_: int) -> Any:
        try:
            return rule_list((await api.client().alert_rules()).items)
        except (ApiError, httpx.TransportError) as error:
            return [dmc.Alert(error_text(error), color="yellow", variant="light")]

    @app.callback(
        Output("rules-changed", "data", allow_duplicate=True),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Input("rules-usual", "n_clicks"),
        State("rules-changed", "data"),
        running=[(Output("rules-usual", "loading"), True, False)],
        prevent_initial_call=True,
    )
    async def add_usual(clicks: int | None, changed: int) -> Any:
        if not clicks:
            return no_update, no_update
        try:
            client = api.client()
            known = {rule.condition.kind for rule in (await client.alert_rules()).items if rule.scope.run_id is None}
            missing = [rule for rule in USUAL if rule.condition.kind not in known]
            for rule in missing:
                await client.create_alert_rule(rule)
        except (ApiError, httpx.TransportError) as error:
            return changed + 1, toast(error_text(error), title="Could not add the rules")
        text = ", ".join(rule.name.lower() for rule in missing) or "a rule of each kind was there already"
        return changed + 1, toast(text, title=f"{len(missing)} rules added", colour="green")

    @app.callback(
        Output("rules-changed", "data", allow_duplicate=True),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Input({"type": "rule-enabled", "id": ALL}, "checked"),
        State("rules-changed", "data"),
        prevent_initial_call=True,
    )
    async def switch(_: Any, changed: int) -> Any:
        trigger: Any = ctx.triggered_id
        # The list is drawn anew after each change, which is nobody's click.
        if not trigger or len(ctx.triggered) != 1:
            return no_update, no_update
        wanted = bool(ctx.triggered[0]["value"])
        try:
            client = api.client()
            rule = await client.alert_rule(trigger["id"])
            if rule.enabled is wanted:
                return no_update, no_update
            await client.replace_alert_rule(rule.id, body_of(rule, enabled=wanted))
        except (ApiError, httpx.TransportError) as error:
            return changed + 1, toast(error_text(error), title="Could not change the rule")
        return changed + 1, no_update

    @app.callback(
        Output(question("rule"), "data"),
        Input({"type": "rule-delete", "id": ALL, "name": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )
    def ask(_: Any) -> Any:
        trigger: Any = ctx.triggered_id
        if not any(each["value"] for each in ctx.triggered):
            return no_update
        return Question(
            title="Delete this rule?",
            subject=trigger["name"],
            text="Nothing is watched by it any more. Its open alerts are over; what it found stays in the history.",
            button="Delete the rule",
            data=trigger["id"],
        )

    outputs = [Output("rules-changed", "data", allow_duplicate=True)]

    @when_agreed(app, "rule", outputs, [State("rules-changed", "data")])
    async def delete(rule_id: str, changed: int) -> Any:
        await api.client().delete_alert_rule(rule_id)
        return [changed + 1]


def body_of(rule: RuleInfo, *, enabled: bool) -> RuleWrite:
    """The rule as it would be written, switched on or off."""
    return RuleWrite(name=rule.name, condition=rule.condition, scope=rule.scope, project=rule.project, enabled=enabled)
