"""Makes a stored run's stream, looks for findings in it, and adds to a probe's what the planned run would cost."""

from __future__ import annotations

import numpy as np
from sqlalchemy.orm import Session

from backend.kit.database import clock
from backend.kit.revision_cache import RevisionCache
from backend.models import Run
from backend.prices.hours import Prices
from backend.readings.findings import repository
from backend.readings.run_reading import RunReading
from backend.records import series
from backend.records.repository import StepRange
from backend.runs.states import is_terminal
from backend.runs.usage import Usage, planned_cost, usage_of
from bapo.analysis.findings.finding import FindingKind, FindingsReport, PromptList
from bapo.analysis.findings.probe import with_planned_cost
from bapo.analysis.findings.search import Search, find
from bapo.analysis.findings.stream import (
    METRICS,
    MOST_SAMPLES,
    Curve,
    HeldOutSet,
    RunStream,
    response_group,
    reward_threshold,
)
from bapo.analysis.visits import Visits
from bapo.config import RunConfig
from bapo.config.task import canonical_form

MIN_SECONDS_BETWEEN_SEARCHES = 3.0
"""For a running run, which may record many steps in a second."""
MOST_SAMPLE_BYTES = 32 * 1024**2
"""Maximum size of the responses that are read, as stored (compressed)."""


class FindingsCache(RevisionCache[str, Search]):
    """Findings of the runs searched last."""

    def __init__(self) -> None:
        super().__init__(max_size=100)


def search_of_run(reading: RunReading) -> Search:
    """Return all findings of what the run has recorded, and the prompts that they name.

    Those of a running run may be some seconds old; those of an ended run cover all that it recorded.
    """
    session, run = reading.session, reading.run
    return reading.context.part(FindingsCache).get(
        run.id,
        lambda: repository.revision(session, run.id),
        lambda _: find(_stream(session, run, reading.visits)),
        min_seconds=0.0 if is_terminal(run.status) else MIN_SECONDS_BETWEEN_SEARCHES,
    )


def prompts_of_finding(reading: RunReading, kind: FindingKind) -> PromptList:
    """Return the prompts that a finding names; none where it was not found."""
    return search_of_run(reading).prompts.get(kind, PromptList(kind=kind, items=[]))


def _stream(session: Session, run: Run, visits: Visits) -> RunStream:
    num_steps = int(visits.step[-1]) if len(visits.step) else 0
    columns = series.read_training(session, run.id, METRICS, StepRange(1, max(1, num_steps)))
    curves = {}
    for key in METRICS:
        known = ~np.isnan(columns.values[key])
        if known.any():
            curves[key] = Curve(columns.steps[known].astype(np.float64), columns.values[key][known])
    points: dict[str, tuple[list[float], list[float]]] = {}
    for step, values in repository.evaluation_metrics(session, run.id):
        for key, value in values.items():
            steps, found = points.setdefault(key, ([], []))
            steps.append(step)
            found.append(value)
    curves |= {key: Curve(np.array(steps, np.float64), np.array(found)) for key, (steps, found) in points.items()}
    samples = repository.newest_samples(session, run.id, MOST_SAMPLES, MOST_SAMPLE_BYTES)
    config = RunConfig.model_validate(run.config)
    threshold = reward_threshold(config)
    texts = repository.prompt_texts(session, run.id)
    forms = {prompt_id: form for prompt_id, _, answer in texts if (form := canonical_form(answer)) is not None}
    held_out = {
        dataset: HeldOutSet(record["prompt_ids"], record["num_correct"], record["num_samples"])
        for dataset, record in repository.latest_evaluations(session, run.id)
    }
    return RunStream(
        config,
        visits,
        curves,
        [response_group(sample, threshold) for sample in samples],
        {prompt_id: text for prompt_id, text, _ in texts},
        forms,
        held_out,
    )


def with_cost(reading: RunReading, report: FindingsReport, prices: Prices) -> FindingsReport:
    """Return the report with the expected cost in the finding of a probe's time; any other as it is."""
    if not any(finding.kind == "probed_cost" for finding in report.findings):
        return report
    usage = usage_of(reading.session, [reading.run_id]).get(reading.run_id, Usage())
    now = clock(reading.session)

    def cost_of(seconds: float) -> float | str:
        planned = planned_cost(seconds, usage, prices, now)
        return planned.unpriced or "" if planned.cost is None else planned.cost

    return with_planned_cost(report, cost_of, "Its cost at today's prices", prices.currency)
