"""Cost of the run that a probe is made for, at the server's prices."""

from __future__ import annotations

from sqlalchemy.orm import Session

from backend.kit.database import clock
from backend.models import Run
from backend.prices.hours import Prices
from backend.runs.usage import Usage, planned_cost, usage_of
from bapo.analysis.findings.finding import FindingsReport
from bapo.analysis.findings.planned_cost import with_planned_cost


def with_cost(session: Session, run: Run, report: FindingsReport, prices: Prices) -> FindingsReport:
    """Return the report with the expected cost in the finding of a probe's time; any other as it is."""
    if not any(finding.kind == "probed_cost" for finding in report.findings):
        return report
    usage = usage_of(session, [run.id]).get(run.id, Usage())
    now = clock(session)

    def cost_of(seconds: float) -> float | str:
        planned = planned_cost(seconds, usage, prices, now)
        return planned.unpriced or "" if planned.cost is None else planned.cost

    return with_planned_cost(report, cost_of, "Its cost at today's prices", prices.currency)
