"""The tab Findings: what is wrong with the run's data, with evidence and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

import dash_mantine_components as dmc
from dash import Dash, Input, Output, State, html

from bapo.analysis.findings.finding import Check, Evidence, Finding, FindingsReport, Remedy, Severity, figure_text
from bapo.analysis.number_format import bounds_text, counted
from bapo.figures import formatting
from frontend.components.actions import clientside, in_place
from frontend.components.card import card, share_bar
from frontend.components.changes_query import changes_text
from frontend.components.elements import attributes
from frontend.components.icon import icon
from frontend.components.notices import link_button, notice
from frontend.pages.run.history import changed_values
from frontend.request.prefix import served
from frontend.request.session import Api

COLOURS: Mapping[Severity, str] = {"problem": "red", "warning": "yellow", "note": "gray"}


def findings_view(run_id: str, report: FindingsReport) -> list[Any]:
    """Return a card for each finding, the most severe first, and what else was checked."""
    if not report.step:
        return [notice("No steps yet", "Findings read what the run has recorded.")]
    cards: list[Any] = [_card(run_id, finding) for finding in report.findings]
    if not cards:
        cards = [card(html.P(f"Nothing found up to step {report.step:,}.", className="finding-title"))]
    return [*cards, _checked(report.checks)]


def _card(run_id: str, finding: Finding) -> html.Section:
    null = [html.P([html.Strong("If nothing were wrong: "), finding.null], className="finding-text")]
    return html.Section(
        [
            html.Div(
                [
                    dmc.Badge(finding.severity, color=COLOURS[finding.severity]),
                    html.H2(finding.title, className="finding-title"),
                ],
                className="finding-head",
            ),
            html.P(finding.explanation, className="finding-text"),
            html.Table(
                html.Tbody([_figure(figure) for figure in finding.evidence]),
                className="finding-evidence",
                **attributes(aria_label="Evidence"),
            ),
            *(null if finding.null else []),
            html.Div(
                [
                    *[_remedy(run_id, finding, remedy) for remedy in finding.remedies],
                    *([_list_link(run_id, finding), _mark_link(run_id, finding)] if finding.num_prompts else []),
                ],
                className="finding-remedies",
            ),
            html.P(f"Rests on {finding.num_rollouts:,} rollouts.", className="fact-label"),
        ],
        className="panel-card finding",
        **attributes(data_finding=finding.kind),
    )


def _figure(figure: Evidence) -> html.Tr:
    interval = bounds_text(figure.low, figure.high, partial(shown, figure))
    return html.Tr(
        [
            html.Th(figure.label, scope="row"),
            html.Td(shown(figure, figure.value), className="finding-value"),
            html.Td(interval, className="finding-interval"),
            html.Td(_bar(figure), className="finding-bar-cell"),
        ]
    )


def _bar(figure: Evidence) -> html.Div | None:
    """Return a share as a bar with its interval, on a scale from 0 to 1."""
    if figure.unit != "share" or not 0 <= figure.value <= 1:
        return None
    return share_bar(figure.value, figure.low, figure.high)


def shown(figure: Evidence, value: float | None) -> str:
    """Return a value of this figure's unit as text."""
    return "" if value is None else figure_text(figure, value, formatting.duration)


def _remedy(run_id: str, finding: Finding, remedy: Remedy) -> html.Div:
    parts: list[Any] = [html.Span(remedy.text, className="finding-remedy-text")]
    if remedy.changes:
        query = urlencode({"parent": run_id, "set": changes_text(remedy.changes)}, safe=":;~/")
        parts.append(
            html.Div(
                link_button(
                    f"Clone with {changed_values(remedy.changes)}", f"/new?{query}", size="compact-sm", variant="light"
                ),
                className="for-members",
            )
        )
    if remedy.leaves_out_prompts:
        query = urlencode({"parent": run_id, "without": finding.kind})
        label = f"Clone without {'it' if finding.num_prompts == 1 else f'these {finding.num_prompts:,} prompts'}"
        button = link_button(label, f"/new?{query}", size="compact-sm", variant="light")
        parts.append(html.Div(button, className="for-members"))
    if remedy.snippet:
        parts.append(html.Pre(remedy.snippet, className="finding-snippet", **attributes(tabindex="0")))
    return html.Div(parts, className="finding-remedy")


def _list_link(run_id: str, finding: Finding) -> html.A:
    return html.A(
        [icon("download", 16), f"Download {counted(finding.num_prompts, 'prompt')} (CSV)"],
        href=served(f"/api/v1/runs/{quote(run_id, safe='')}/findings/{finding.kind}/prompts.csv"),
        download=f"{run_id}-{finding.kind.replace('_', '-')}.csv",
        className="finding-list fact-link",
    )


def _mark_link(run_id: str, finding: Finding) -> html.Div:
    query = urlencode({"run": run_id, "finding": finding.kind})
    button = link_button("Put on a prompt list…", f"/prompt-lists?{query}", size="compact-sm", variant="default")
    return html.Div(button, className="for-members")


def _checked(checks: Sequence[Check]) -> html.Section:
    clear = [check.label for check in checks if check.outcome == "nothing"]
    lacking = [check for check in checks if check.outcome == "too_little"]
    parts: list[Any] = []
    if clear:
        parts.append(html.P([html.Strong("Nothing found: "), ", ".join(clear), "."], className="finding-text"))
    if lacking:
        parts.append(html.P(html.Strong("Too little recorded:"), className="finding-text"))
        parts.append(html.Ul([html.Li(f"{check.label}: {check.reason}") for check in lacking]))
    return card(*parts, title="What was checked", look="finding-checks")


def register(app: Dash, api: Api) -> None:
    """Fill the tab, and follow what the run records (assets/findings.js)."""
    clientside(app, "findings", "begin", Output("findings-poke", "data"), Input("run-id", "data"))

    @app.callback(
        Output("findings", "children"),
        Input("findings", "id"),
        Input("findings-poke", "data"),
        State("run-id", "data"),
        on_error=in_place("findings"),
    )
    async def show_findings(_: str, __: Any, run_id: str) -> Any:
        return findings_view(run_id, await api.client().findings(run_id))
