"""The tab with the run's config."""

from __future__ import annotations

import json
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.api import RunDetail
from bapo.config.resolve import flatten
from frontend import formatting
from frontend.symbols import short_name


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
