"""What the run that a probe is made for would cost, beside the hours that it would take."""

from __future__ import annotations

from sqlalchemy.orm import Session

from backend.kit.database import clock
from backend.kit.prices import Prices
from backend.models import Run
from backend.runs.usage import Usage, planned_cost, usage_of
from bapo.analysis.findings.finding import PLANNED, Evidence, Finding, FindingsReport


def with_cost(session: Session, run: Run, report: FindingsReport, prices: Prices) -> FindingsReport:
    """The report with the expected cost in the finding of a probe's time; any other as it is."""
    if not any(_seconds(finding) for finding in report.findings):
        return report
    usage = usage_of(session, [run.id]).get(run.id, Usage())
    now = clock(session)

    def priced(finding: Finding) -> Finding:
        seconds = _seconds(finding)
        if seconds is None:
            return finding
        planned = planned_cost(seconds, usage, prices, now)
        if planned.cost is None:
            text = f"{finding.explanation} What it would cost is not known: {planned.unpriced}."
            return finding.model_copy(update={"explanation": text})
        label = f"Its cost at today's prices, {prices.currency}"
        first, *others = finding.evidence
        evidence = [first, Evidence(label=label, value=planned.cost, unit="number"), *others]
        title = f"{finding.title.removesuffix('.')}, and {planned.cost:,.2f} {prices.currency}."
        return finding.model_copy(update={"title": title, "evidence": evidence})

    return report.model_copy(update={"findings": [priced(finding) for finding in report.findings]})


def _seconds(finding: Finding) -> float | None:
    if finding.kind != "probed_cost":
        return None
    return next((each.value for each in finding.evidence if each.label == PLANNED), None)
