"""The tab Config: what differs from the origin, and the complete config."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import dash_mantine_components as dmc
from dash import Dash, Input, Output, dcc, html

from bapo.api.runs import RunDetail
from bapo.config.documentation import documentation
from bapo.config.resolve import flatten
from bapo.config.toml_text import toml_text
from bapo.figures import formatting
from frontend.clientside import clientside
from frontend.components.attributes import attributes
from frontend.components.card import card
from frontend.components.controls import search_field
from frontend.components.table import row, table
from frontend.symbols import short_name


def config_panel(run: RunDetail, query: Mapping[str, str]) -> html.Div:
    """Returns what differs from the parent or recipe, then every field with its meaning."""
    origin = "the parent run" if run.parent_id else f"the recipe {run.recipe}" if run.recipe else "its origin"
    return html.Div(
        [
            card(
                dcc.Link("Open the parent run", href=f"/runs/{run.parent_id}", className="fact-link")
                if run.parent_id
                else None,
                diff_table(run.diff),
                title=f"Differences to {origin}",
            ),
            html.Div(
                [
                    html.Div(
                        [
                            html.H3("Complete config", className="chart-title"),
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
                                    _copy("Copy as TOML", toml_text(run.config)),
                                    _copy("Copy as JSON", json.dumps(run.config, indent=2)),
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
                        verticalSpacing=6,
                        miw=480,
                    ),
                    html.P("No field matches.", id="config-none", className="fact", hidden=True),
                ],
                className="panel-card",
            ),
        ],
        className="panel-stack",
    )


def _copy(label: str, text: str) -> dmc.CopyButton:
    return dmc.CopyButton(value=text, children=label, copiedChildren="Copied", size="compact-xs", variant="default")


def _rows(run: RunDetail) -> list[dmc.TableTr]:
    task = str(run.config["task"]["type"])
    described = {field.path: field.of_type(run.method).of_type(task) for field in documentation()}
    explicit = flatten(run.explicit)
    rows = []
    for path, value in flatten(run.config).items():
        field = described.get(path)
        # A recipe or an import may set a field to what is its default anyway.
        is_set = path in explicit and (field is None or _comparable(value) != _comparable(field.default))
        default = formatting.config_value(field.default) or "empty" if field else "none"
        rows.append(
            row(
                [
                    html.Code(path, className="config-path"),
                    html.Div(field.description if field else "", className="config-meaning"),
                ],
                html.Code(formatting.config_value(value) or "empty"),
                ["set", html.Div(f"default {default}", className="config-meaning")] if is_set else "default",
                look="config-set" if is_set else "config-default",
                attributes=attributes(data_field_row=path),
            )
        )
    return rows


def _comparable(value: Any) -> Any:
    """Returns the same for values that mean the same, such as `1/8` and 0.125."""
    if isinstance(value, list | tuple):
        return [_comparable(part) for part in value]
    if isinstance(value, str) and re.fullmatch(r"-?\d+/\d+", value):
        return float(Fraction(value))
    return value


def register(app: Dash) -> None:
    """Registers the search, which runs in the browser."""
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
    """Returns the changed fields with their old and new values."""
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
    return table(("Field", "There", "Here"), rows, "config-table", miw=360)
