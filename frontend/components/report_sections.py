"""The sections of a report as parts of a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html

from bapo.figures.tables import Cell, Column, TextTable
from bapo.report.document import SAVED_AS, remarks_on
from bapo.report.section import Section, Selection
from frontend.components.chart_card import table_button
from frontend.components.elements import attributes


def body(selection: Selection, sections: Sequence[Section]) -> list[Any]:
    """Return everything below the controls; paper.js of the reports draws the figures into it."""
    remarks = remarks_on(selection.groups)
    contents = html.Nav(
        [html.A(section.number, href=f"#{section.name}") for section in sections],
        className="paper-contents",
        **attributes(aria_label="Figures and tables"),
    )
    listed = [html.Ul([html.Li(remark) for remark in remarks], className="paper-remarks")] if remarks else []
    return [contents, *listed, *(section_part(section) for section in sections)]


def section_part(section: Section) -> html.Section:
    """Return one section: heading, table, a place for its figures, caption."""
    title = html.H2([html.Span(section.number, className="paper-number"), section.title], className="paper-title")
    head: list[Any] = [title]
    parts: list[Any] = []
    if section.needs:
        parts.append(html.P(f"This {section.needs}", className="paper-needs"))
    if section.table is not None:
        parts.append(_table(section.table, section.title))
    if section.draw is not None:
        save = [_save_button(section, kind) for kind in SAVED_AS]
        head.append(html.Div([table_button(f"{section.number}: {section.title}"), *save], className="paper-tools"))
        parts.append(
            html.Div(
                className="paper-figures",
                role="img",
                **attributes(data_paper=section.name, aria_label=f"{section.number}: {section.title}"),
            )
        )
    parts.append(html.P(section.caption, className="paper-caption"))
    if section.shows:
        parts.append(html.P(f"Shows {section.shows}.", className="paper-shows"))
    if section.paper:
        parts.append(html.P(f"In the paper: {section.paper}", className="paper-reported"))
    return html.Section([html.Div(head, className="paper-head"), *parts], id=section.name, className="paper-section")


def _save_button(section: Section, kind: str) -> html.Button:
    return html.Button(
        kind.upper(),
        type="button",
        **attributes(
            data_paper_save=kind, data_paper_of=section.name, aria_label=f"Save {section.number} as {kind.upper()}"
        ),
    )


def _table(table: TextTable, label: str) -> html.Div:
    head = html.Thead(html.Tr([_heading(column) for column in table.columns]))
    rows = [
        html.Tr([_cell(cell, column) for cell, column in zip(row, table.columns, strict=True)]) for row in table.rows
    ]
    return html.Div(
        html.Table([head, html.Tbody(rows)]),
        className="paper-table",
        tabIndex=0,
        role="region",
        **attributes(aria_label=label),
    )


def _heading(column: Column) -> html.Th:
    group = [html.Span(column.group, className="paper-column-group")] if column.group else []
    return html.Th([*group, column.title], className=column.align, scope="col")


def _cell(cell: Cell, column: Column) -> html.Td:
    text = html.Strong(cell.text) if cell.is_best else html.U(cell.text) if cell.is_second else cell.text
    note = [html.Span(cell.note, className="paper-note")] if cell.note else []
    return html.Td([text, *note], className=f"{column.align} quoted" if cell.is_quoted else column.align)
