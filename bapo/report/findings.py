"""Findings of runs as a table of a report."""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path

from bapo.analysis.findings.finding import FindingsReport
from bapo.analysis.findings.search import find
from bapo.analysis.findings.stream import read_stream
from bapo.analysis.number_format import bounds_text, percent


def findings_of(run_folder: Path) -> FindingsReport:
    """Return the findings of the run in a folder. Raises ConfigError where it holds none."""
    return find(read_stream(run_folder)).report


def findings_table(reports: Mapping[str, FindingsReport]) -> str:
    """Render the findings by run name as HTML; for a run without one, the number of checked kinds."""
    rows: list[tuple[str, str, str, str, str]] = []
    for name, report in reports.items():
        checked = sum(check.outcome != "too_little" for check in report.checks)
        for finding in report.findings:
            first = finding.evidence[0]
            interval = bounds_text(first.low, first.high, percent) if first.unit == "share" else ""
            remedy = finding.remedies[0].text if finding.remedies else ""
            rows.append((name, finding.severity, finding.title, interval, remedy))
        if not report.findings:
            rows.append((name, "", f"Nothing found; {checked} of {len(report.checks)} kinds could be checked.", "", ""))
    heads = "".join(f"<th>{head}</th>" for head in ("run", "", "finding", "95 % interval", "what to do"))
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        '<section id="findings"><h2>Findings</h2><div class="paper-table" tabindex="0" role="region" '
        f'aria-label="Findings"><table class="findings"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>'
        "</div></section>"
    )
