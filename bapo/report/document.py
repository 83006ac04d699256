"""One self-contained HTML file: figures, tables, captions, runs and configs, without a single request."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import plotly
from plotly.io.json import to_json_plotly
from plotly.offline import get_plotlyjs

from bapo.analysis.findings.finding import FindingsReport
from bapo.analysis.number_format import counted
from bapo.figures import formatting
from bapo.figures.groups import Group, fields_between
from bapo.figures.recorded import RecordedRun
from bapo.figures.tables import Cell, TextTable
from bapo.figures.theme import DARK, LIGHT, Palette, css_variables, themed
from bapo.report.contents import sections_of
from bapo.report.findings import findings_table
from bapo.report.section import Section, Selection

PAPER = "arXiv:2602.20722"
TITLE = "Runs as the paper's figures and tables"
SAVED_AS = ("svg", "png", "csv")
"""Formats in which a reader can save a figure."""
ASSETS = Path(__file__).parent / "assets"
SCRIPTS = ("files.js", "paper.js")
FOLLOW = "follow.js"
"""Script of a page that follows its source; it reads the page before `SCRIPTS` change it."""

_POLICY = (
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data: blob:\">"
)

_STYLE = """
html { background: var(--bapo-page); color-scheme: light dark; }
body { margin: 0 auto; padding: 24px 16px 64px; max-width: 1180px; background: var(--bapo-page);
  color: var(--bapo-text); font: 14px/1.5 var(--bapo-font); }
h1 { font-size: 24px; line-height: 1.3; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 40px 0 12px; }
table.findings td { text-align: left; white-space: normal; min-width: 80px; vertical-align: top; }
a { color: var(--bapo-accent); } .facts { color: var(--bapo-muted); font-size: 13px; }
dl.study-head { display: grid; grid-template-columns: max-content 1fr; gap: 6px 16px; }
dl.study-head dt { color: var(--bapo-muted); } dl.study-head dd { margin: 0; overflow-wrap: anywhere; }
details { margin: 6px 0; } summary { cursor: pointer; overflow-wrap: anywhere; }
pre { overflow: auto; max-height: 480px; padding: 12px; font: 12px/1.5 var(--bapo-mono); background: var(--bapo-page);
  border: 1px solid var(--bapo-border); border-radius: 6px; }
