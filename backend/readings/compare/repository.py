"""SQL over several runs, one statement for all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from backend.models import Run, RunGroup, SparseRecord
from bapo.analysis.held_out_sets import HeldOutSet


class NamedRun(NamedTuple):
    """A run and the name of its group."""

    run: Run
    group: str | None


def named_runs(session: Session, run_ids: Sequence[str]) -> dict[str, NamedRun]:
    """Return the runs among these that exist."""
    query = select(Run, RunGroup.name).join(RunGroup, Run.group_id == RunGroup.id, isouter=True)
    return {run.id: NamedRun(run, group) for run, group in session.execute(query.where(Run.id.in_(run_ids)))}


def existing(session: Session, run_ids: Sequence[str]) -> set[str]:
    """Return the IDs among these that belong to runs."""
    return set(session.scalars(select(Run.id).where(Run.id.in_(run_ids))))


# ---------------------------------------------------------------- evaluations and tracking


class EvaluationRow(NamedTuple):
    """An evaluation without its problems."""

    run_id: str
    step: int
    dataset: str
    num_samples: int
    value: float
    """avg@k."""
    low: float | None
    """`None` where the record has no interval."""
    high: float | None
    num_problems: int
    problems: str
    """Digest of the set's problems."""

    @property
    def held_out(self) -> HeldOutSet:
        """The set that it is of."""
        return HeldOutSet(self.dataset, self.num_problems, self.num_samples, self.problems)


_MEAN = re.compile(r"val-core/(?P<dataset>.+)/acc/mean@(?P<num_samples>\d+)")


def evaluations(session: Session, run_ids: Sequence[str]) -> list[EvaluationRow]:
    """Return all evaluations, by run and step."""
    # The metrics are small; the records hold every problem.
    query = (
        select(
            SparseRecord.run_id,
            SparseRecord.step,
            SparseRecord.metrics,
            SparseRecord.num_problems,
            SparseRecord.problems,
        )
        .where(SparseRecord.run_id.in_(run_ids), SparseRecord.type == "evaluation")
        .order_by(SparseRecord.run_id, SparseRecord.step)
    )
    found = []
    for run_id, step, metrics, num_problems, problems in session.execute(query):
        for key, value in metrics.items():
            if (match := _MEAN.fullmatch(key)) is not None:
                low, high = metrics.get(f"{key}/low"), metrics.get(f"{key}/high")
                dataset, num_samples = match["dataset"], int(match["num_samples"])
                found.append(
                    EvaluationRow(
                        run_id, step, dataset, num_samples, value, low, high, num_problems or 0, problems or ""
                    )
                )
    return found


class Answers(NamedTuple):
    """Number of correct responses per problem."""

    run_id: str
    step: int
    identity: str
    """The held-out set; of a tracking its replicate."""
    problems: str
    """The same for the same problems in the same order."""
    num_samples: int
    """Responses per problem."""
    num_correct: list[int]


_ENDS = text("""
    SELECT run_id, step, identity, md5(record ->> 'prompt_ids'), (record ->> :num_samples)::int,
           ARRAY(SELECT jsonb_array_elements_text(record -> 'num_correct')::int)
    FROM sparse_records
    WHERE type = :type AND (run_id, step, identity) IN (
        SELECT run_id, min(step), identity FROM sparse_records
        WHERE run_id = ANY(:run_ids) AND type = :type GROUP BY run_id, identity
        UNION SELECT run_id, max(step), identity FROM sparse_records
        WHERE run_id = ANY(:run_ids) AND type = :type GROUP BY run_id, identity
    )
    ORDER BY run_id, step, identity
""")


def first_and_last_evaluations(session: Session, run_ids: Sequence[str]) -> list[Answers]:
    """Return the first and last evaluation of each run and held-out set."""
    parameters: dict[str, Any] = {"run_ids": list(run_ids), "type": "evaluation", "num_samples": "num_samples"}
    return [Answers(*row) for row in session.execute(_ENDS, parameters)]


def first_and_last_trackings(session: Session, run_ids: Sequence[str]) -> list[Answers]:
    """Return both samplings of the base model and the last sampling of each run."""
    parameters: dict[str, Any] = {"run_ids": list(run_ids), "type": "tracking", "num_samples": "group_size"}
    return [Answers(*row) for row in session.execute(_ENDS, parameters)]
