"""Expected cost of the run that a probe prepares, added to the finding on its duration."""

from __future__ import annotations

from collections.abc import Callable

from bapo.analysis.findings.finding import PLANNED, Evidence, Finding, FindingsReport


def with_planned_cost(
    report: FindingsReport, cost_of: Callable[[float], float | str], label: str, currency: str
) -> FindingsReport:
    """Return the report with the expected cost next to the duration; unchanged if it contains no duration.

    `cost_of` makes seconds a cost, or the reason why there is none; `label` says at which prices.
    """

    def priced(finding: Finding) -> Finding:
        seconds = _seconds(finding)
        if seconds is None:
            return finding
        cost = cost_of(seconds)
        if isinstance(cost, str):
            text = f"{finding.explanation} What it would cost is not known: {cost}."
            return finding.model_copy(update={"explanation": text})
        first, *others = finding.evidence
        evidence = [first, Evidence(label=f"{label}, {currency}", value=cost, unit="number"), *others]
        title = f"{finding.title.removesuffix('.')}, and {cost:,.2f} {currency}."
        return finding.model_copy(update={"title": title, "evidence": evidence})

    return report.model_copy(update={"findings": [priced(finding) for finding in report.findings]})


def _seconds(finding: Finding) -> float | None:
    if finding.kind != "probed_cost":
        return None
    return next((each.value for each in finding.evidence if each.label == PLANNED), None)
