"""The tab Config: what differs from the origin, and the complete config."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import dash_mantine_components as dmc
from dash import Dash, Input, Output, html

from bapo.analysis.steered import config_in_force, course_text, courses, same_value
from bapo.api.runs import RunDetail
from bapo.config.documentation import documentation
from bapo.config.method import is_trainable
from bapo.config.resolve import flatten
from bapo.config.toml_text import toml_text
from bapo.figures import formatting
from frontend.components.actions import clientside
from frontend.components.card import card
from frontend.components.controls import search_field
from frontend.components.elements import Link, attributes
from frontend.components.symbols import short_name
from frontend.components.table import row, table
from frontend.components.text import plain
from frontend.request.session import Api

MOST_PARTS = 100


def config_panel(run: RunDetail, query: Mapping[str, str]) -> html.Div:
    """Return what differs from the parent or recipe, then every field with its meaning."""
    if not is_trainable(run.method):
        return observed_config(run)
    in_force = config_in_force(run.config, run.applied_changes)
    origin = "the parent run" if run.parent_id else f"the recipe {run.recipe}" if run.recipe else "its origin"
    return html.Div(
        [
            card(
                Link("Open the parent run", href=f"/runs/{run.parent_id}", className="fact-link")
                if run.parent_id
                else None,
                diff_table(_differences(run)),
                title=f"Differences to {origin}",
            ),
            html.Div(
                [
                    html.Div(
                        [
                            html.H2("Complete config", className="chart-title"),
                            html.Div(
                                [
                                    search_field(
                                        "config-search",
                                        "Search fields",
                                        query.get("q", ""),
                                        "Search fields and their meaning",
                                        w=240,
                                    ),
                                    dmc.Switch(
                                        id="config-changed",
                                        label="Only changed fields",
                                        checked=query.get("only") == "set",
                                        size="xs",
                                    ),
                                    html.Span(id="config-count", className="fact-label", role="status"),
                                    _copy("Copy as TOML", toml_text(in_force)),
                                    _copy("Copy as JSON", json.dumps(in_force, indent=2)),
                                ],
                                className="panel-tools",
                            ),
                        ],
                        className="panel-head",
                    ),
                    table(
                        ("Field", "Value", "Origin"),
                        _rows(run),
                        "config-table",
                        body="config-rows",
                        spacing=6,
                        least_width=480,
                    ),
                    html.P("No field matches.", id="config-none", className="fact", hidden=True),
                ],
                className="panel-card",
            ),
        ],
        className="panel-stack",
    )


def observed_config(run: RunDetail) -> html.Div:
    """Return the settings of another trainer as it reported them."""
    method = run.config["method"]
    trainer = " ".join(filter(None, (method["trainer"], method["trainer_version"]))) or "not named"
    fields = {f"config.{field}": value for field, value in method["config"].items()}
    rows = [
        row(html.Code(name, className="config-path"), html.Code(formatting.config_value(value) or "empty"))
        for name, value in {
            "trainer": trainer,
            "counted as correct": f"reward above {method['reward_threshold']:g}",
            **flatten({name: run.config.get(name, {}) for name in ("rollout", "training")}),
            **fields,
        }.items()
    ]
    return html.Div(
        card(
            dmc.Text(
                "As reported by the trainer when observation began; sizes are those of its first step.",
                size="sm",
                c="dimmed",
            ),
            table(("Field", "Value"), rows, "config-table", body="config-rows", least_width=360),
            title="Config of the observed trainer",
        ),
        className="panel-stack",
    )


def _differences(run: RunDetail) -> dict[str, tuple[Any, Any]]:
    """Return the differences that the run began with, and the whole course of each field that changed since."""
    config = flatten(run.config)
    return run.diff | {
        field: (run.diff[field][0] if field in run.diff else config.get(field), course_text(course))
        for field, course in courses(config, run.applied_changes).items()
    }


def _copy(label: str, text: str) -> dmc.CopyButton:
    return dmc.CopyButton(value=text, children=label, copiedChildren="Copied", size="compact-xs", variant="default")


def _rows(run: RunDetail) -> list[html.Tr]:
    task = str(run.config["task"]["type"])
    described = {field.path: field.of_type(run.method).of_type(task) for field in documentation()}
    explicit, config = flatten(run.explicit), flatten(run.config)
    changed = courses(config, run.applied_changes)
    rows = []
    for path, submitted in config.items():
        field = described.get(path)
        since, value = changed.get(path, [(0, submitted)])[-1]
        # A recipe or an import may set a field to what is its default anyway.
        # A prompt list's entries are in the run's config, and not in what was set.
        listed = config.get("task.prompt_list") if path == "task.prompt_weights" else None
        is_given = path in explicit or listed is not None
        is_set = path in changed or (is_given and (field is None or not same_value(value, field.default)))
        default = f"default {formatting.config_value(field.default) or 'empty' if field else 'none'}"
        origin = f"since step {since:,}" if since else f"with {listed}" if listed else "set"
        notes = [f"before: {course_text(changed[path][:-1])}", default] if since else [default]
        rows.append(
            row(
                [
                    html.Code(path, className="config-path"),
                    html.Div(plain(field.description) if field else "", className="config-meaning"),
                ],
                html.Code(shown_value(value) or "empty"),
                [origin, *(html.Div(note, className="config-meaning") for note in notes)] if is_set else "default",
                look="config-set" if is_set else "config-default",
                attributes=attributes(data_field_row=path),
            )
        )
    return rows


def shown_value(value: Any) -> str:
    """Return a value as text; of a list of thousands the first parts. The copies have all of it."""
    if isinstance(value, list | tuple) and len(value) > MOST_PARTS:
        return f"{formatting.config_value(value[:MOST_PARTS])} and {len(value) - MOST_PARTS:,} more"
    return formatting.config_value(value)


def register(app: Dash, _: Api) -> None:
    """Register the search, which runs in the browser."""
    clientside(
        app,
        "config",
        "filter",
        Output("config-count", "children"),
        Input("config-search", "value"),
        Input("config-changed", "checked"),
        Input("config-rows", "id"),
    )


def diff_table(diff: dict[str, tuple[Any, Any]]) -> Any:
    """Return the changed fields with their old and new values."""
    if not diff:
        return dmc.Text("None: all fields are the same.", size="sm", c="dimmed")
    rows = [
        row(
            html.Code(path, title=short_name(path)),
            html.Code(formatting.config_value(before) or "empty", className="diff-old"),
            html.Code(formatting.config_value(after) or "empty", className="diff-new"),
        )
        for path, (before, after) in diff.items()
    ]
    return table(("Field", "There", "Here"), rows, "config-table", least_width=360)
