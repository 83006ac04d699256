"""The editor of an alert rule: the fields of its kind, a preview while typing, and saving."""

from __future__ import annotations

from functools import partial
from typing import Any

from dash import ALL, Dash, Input, Output, State, ctx, html, no_update
from dash.exceptions import PreventUpdate

from bapo.api.alerts import RuleInfo
from bapo.client import ApiError
from frontend.components.actions import FAILURES, Failure, clientside, failure_alert, in_toast, show, tell, when_pressed
from frontend.pages.alerts.form import FIELDS, WITH_FIELDS, Written, preview_panel, written
from frontend.pages.alerts.rules import redraw_rules
from frontend.request.session import Api

_ANY = {"type": "rule-field", "kind": ALL, "name": ALL}
_GROUPS = {"type": "rule-group", "kind": ALL}
_DEFAULTS: dict[tuple[str, str], Any] = {
    **{(kind, field.name): field.value for kind, fields in FIELDS.items() for field in fields},
    ("metric", "key"): "actor/grad_norm",
    ("metric", "comparison"): ">",
    ("metric", "smoothing"): "",
    ("finding", "severity"): "warning",
    ("finding", "findings"): [],
}


_INCOMPLETE = html.Span("Correct the marked fields to preview the rule.", className="queue-detail")


def _marks(error: Failure, ids: list[dict[str, str]]) -> list[str]:
    """Return the server's remedy at the field that it is about; nothing if it is about none of them."""
    if not isinstance(error, ApiError) or not (error.body.field or "").startswith("scope."):
        return []
    return [error.body.remedy if f"{each['kind']}.{each['name']}" == error.body.field else "" for each in ids]


def _errors(found: Written, ids: list[dict[str, str]]) -> list[str]:
    return [found.problems.get((each["kind"], each["name"]), "") for each in ids]


def _values(ids: list[dict[str, str]], values: list[Any]) -> dict[tuple[str, str], Any]:
    return {(each["kind"], each["name"]): value for each, value in zip(ids, values, strict=True)}


def register(app: Dash, api: Api) -> None:
    """Register the callbacks: opening, showing the fields of the kind, previewing and saving."""
    _opening(app, api)
    _previewing(app, api)
    _saving(app, api)


def _opening(app: Dash, api: Api) -> None:
    @app.callback(
        Output("rule-drawer", "opened"),
        Output("rule-drawer", "title"),
        Output("rule-editing", "data"),
        Output("rule-kind", "value"),
        Output("rule-project", "value"),
        Output(_ANY, "value"),
        Input("rule-asked", "data"),
        Input("rule-new", "n_clicks"),
        Input({"type": "rule-edit", "id": ALL}, "n_clicks"),
        State("rule-project", "value"),
        State(_ANY, "id"),
        on_error=in_toast(),
    )
    async def open_editor(
        asked: dict[str, str], clicks: int | None, _: Any, project: str | None, ids: list[dict[str, str]]
    ) -> Any:
        trigger: Any = ctx.triggered_id
        rule_id = None
        if isinstance(trigger, dict):
            if not any(each["value"] for each in ctx.triggered):
                raise PreventUpdate
            rule_id = trigger["id"]
        elif not clicks:
            if not asked:
                raise PreventUpdate
            rule_id = asked.get("rule")
        if rule_id is None:
            given = {**_DEFAULTS, ("scope", "run_id"): asked.get("run", "") if not clicks else ""}
            values = [given.get((each["kind"], each["name"]), "") for each in ids]
            return True, "New rule", None, "failed", project, values
        rule = await api.client().alert_rule(rule_id)
        given = {**_DEFAULTS, **_given(rule)}
        values = [given.get((each["kind"], each["name"]), "") for each in ids]
        editing = {"id": rule.id, "enabled": rule.enabled}
        return True, "Edit the rule", editing, rule.condition.kind, rule.project, values

    @app.callback(Output(_GROUPS, "className"), Input("rule-kind", "value"), State(_GROUPS, "id"))
    def show_fields(kind: str, groups: list[dict[str, str]]) -> list[str]:
        return [
            "rule-fields" if each["kind"] == kind and kind in WITH_FIELDS else "rule-fields hidden" for each in groups
        ]


def _given(rule: RuleInfo) -> dict[tuple[str, str], Any]:
    condition = rule.condition.model_dump(mode="json")
    kind = condition.pop("kind")
    scope = rule.scope.model_dump()
    return {
        ("rule", "name"): rule.name,
        **{(kind, name): "" if value is None else value for name, value in condition.items()},
        **{("scope", name): value or "" for name, value in scope.items()},
    }


def _previewing(app: Dash, api: Api) -> None:
    # The fields tell at once what was typed, so that "Save" never takes an older value; only the preview waits.
    in_browser = partial(clientside, app, "alerts")
    changed = (Input("rule-drawer", "opened"), Input("rule-kind", "value"), Input("rule-project", "value"))
    typed = Output("rule-typed", "data", allow_duplicate=True)
    in_browser("typed", typed, *changed, Input(_ANY, "value"), initial=False)
    in_browser("previewing", Output("rule-typed", "data"), Input("rule-previewing", "data"))

    @app.callback(
        Output("rule-preview", "children"),
        Output(_ANY, "error"),
        Input("rule-typed", "data"),
        State("rule-drawer", "opened"),
        State("rule-kind", "value"),
        State("rule-project", "value"),
        State(_ANY, "value"),
        State(_ANY, "id"),
        running=[(Output("rule-previewing", "data"), True, False)],
        prevent_initial_call=True,
    )
    async def preview(
        _: int, opened: bool, kind: str, project: str | None, values: list[Any], ids: list[dict[str, str]]
    ) -> Any:
        if not opened:
            raise PreventUpdate
        given = _values(ids, values)
        # A rule without a name yet is previewed too.
        given[("rule", "name")] = given.get(("rule", "name")) or "unnamed"
        found = written(kind, given, project)
        errors = _errors(found, ids)
        if found.rule is None:
            return _INCOMPLETE, errors
        try:
            panel: Any = preview_panel(await api.client().preview_alert_rule(found.rule))
        except FAILURES as error:
            marks = _marks(error, ids)
            panel = _INCOMPLETE if marks else failure_alert(error, "yellow")
            errors = marks or errors
        return panel, errors


def _saving(app: Dash, api: Api) -> None:
    @when_pressed(
        app,
        "rule-submit",
        outputs=[Output("rule-drawer", "opened", allow_duplicate=True), Output(_ANY, "error", allow_duplicate=True)],
        states=[
            State("rule-editing", "data"),
            State("rule-kind", "value"),
            State("rule-project", "value"),
            State(_ANY, "value"),
            State(_ANY, "id"),
        ],
        busy="rule-submit",
    )
    async def save(
        _: str,
        editing: dict[str, Any] | None,
        kind: str,
        project: str | None,
        values: list[Any],
        ids: list[dict[str, str]],
    ) -> Any:
        show("rule-problem", "")
        found = written(kind, _values(ids, values), project, enabled=editing is None or editing["enabled"])
        if found.rule is None:
            return no_update, _errors(found, ids)
        client = api.client()
        try:
            if editing is None:
                rule = await client.create_alert_rule(found.rule)
            else:
                rule = await client.replace_alert_rule(editing["id"], found.rule)
        except FAILURES as error:
            marks = _marks(error, ids)
            if not marks:
                show("rule-problem", failure_alert(error))
            return no_update, marks or [""] * len(ids)
        tell(rule.sentence, "Saved")
        await redraw_rules(client)
        return False, [""] * len(ids)
