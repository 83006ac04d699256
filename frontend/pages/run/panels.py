"""The tabs of a run page that are no charts: samples, log, config, history."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
import httpx
from dash import Dash, Input, Output, State, html
from pydantic import TypeAdapter

from bapo.api import AuditEntry, ControlInfo, RunDetail
from bapo.client import ApiError
from bapo.config.resolve import flatten
from bapo.records import SampleRecord
from bapo.rollout import BatchSource
from frontend import formatting
from frontend.components.attributes import attributes
from frontend.components.icon import icon
from frontend.components.notices import error_notice, error_text, notice
from frontend.pages.run.charting import chart_panel
from frontend.session import Api
from frontend.symbols import short_name

CHART_TABS = ("overview", "batch", "difficulty")
SAMPLES_SHOWN = 12

_SAMPLES = TypeAdapter(list[SampleRecord])

SOURCE_NAMES: dict[BatchSource, tuple[str, str]] = {
    BatchSource.FRESH: ("X1 fresh", "fresh"),
    BatchSource.REEVALUATED: ("X2 re-evaluated", "reevaluated"),
    BatchSource.REUSED: ("X3 reused", "reused"),
}


def sample_cards(samples: Sequence[SampleRecord]) -> list[Any]:
    """Groups with their responses; all of it is shown as text, never as markup."""
    return [_sample_card(sample) for sample in samples]


def _sample_card(sample: SampleRecord) -> html.Div:
    source, colour = SOURCE_NAMES[sample.source]
    staleness = sample.step - 1 - sample.policy_version
    responses = [
        html.Div(
            [
                html.Span(
                    icon("check" if response.reward else "cross", 14),
                    className="response-reward good" if response.reward else "response-reward bad",
                    **attributes(aria_label="correct" if response.reward else "wrong"),
                ),
                html.Code(response.text, className="response-text"),
                html.Span(f"{response.num_tokens} tokens", className="response-tokens"),
            ],
            className="response",
        )
        for response in sample.responses
    ]
    return html.Div(
        [
            html.Div(
                [
                    html.Span(source, className=f"source source-{colour}"),
                    html.Span(f"{sample.num_correct}/{sample.group_size} correct", className="sample-accuracy"),
                    html.Span(f"step {sample.step:,}", className="fact"),
                    html.Span(
                        "current policy" if staleness <= 0 else f"policy {staleness} step{'s' * (staleness != 1)} old",
                        className="fact",
                    ),
                    html.Span("trained on" if sample.in_batch else "not trained on", className="fact"),
                ],
                className="sample-head",
            ),
            html.Code(sample.prompt, className="sample-prompt"),
            html.Div(responses, className="responses"),
        ],
        className="sample-card",
    )


def config_panel(run: RunDetail) -> html.Div:
    """What differs from the parent or recipe first, then every field."""
    origin = "the parent run" if run.parent_id else f"the recipe {run.recipe}" if run.recipe else "its origin"
    explicit = flatten(run.explicit)
    rows = [
        dmc.TableTr(
            [
                dmc.TableTd(html.Code(path)),
                dmc.TableTd(html.Code(formatting.config_value(value) or "empty")),
                dmc.TableTd("set" if path in explicit else "default"),
            ],
            className="config-set" if path in explicit else "config-default",
        )
        for path, value in flatten(run.config).items()
    ]
    return html.Div(
        [
            html.Div(
                [html.H3(f"Differences to {origin}", className="chart-title"), diff_table(run.diff)],
                className="panel-card",
            ),
            html.Div(
                [
                    dmc.Group(
                        [
                            html.H3("Complete config", className="chart-title"),
                            dmc.CopyButton(
                                value=json.dumps(run.config, indent=2),
                                children="Copy as JSON",
                                copiedChildren="Copied",
                                size="compact-xs",
                                variant="default",
                            ),
                        ],
                        justify="space-between",
                    ),
                    dmc.TableScrollContainer(
                        dmc.Table(
                            [
                                dmc.TableThead(
                                    dmc.TableTr([dmc.TableTh("Field"), dmc.TableTh("Value"), dmc.TableTh("Origin")])
                                ),
                                dmc.TableTbody(rows),
                            ],
                            className="config-table",
                            verticalSpacing=4,
                        ),
                        minWidth=480,
                    ),
                ],
                className="panel-card",
            ),
        ],
        className="panel-stack",
    )


def diff_table(diff: dict[str, tuple[Any, Any]]) -> Any:
    """Field, old and new value."""
    if not diff:
        return dmc.Text("None: every field is the same.", size="sm", c="dimmed")
    return dmc.TableScrollContainer(
        dmc.Table(
            [
                dmc.TableThead(dmc.TableTr([dmc.TableTh("Field"), dmc.TableTh("There"), dmc.TableTh("Here")])),
                dmc.TableTbody(
                    [
                        dmc.TableTr(
                            [
                                dmc.TableTd(html.Code(path, title=short_name(path))),
                                dmc.TableTd(
                                    html.Code(formatting.config_value(before) or "empty", className="diff-old")
                                ),
                                dmc.TableTd(html.Code(formatting.config_value(after) or "empty", className="diff-new")),
                            ]
                        )
                        for path, (before, after) in diff.items()
                    ]
                ),
            ],
            className="config-table",
        ),
        minWidth=360,
    )


def control_list(controls: Sequence[ControlInfo]) -> list[Any]:
    """Requests with what became of them, newest first."""
    now = datetime.now(UTC)
    colours = {"pending": "yellow", "applied": "green", "refused": "red"}
    items = []
    for control in sorted(controls, key=lambda each: each.created_at, reverse=True):
        changes = ", ".join(
            f"{short_name(path)} = {formatting.config_value(value)}" for path, value in control.set.items()
        )
        outcome = {
            "pending": "waiting for the next step boundary"
            if control.at_step is None
            else f"waiting for step {control.at_step:,}",
            "applied": "" if control.applied_step is None else f"holds from step {control.applied_step:,}",
            "refused": control.reason or "refused by the trainer",
        }[control.state]
        items.append(
            html.Div(
                [
                    dmc.Badge(control.state, color=colours[control.state], **attributes(data_control=control.state)),
                    html.Span(changes or control.kind, className="control-change"),
                    html.Span(outcome, className="fact"),
                    html.Span(
                        f"{control.author}, {formatting.ago(control.created_at, now)}",
                        className="fact",
                        title=formatting.exact_time(control.created_at),
                    ),
                ],
                className="control",
            )
        )
    return items


def history_panel(audit: Sequence[AuditEntry], controls: Sequence[ControlInfo]) -> html.Div:
    """Requests to the trainer, and who did what when."""
    now = datetime.now(UTC)
    entries = [
        html.Div(
            [
                html.Span(formatting.ago(entry.at, now), className="audit-time", title=formatting.exact_time(entry.at)),
                html.Span(entry.author, className="audit-author"),
                html.Span(entry.action.replace("_", " "), className="audit-action"),
                html.Span(
                    ", ".join(f"{name} {formatting.config_value(value)}" for name, value in entry.detail.items()),
                    className="audit-detail",
                ),
            ],
            className="audit",
        )
        for entry in sorted(audit, key=lambda each: each.at, reverse=True)
    ]
    return html.Div(
        [
            html.Div(
                [
                    html.H3("Requests to the trainer", className="chart-title"),
                    *(control_list(controls) or [dmc.Text("Nobody has asked for a change.", size="sm", c="dimmed")]),
                ],
                className="panel-card",
            ),
            html.Div(
                [
                    html.H3("Who did what", className="chart-title"),
                    *(entries or [dmc.Text("Nothing yet.", size="sm", c="dimmed")]),
                ],
                className="panel-card",
            ),
        ],
        className="panel-stack",
    )


def samples_panel() -> html.Div:
    """The step to look at, and a place for its groups."""
    return html.Div(
        [
            dmc.NumberInput(
                id="samples-step",
                label="Step",
                description="Empty: the newest",
                min=1,
                allowDecimal=False,
                w=160,
                size="xs",
                debounce=300,
            ),
            html.Div([dmc.Skeleton(height=180, radius="md") for _ in range(4)], id="samples", className="sample-grid"),
        ],
        className="panel-stack",
    )


def log_panel() -> html.Div:
    """The trainer's output."""
    return html.Div(
        html.Pre("Loading …", id="log-text", className="log", tabIndex=0, **attributes(aria_label="Log")),
        className="panel-card",
    )


