"""The alert rules of the caller's projects, each as a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
from dash import ALL, Dash, Input, ctx, html, set_props

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
from bapo.client import AsyncClient
from frontend.components.actions import in_toast, show, tell, when_pressed
from frontend.components.card import new_button
from frontend.components.choices import writable_projects
from frontend.components.controls import icon_button, small_button
from frontend.components.dialogs import confirm_dialog, when_asked
from frontend.components.elements import Store, attributes
from frontend.components.notices import notice
from frontend.components.page import Page
from frontend.components.text import moment
from frontend.pages.alerts import alerts_page, rule_card
from frontend.pages.alerts.form import editor
from frontend.request.session import Api

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
    """Return the list and the editor, which is open if the address says so: `?new=1`, `?run=ID`, `?rule=ID`."""
    client = api.client()
    page, me, newest = await client.alert_rules(), await client.me(), await client.runs(limit=1)
    keys = (await client.metric_keys(newest.items[0].id)).items if newest.items else []
    projects = writable_projects(me)
    asked = {name: query[name] for name in ("new", "run", "rule") if name in query}
    buttons = dmc.Group(
        [
            dmc.Button("Add default rules", id="rules-usual", variant="default", color="gray", size="xs"),
            new_button("New rule", "rule-new", size="xs"),
        ],
        gap="xs",
        className="for-members",
    )
    return alerts_page(
        "/alerts/rules",
        Store(id="rule-asked", data=asked),
        html.Div(rule_list(page.items), id="rules"),
        editor(projects, keys),
        confirm_dialog("rule-delete"),
        action=buttons if projects else None,
    )


def rule_list(rules: Sequence[RuleInfo]) -> list[Any]:
    """Return the rules by name; without any, what rules are for."""
    if not rules:
        text = (
            "A rule watches runs while they train and opens an alert when something is wrong. It never stops a run. "
            "The default rules look for failures, lost workers, stalls, entropy collapse, empty and thin batches, and "
            "importance ratios."
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
            **attributes(aria_label=f"{rule.name} is on"),
        ),
    ]
    if rule.may_change:
        side += [
            small_button("Edit", {"type": "rule-edit", "id": rule.id}, size="compact-sm"),
            icon_button(
                "trash",
                f"Delete the rule {rule.name}",
                id={"type": "rule-delete", "id": rule.id, "name": rule.name},
            ),
        ]
    words = [
        html.Div(rule.name, className="rule-name"),
        html.Div(rule.sentence, className="rule-sentence"),
        html.Div([f"{rule.owner} · {rule.project} · ", *last], className="queue-detail"),
    ]
    return rule_card(words, side, is_on=rule.enabled)


PAGES = (Page("/alerts/rules", layout, section="alerts"),)


def register(app: Dash, api: Api) -> None:
    """Register the callbacks: switching, adding the default rules and deleting."""

    @when_pressed(app, "rules-usual", busy="rules-usual", on_error=in_toast("Rules not added"))
    async def add_usual(_: str) -> None:
        client = api.client()
        known = {rule.condition.kind for rule in (await client.alert_rules()).items if rule.scope.run_id is None}
        missing = [rule for rule in USUAL if rule.condition.kind not in known]
        for rule in missing:
            await client.create_alert_rule(rule)
        text = ", ".join(rule.name.lower() for rule in missing) or "There is a rule of each kind already."
        tell(text, f"{len(missing)} rules added")
        await redraw_rules(client)

    def refused(error: Exception) -> None:
        in_toast("Rule not changed")(error)
        set_props(ctx.triggered_id, {"checked": not ctx.triggered[0]["value"]})

    @app.callback(Input({"type": "rule-enabled", "id": ALL}, "checked"), prevent_initial_call=True, on_error=refused)
    async def switch(_: Any) -> None:
        # A list that is redrawn reports all its switches.
        if not ctx.triggered_id or len(ctx.triggered) != 1:
            return
        wanted, client = bool(ctx.triggered[0]["value"]), api.client()
        rule = await client.alert_rule(ctx.triggered_id["id"])
        if rule.enabled is not wanted:
            await client.replace_alert_rule(rule.id, body_of(rule, enabled=wanted))
            await redraw_rules(client)

    @when_asked(
        app,
        "rule-delete",
        title="Delete this rule?",
        text="It no longer watches any run. Its open alerts are resolved; past alerts stay in the history.",
        button="Delete the rule",
    )
    async def delete(rule_id: str) -> None:
        client = api.client()
        await client.delete_alert_rule(rule_id)
        await redraw_rules(client)


async def redraw_rules(client: AsyncClient) -> None:
    """Show the rules as they are now."""
    show("rules", rule_list((await client.alert_rules()).items))


def body_of(rule: RuleInfo, *, enabled: bool) -> RuleWrite:
    """Return the rule as it would be written, switched on or off."""
    return RuleWrite(name=rule.name, condition=rule.condition, scope=rule.scope, project=rule.project, enabled=enabled)
