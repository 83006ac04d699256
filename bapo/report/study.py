"""A study's report as sections: for its page, and as one HTML file."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

import plotly

from bapo.analysis.number_format import counted
from bapo.figures.paired_differences import paired_differences_data, paired_differences_figure
from bapo.figures.study_curves import study_curves_data, study_curves_figure
from bapo.figures.tables import Cell, Column, TextTable
from bapo.figures.unlock_comparison import (
    KINDS,
    GroupUnlocks,
    UnlockComparison,
    UnlockRates,
    unlock_comparison_figure,
)
from bapo.report.document import document
from bapo.report.section import INTERVALS, Draw, Section
from bapo.study import tables
from bapo.study.markdown import primary_result, undone_lines
from bapo.study.results import StudyRegimeReport, StudyReport, StudyUnlocks
from bapo.study.sections import sections_of
from bapo.study.tables import Table


def facts_of(report: StudyReport) -> str:
    """Return one line on where the figures come from."""
    done = sum(run.state == "done" for run in report.runs)
    machine = f" · {report.machine}" if report.machine else ""
    return (
        f"{done} of {len(report.runs)} runs done · seeds {', '.join(map(str, report.seeds))} · test sets "
        f"{', '.join(report.test_sets)} · declaration {report.digest[:12]} · BAPO Control Plane "
        f"{report.version}{machine}"
    )


def head_of(report: StudyReport) -> list[tuple[str, str]]:
    """Return the lines above all figures: label and text."""
    lines = [("Question", report.question)]
    if report.expectation:
        lines.append(("Expected before the first run", report.expectation))
    lines += [("Primary comparison", report.primary_words), ("Result", primary_result(report.primary))]
    lines += [
        (
            "Amended",
            f"{each.at:%Y-%m-%d %H:%M} UTC, after {counted(each.num_done, 'run')}: {', '.join(each.changed)} changed. "
            f"{each.reason}",
        )
        for each in report.amendments
    ]
    if report.held_out_note:
        lines.append(("Test sets", report.held_out_note))
    undone = undone_lines(report)
    if undone:
        lines.append(("Not in the figures", "; ".join(undone)))
    return lines


def sections_of_study(report: StudyReport) -> list[Section]:
    """Build all sections, regime by regime."""
    found = []
    for number, regime in enumerate(report.regimes, start=1):
        several = len(report.regimes) > 1
        for section in _sections(report, regime):
            name = f"{section.name}-{number}" if several else section.name
            title = f"{regime.name}: {section.title}" if several else section.title
            found.append(section._replace(name=name, title=title))
    return found


def _sections(report: StudyReport, regime: StudyRegimeReport) -> Iterator[Section]:
    if not any(row.num_done for row in regime.rows):
        caption = "Every section needs at least one run that is done."
        yield Section("results", "Results", "Test accuracy", caption, needs="needs a run that is done.")
        return
    drawings = _drawings(regime)
    for each in sections_of(regime, report.reference):
        # Of curves the drawing says more than the tables that Markdown has.
        if not each.name.startswith("curves-"):
            caption = f"{each.caption} {INTERVALS}" if each.name == "curves" else each.caption
            table = None if each.table is None else _table(each.table)
            draw = drawings.get(each.name)
            yield Section(each.name, each.number, each.title, caption, each.paper, draw=draw, table=table)


def _drawings(regime: StudyRegimeReport) -> dict[str, Draw]:
    """Return the drawing function of each section, by its name."""
    differences, curves = paired_differences_data(regime.differences), study_curves_data(regime.curves)
    unlocks = UnlockComparison([_group(each) for each in regime.unlocks])
    return {
        "differences": lambda palette: [paired_differences_figure(differences, palette)],
        "curves": lambda palette: [study_curves_figure(curves, palette)],
        "unlocks": lambda palette: [unlock_comparison_figure(unlocks, palette)],
    }


def _group(found: StudyUnlocks) -> GroupUnlocks:
    rates = [UnlockRates(getattr(found, kind), getattr(found, f"{kind}_null")) for kind, _ in KINDS]
    return GroupUnlocks(found.arm, found.n, found.step, rates)


def _table(table: Table) -> TextTable:
    columns = [Column(head, align="left" if head in ("arm", "verdict") else "right") for head in table.heads]
    return TextTable(columns, [[_cell(cell) for cell in row] for row in table.rows])


def _cell(cell: tables.Cell | str) -> Cell:
    return Cell(cell) if isinstance(cell, str) else Cell(cell.text, is_best=cell.stands_out)


# ---------------------------------------------------------------- the file


def study_document(report: StudyReport, *, base_url: str | None = None, now: datetime | None = None) -> bytes:
    """Return the whole report as one HTML file; `base_url` is the dashboard's address, which the runs are linked to."""
    made = (now or datetime.now(UTC)).astimezone(UTC)
    facts = f"{facts_of(report)} · made {made:%Y-%m-%d %H:%M} UTC · plotly {plotly.__version__}"
    return document(
        report.title, facts, [_head(report)], sections_of_study(report), [_arms(report), _runs(report, base_url)]
    )


def _head(report: StudyReport) -> str:
    items = "".join(f"<dt>{html.escape(label)}</dt><dd>{html.escape(text)}</dd>" for label, text in head_of(report))
    return f'<dl class="study-head">{items}</dl>'


def _arms(report: StudyReport) -> str:
    rows: list[Sequence[str]] = [
        (arm.name, arm.method, ", ".join(f"{field} = {value}" for field, value in arm.set.items()) or "defaults")
        for arm in report.arms
    ]
    return "<h2>Arms</h2>" + _plain_table(("arm", "method", "settings"), rows, html.escape)


def _runs(report: StudyReport, base_url: str | None) -> str:
    rows: list[Sequence[str]] = []
    for run in report.runs:
        place = run.run_id or run.folder or ""
        link = html.escape(place)
        if base_url is not None and run.run_id is not None:
            link = f'<a href="{html.escape(f"{base_url}/runs/{run.run_id}", quote=True)}">{link}</a>'
        cells = [run.regime, run.arm, str(run.seed), run.stage, run.state, f"{run.step:,}"]
        rows.append([*(html.escape(cell) for cell in cells), link])
    heads = ("regime", "arm", "seed", "stage", "state", "step", "run")
    return f"<details><summary>All {len(rows)} runs</summary>{_plain_table(heads, rows, lambda text: text)}</details>"


def _plain_table(heads: Sequence[str], rows: Sequence[Sequence[str]], shown: Callable[[str], str]) -> str:
    head = "".join(f'<th class="left" scope="col">{html.escape(each)}</th>' for each in heads)
    lines = "".join("<tr>" + "".join(f'<td class="left">{shown(cell)}</td>' for cell in row) + "</tr>" for row in rows)
    return f'<div class="paper-table"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'