@media print {
  body { max-width: none; padding: 0; } .paper-tools { display: none; } .paper-section { break-inside: avoid; }
}
"""


def report(
    selection: Selection,
    *,
    title: str,
    base_url: str | None = None,
    now: datetime | None = None,
    findings: Mapping[str, FindingsReport] | None = None,
) -> bytes:
    """Return the file's content; `base_url` is the dashboard's address, which the runs are linked to; `findings`: by
    run."""
    sections = sections_of(selection)
    made = (now or datetime.now(UTC)).astimezone(UTC)
    facts = (
        f"{counted(len(selection.runs), 'run')} in {counted(len(selection.groups), 'group')} · "
        f"made {made:%Y-%m-%d %H:%M} UTC · "
        f"BAPO Control Plane {version('bapo-control-plane')} · plotly {plotly.__version__} · figures and tables "
        f"numbered as in {PAPER}"
    )
    before = [_groups(selection.groups), *([findings_table(findings)] if findings else [])]
    return document(title, facts, before, sections, [_runs(selection.runs, base_url)])


def document(
    title: str,
    facts: str,
    before: Sequence[str],
    parts: Sequence[Section | str],
    after: Sequence[str],
    *,
    style: str = "",
    scripts: Sequence[str] | None = None,
) -> bytes:
    """Return a file of sections; `before`, `after` and texts between the sections are HTML, all else is text.

    `scripts`: addresses of plotly.js and of `SCRIPTS`, for a page that loads them instead of holding them.
    """
    sections = [each for each in parts if isinstance(each, Section)]
    body = [
        f"<h1>{html.escape(title)}</h1>",
        f'<p class="facts">{html.escape(facts)}</p>',
        *before,
        *(section_html(each) if isinstance(each, Section) else each for each in parts),
        *after,
    ]
    head = [
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        # Neither this file nor anything in it may load or send anything; a page has the policy of its server.
        *([] if scripts is not None else [_POLICY]),
        f"<title>{html.escape(title)}</title>",
        f"<style>{css_variables()}{_STYLE}{(ASSETS / 'paper.css').read_text()}{style}</style>",
    ]
    drawings_and_scripts = [
        *(
            f'<script type="application/json" id="paper-{palette.scheme}">{figures_json(sections, palette)}</script>'
            for palette in (LIGHT, DARK)
        ),
        *(_inside() if scripts is None else [f'<script src="{html.escape(each)}"></script>' for each in scripts]),
    ]
    lines = [
        '<!DOCTYPE html>\n<html lang="en" data-mantine-color-scheme="light" data-paper-report>\n<head>',
        *head,
        "</head>\n<body>",
        *body,
        *drawings_and_scripts,
        "</body>\n</html>\n",
    ]
    return "\n".join(lines).encode()


def _inside() -> list[str]:
    return [
        f"<script>{source}</script>" for source in (plotly_script(), *((ASSETS / name).read_text() for name in SCRIPTS))
    ]


def expected_bytes(figures: object) -> int:
    """Estimate how large the file becomes with these drawings of one scheme."""
    return len(plotly_script()) + 2 * len(to_json_plotly(figures)) + 60_000


@cache
def plotly_script() -> str:
    """Return plotly.js as it ships with plotly."""
    source: str = get_plotlyjs()
    return source.replace("</script", "<\\/script")


def drawings(sections: Sequence[Section], palette: Palette) -> dict[str, list[dict[str, Any]]]:
    """Return themed figures by section."""
    return {
        section.name: [themed(figure, palette) for figure in section.draw(palette)]
        for section in sections
        if section.draw is not None
    }


def figures_json(sections: Sequence[Section], palette: Palette) -> str:
    """Return `drawings` as JSON that is safe inside a script element."""
    text: str = to_json_plotly(drawings(sections, palette))
    return text.replace("<", "\\u003c")


def section_html(section: Section) -> str:
    """Return a section as HTML; paper.js draws its figures into it."""
    tools = "" if section.draw is None else f'<div class="paper-tools">{_save_buttons(section.name)}</div>'
    parts = [
        f'<section class="paper-section" id="{section.name}">',
        '<div class="paper-head"><h3 class="paper-title">'
        f'<span class="paper-number">{html.escape(section.number)}</span> {html.escape(section.title)}</h3>',
        f"{tools}</div>",
    ]
    if section.needs:
        parts.append(f'<p class="paper-needs">This {html.escape(section.needs)}</p>')
    else:
        if section.table is not None:
            parts.append(_table(section.table, section.title))
        if section.draw is not None:
            label = html.escape(f"{section.number}: {section.title}", quote=True)
            parts.append(
                f'<div class="paper-figures" data-paper="{section.name}" role="img" aria-label="{label}"></div>'
            )
    parts.append(f'<p class="paper-caption">{html.escape(section.caption)}</p>')
    if section.shows:
        parts.append(f'<p class="paper-shows">Shows {html.escape(section.shows)}.</p>')
    if section.paper:
        parts.append(f'<p class="paper-reported">In the paper: {html.escape(section.paper)}</p>')
    return "\n".join([*parts, "</section>"])


def _save_buttons(name: str) -> str:
    return "".join(
        f'<button type="button" data-paper-save="{kind}" data-paper-of="{name}">{kind.upper()}</button>'
        for kind in SAVED_AS
    )


def _table(table: TextTable, label: str) -> str:
    heads = "".join(
        f'<th class="{column.align}" scope="col">'
        + (f'<span class="paper-column-group">{html.escape(column.group)}</span> ' if column.group else "")
        + f"{html.escape(column.title)}</th>"
        for column in table.columns
    )
    rows = "".join(
        "<tr>" + "".join(_cell(cell, column.align) for cell, column in zip(row, table.columns, strict=True)) + "</tr>"
        for row in table.rows
    )
    return (
        f'<div class="paper-table" tabindex="0" role="region" aria-label="{html.escape(label, quote=True)}">'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _cell(cell: Cell, align: str) -> str:
    text = html.escape(cell.text)
    text = f"<strong>{text}</strong>" if cell.is_best else f"<u>{text}</u>" if cell.is_second else text
    note = f'<span class="paper-note">{html.escape(cell.note)}</span>' if cell.note else ""
    look = f"{align} quoted" if cell.is_quoted else align
    return f'<td class="{look}">{text}{note}</td>'


def _groups(groups: Sequence[Group]) -> str:
    remarks = remarks_on(groups)
    if not remarks:
        return ""
    return '<ul class="paper-remarks">' + "".join(f"<li>{html.escape(remark)}</li>" for remark in remarks) + "</ul>"


def remarks_on(groups: Sequence[Group]) -> list[str]:
    """Return remarks that a reader must know before comparing the groups."""
    remarks = [remark for group in groups for remark in _group_remarks(group)]
    if any(" · " in group.label for group in groups):
        remarks.append(
            "Each method's plain name is the config that most of its runs have; other labels name what differs."
        )
    between = fields_between(groups)
    if between:
        remarks.append(f"The groups differ in more than their method: {', '.join(between)}.")
    return remarks


def _group_remarks(group: Group) -> list[str]:
    remarks = []
    if group.differs_in:
        remarks.append(
            f"The runs of {group.label} are no mere replicates: they also differ in {', '.join(group.differs_in)}."
        )
    if group.shared_seeds:
        seeds = ", ".join(map(str, group.shared_seeds))
        remarks.append(f"Several runs of {group.label} have the seed {seeds}: identical ones count as one replicate.")
    lengths = sorted({run.last_step for run in group.runs})
    if len(lengths) > 1:
        ends = ", ".join(f"{step:,}" for step in lengths)
        remarks.append(f"The runs of {group.label} end at different steps ({ends}): n falls along its curves.")
    return remarks


def _runs(runs: Sequence[RecordedRun], base_url: str | None) -> str:
    items = []
    for run in runs:
        name = html.escape(run.name)
        link = name
        if base_url is not None:
            link = f'<a href="{html.escape(f"{base_url}/runs/{run.id}", quote=True)}">{name}</a>'
        facts = (
            f"{run.status}, {'' if run.seed is None else f'seed {run.seed}, '}{run.last_step:,} steps, "
            f"{formatting.count(_last(run, 'bapo/cost/num_rollouts'))} rollouts"
        )
        config = html.escape(json.dumps(run.config, indent=2, ensure_ascii=False))
        items.append(
            f"<details><summary>{link} <span class='facts'>{html.escape(facts)}</span></summary>"
            f"<pre>{config}</pre></details>"
        )
    return "\n".join(["<h2>Runs and their configs</h2>", *items])


def _last(run: RecordedRun, key: str) -> float | None:
    values = [value for value in run.steps.columns.get(key, ()) if value is not None]
    return values[-1] if values else None
