"""A board as sections: for its page, behind a read-only link, and as one HTML file."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import NamedTuple

import plotly
import plotly.graph_objects as go

from bapo.api.boards import ChartPanel, Panel, PanelData, PaperData, PaperPanel, PaperTable
from bapo.figures.board_chart import chart_figure, chart_note, chart_title
from bapo.figures.tables import Cell, Column, TextTable
from bapo.figures.theme import Palette
from bapo.report.document import document
from bapo.report.markdown import markdown_html
from bapo.report.section import Section

STYLE = """
.board-grid { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 16px; margin-top: 20px; }
.board-grid > .full { grid-column: 1 / -1; }
.board-grid .paper-section { margin: 0; height: 100%; box-sizing: border-box; }
.board-grid > .board-text { padding: 0 4px; overflow-wrap: anywhere; }
.board-grid > .several-sections > .paper-section { height: auto; margin-bottom: 16px; }
.board-following { margin: 12px 0 0; color: var(--bapo-muted); font-size: 13px; }
.board-following:empty { display: none; }
.board-following.problem { padding: 10px 12px; color: var(--bapo-text); background: var(--bapo-card);
  border: 1px solid var(--bapo-border); border-left: 3px solid var(--bapo-bad); border-radius: 6px; }
@media (max-width: 800px) { .board-grid { grid-template-columns: minmax(0, 1fr); } }
"""


class Shown(NamedTuple):
    """Content of a panel; figures that the server draws come in the colours of both schemes."""

    light: PanelData
    dark: PanelData

    def in_colours(self, palette: Palette) -> PanelData:
        """Return the data for this palette."""
        return self.dark if palette.scheme == "dark" else self.light


class Following(NamedTuple):
    """Settings by which an open page follows its board (`follow.js`)."""

    etag: str
    """Tag of the shown content."""
    seconds: int
    """Between two questions."""


def needs_both(panel: Panel) -> bool:
    """Return whether the server draws the panel, so that it is asked for once for each scheme."""
    return isinstance(panel, PaperPanel)


def sections_of_panel(panel: Panel, shown: Shown) -> list[Section]:
    """Return the figures and tables of a panel; a text has none."""
    data = shown.light
    if isinstance(panel, ChartPanel):
        chart = data.chart
        title = chart_title(panel)
        if chart is None or data.problem:
            return [_nothing(panel.id, title, data)]
        caption = chart_note(panel, chart)
        return [Section(panel.id, "", title, caption, draw=lambda palette: [chart_figure(panel, chart, palette)])]
    if not isinstance(panel, PaperPanel):
        return []
    if data.paper is None:
        return [_nothing(panel.id, "As the paper", data)]
    return [_paper_section(panel.id, shown, index) for index in range(len(data.paper.sections))]


def _nothing(name: str, title: str, data: PanelData) -> Section:
    return Section(name, "", title, "", needs=f"shows nothing: {data.problem or 'there is nothing to show.'}")


def _paper_section(panel_id: str, shown: Shown, index: int) -> Section:
    paper = shown.light.paper
    assert paper is not None, "asked for only where there is one"
    found = paper.sections[index]

    def draw(palette: Palette) -> list[go.Figure]:
        sections = (shown.in_colours(palette).paper or PaperData(sections=[], num_shown=0, num_matching=0)).sections
        # Runs may record more between the two askings, and then a figure can be drawn that could not before.
        same = next((each for each in sections if each.name == found.name), found)
        return [go.Figure(figure) for figure in same.figures]

    return Section(
        f"{panel_id}-{found.name}",
        found.number,
        found.title,
        found.caption,
        paper=found.paper,
        shows=found.shows,
        needs=found.needs,
        draw=draw if found.figures else None,
        table=None if found.table is None else _table(found.table),
    )


def _table(table: PaperTable) -> TextTable:
    columns = [Column(each.title, each.group, each.align) for each in table.columns]
    return TextTable(columns, [[Cell(**cell.model_dump()) for cell in row] for row in table.rows])


def text_html(data: PanelData) -> str:
    """Return a text with its numbers, and what is wrong with those that cannot be shown."""
    text = data.text
    if text is None:
        return f'<p class="paper-needs">{html.escape(data.problem or "There is nothing to show.")}</p>'
    problems = "".join(f"<li>{html.escape(problem)}</li>" for problem in text.problems)
    listed = f'<ul class="paper-remarks" role="alert">{problems}</ul>' if problems else ""
    return f'<div class="markdown">{markdown_html(text.text)}</div>{listed}'


def board_document(
    name: str,
    panels: Sequence[Panel],
    shown: Mapping[str, Shown],
    *,
    now: datetime | None = None,
    expires_at: datetime | None = None,
    scripts: Sequence[str] | None = None,
    following: Following | None = None,
) -> bytes:
    """Return the whole board as one HTML file, without a single request.

    `scripts`: addresses of plotly.js and of `SCRIPTS`, for a page that loads them instead of holding them, and which
    is `following` the board. `expires_at`: when the link to that page ends.
    """
    made = (now or datetime.now(UTC)).astimezone(UTC)
    until = "" if expires_at is None else f" · this link expires on {expires_at.astimezone(UTC):%Y-%m-%d at %H:%M} UTC"
    facts = (
        f"As of {made:%Y-%m-%d %H:%M} UTC{'; follows its runs while it is open' if following else ''}{until} · "
        f"BAPO Control Plane {version('bapo-control-plane')} · plotly {plotly.__version__}"
    )
    parts: list[Section | str] = []
    if following is not None:
        asked = f'data-etag="{html.escape(following.etag)}" data-seconds="{following.seconds}"'
        parts.append(f'<p class="board-following" id="board-following" role="status" {asked}></p>')
    parts.append('<div class="board-grid">')
    for panel in panels:
        found = shown[panel.id]
        width = "full" if isinstance(panel, PaperPanel) else panel.width
        sections = sections_of_panel(panel, found)
        kind = " several-sections" if isinstance(panel, PaperPanel) else "" if sections else " board-text"
        parts.append(f'<div class="{width}{kind}">')
        parts += sections
        if not sections:
            parts.append(text_html(found.light))
        parts.append("</div>")
    parts.append("</div>" if panels else "</div><p>The board is empty.</p>")
    return document(name, facts, [], parts, [], style=STYLE, scripts=scripts)
