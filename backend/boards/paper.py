"""The paper's figures and tables of a board's runs, drawn here: who has a link sees the drawings and no records.

Imported when the first of them is asked for: what draws takes a second to load.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from plotly.io.json import to_json_plotly
from pydantic import TypeAdapter
from sqlalchemy import select
from sqlalchemy.orm import Session

from backend.boards.selection import Selected
from backend.kit.errors import Problem
from backend.models import SparseRecord
from backend.prices.hours import Prices
from backend.readings.compare.service import Chosen
from backend.records import series
from backend.records.repository import StepRange
from backend.runs import listing, presentation
from bapo.api.boards import PaperPanel
from bapo.api.records import Series
from bapo.figures.recorded import STEP_KEYS, RecordedRun
from bapo.figures.theme import palette_of, themed
from bapo.records import EvaluationRecord, TrackingRecord
from bapo.report.contents import sections_of, selection_of
from bapo.report.section import Section

MOST_VALUES = 1_000_000
"""Numbers read for all runs together; of more, a sample of the steps that keeps the extremes."""
MOST_SAMPLINGS = 40
"""Evaluations, and samplings of tracked prompts, of one run; of more, evenly spaced ones."""

_EVALUATIONS = TypeAdapter(list[EvaluationRecord])
_TRACKING = TypeAdapter(list[TrackingRecord])


def paper_data(
    session: Session, panel: PaperPanel, found: Selected, chosen: Chosen, prices: Prices, scheme: str
) -> dict[str, Any]:
    """Return a `PaperData`. Raises Problem 422 for a figure that there is not, and for a field to group by that no run
    has."""
    try:
        sections = sections_of(selection_of(_recorded(session, chosen, prices), panel.group))
    except ValueError as error:
        raise Problem(422, "invalid_request", str(error), field="group", value=panel.group) from None
    names = [section.name for section in sections]
    unknown = [name for name in panel.figures if name not in names]
    if unknown:
        remedy = f"there is no such figure: use some of {', '.join(names)}"
        raise Problem(422, "invalid_request", remedy, field="figures", value=unknown[0])
    wanted = [each for each in sections if not panel.figures or each.name in panel.figures]
    return {
        "sections": [_section(each, scheme) for each in wanted],
        "num_shown": len(chosen.ids),
        "num_matching": found.num_matching,
    }


def _section(section: Section, scheme: str) -> dict[str, Any]:
    palette = palette_of(scheme)
    drawn = [] if section.draw is None or section.needs else section.draw(palette)
    said = {name: getattr(section, name) for name in ("name", "number", "title", "caption", "paper", "shows", "needs")}
    table = section.table
    return {
        **said,
        "figures": orjson.loads(to_json_plotly([themed(figure, palette) for figure in drawn])),
        "table": None
        if table is None or section.needs
        else {
            "columns": [column._asdict() for column in table.columns],
            "rows": [[cell._asdict() for cell in row] for row in table.rows],
        },
    }


def _recorded(session: Session, chosen: Chosen, prices: Prices) -> list[RecordedRun]:
    most_steps = max(100, MOST_VALUES // (len(STEP_KEYS) * max(1, len(chosen.ids))))
    rows = {row.run.id: row for row in listing.rows_by_id(session, chosen.ids, "")}
    found = []
    for named in chosen.rows:
        run = named.run
        summary = presentation.summary(rows[run.id], prices)
        columns = series.read(session, run.id, STEP_KEYS, StepRange(1, max(1, run.step)))
        if len(columns.steps) > most_steps:
            columns = series.sample(columns, most_steps)
        steps = Series.model_validate_json(
            orjson.dumps({"steps": columns.steps, "columns": columns.values}, option=orjson.OPT_SERIALIZE_NUMPY)
        )
        found.append(
            RecordedRun(
                id="",
                name=run.name,
                config=run.config,
                steps=steps,
                evaluations=_EVALUATIONS.validate_python(_records(session, run.id, "evaluation")),
                tracking=_TRACKING.validate_python(_records(session, run.id, "tracking")),
                compute_hours=summary.compute_hours or None,
                cost=summary.cost,
                currency=summary.currency,
                num_gpus=summary.num_gpus,
                status=summary.status.value,
                tags=summary.tags,
                group=summary.group,
                applied_changes=chosen.changes[run.id],
                num_left_out=max(0, run.step - len(columns.steps)) if len(columns.steps) else 0,
            )
        )
    return found


def _records(session: Session, run_id: str, kind: str) -> Sequence[dict[str, Any]]:
    of_kind = (SparseRecord.run_id == run_id, SparseRecord.type == kind)
    steps = session.scalars(select(SparseRecord.step).where(*of_kind).distinct().order_by(SparseRecord.step)).all()
    if len(steps) > MOST_SAMPLINGS:
        places = {round(index * (len(steps) - 1) / (MOST_SAMPLINGS - 1)) for index in range(MOST_SAMPLINGS)}
        steps = [steps[place] for place in sorted(places)]
    query = select(SparseRecord.record).where(*of_kind, SparseRecord.step.in_(steps))
    return session.scalars(query.order_by(SparseRecord.step, SparseRecord.id)).all()
