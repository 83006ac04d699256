"""The report of a study, and what tuning chose, from what its runs stored."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from backend.launch.studies import repository, service
from backend.launch.studies.repository import MadeRun, StudyRow
from backend.readings.compare import series
from bapo.api.studies import StudyReport
from bapo.records import EvaluationRecord, TrackingRecord
from bapo.study.declaration import parse
from bapo.study.measured_run import METRIC_KEYS, MeasuredRun
from bapo.study.report import build


def ended(made: Sequence[MadeRun]) -> dict[str, str]:
    """Name and identifier of the runs that may be read."""
    return {each.name: each.run.id for each in made if each.run is not None and each.run.status == "succeeded"}


def measured(session: Session, made: Sequence[MadeRun]) -> dict[str, MeasuredRun]:
    """Return the records of the ended runs, by name, read in a few statements for all of them."""
    ids = ended(made)
    configs = repository.configs(session, list(ids.values()))
    columns = series.read(session, list(ids.values()), METRIC_KEYS)
    assessments = repository.assessments(session, list(ids.values()))
    found = {}
    for name, run_id in ids.items():
        table = series.table(columns[run_id])
        records = assessments[run_id]
        found[name] = MeasuredRun(
            config=configs[run_id],
            steps=table.steps,
            columns=table.values,
            evaluations=[EvaluationRecord.model_validate(each) for each in records if each["type"] == "evaluation"],
            tracking=[TrackingRecord.model_validate(each) for each in records if each["type"] == "tracking"],
        )
    return found


def report(session: Session, row: StudyRow, made: Sequence[MadeRun]) -> StudyReport:
    """Return the report of a study with a question, over the runs that are done."""
    assert row.study.text is not None, "a study without a question has no report"
    declaration = parse(row.study.text)
    return build(
        declaration,
        service.run_infos(row.study, declaration, made),
        measured(session, made),
        choices=service.choices_of(row.study),
    )
