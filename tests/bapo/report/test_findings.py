"""Findings as a table of a report."""

from __future__ import annotations

from bapo.analysis.findings.finding import LABELS, Check, Evidence, Finding, FindingsReport, Remedy
from bapo.report.findings import findings_table

FINDING = Finding(
    kind="no_gradient",
    severity="warning",
    title="60 % of groups have no gradient <b>.",
    explanation="",
    evidence=[Evidence(label="share", value=0.6, low=0.55, high=0.65, unit="share")],
    num_rollouts=800,
    remedies=[Remedy(text="Clone with G = 16.", changes={"rollout.group_size": 16})],
)
CHECKS = [
    Check(kind=kind, label=label, outcome="nothing" if index < 5 else "too_little", reason="" if index >= 5 else None)
    for index, (kind, label) in enumerate(LABELS.items())
]


def test_a_finding_is_a_row_with_its_interval_and_remedy_and_no_markup_of_its_own() -> None:
    table = findings_table({"first run": FindingsReport(step=9, findings=[FINDING], checks=CHECKS)})
    assert "60 % of groups have no gradient &lt;b&gt;." in table
    assert "55.0\u202f% to 65.0\u202f%" in table
    assert "Clone with G = 16." in table


def test_a_run_without_findings_says_how_much_was_checked() -> None:
    table = findings_table({"second run": FindingsReport(step=9, findings=[], checks=CHECKS)})
    assert f"Nothing found; 5 of {len(LABELS)} kinds could be checked." in table