def register(app: Dash, api: Api) -> None:
    """Tabs and what fills them."""

    @app.callback(
        Output("run-panel", "children"),
        Input("run-tabs", "value"),
        State("run-id", "data"),
    )
    async def open_tab(tab: str, run_id: str) -> Any:
        client = api.client()
        try:
            if tab == "samples":
                return samples_panel()
            if tab == "log":
                return log_panel()
            if tab == "history":
                return html.Div(id="history")
            run = await client.run(run_id)
        except (ApiError, httpx.TransportError) as error:
            return error_notice(error)
        return config_panel(run) if tab == "config" else chart_panel(run, tab)

    @app.callback(
        Output("samples", "children"),
        Input("samples-step", "value"),
        Input("run-reload", "data"),
        State("run-id", "data"),
    )
    async def show_samples(step: int | str | None, _: int, run_id: str) -> Any:
        try:
            page = await api.client().samples(run_id, step=int(step) if step else None, limit=SAMPLES_SHOWN)
        except (ApiError, httpx.TransportError) as error:
            return dmc.Alert(error_text(error), color="red", variant="light")
        if not page.items:
            where = f"of step {step}" if step else "yet"
            return notice(f"No responses {where}", "samples.groups_per_step says how many groups a step keeps as text.")
        return sample_cards(_SAMPLES.validate_python(page.items))

    @app.callback(
        Output("log-text", "children"), Input("run-delta", "data"), Input("log-text", "id"), State("run-id", "data")
    )
    async def show_log(_: Any, __: str, run_id: str) -> Any:
        try:
            chunk = await api.client().log(run_id)
        except (ApiError, httpx.TransportError) as error:
            return error_text(error)
        return chunk.text or "The trainer has written nothing yet."

    @app.callback(
        Output("history", "children"), Input("history", "id"), Input("run-reload", "data"), State("run-id", "data")
    )
    async def show_history(_: str, __: int, run_id: str) -> Any:
        try:
            history = await api.client().history(run_id)
        except (ApiError, httpx.TransportError) as error:
            return error_notice(error)
        return history_panel(history.audit, history.controls)
