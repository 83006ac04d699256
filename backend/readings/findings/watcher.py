"""Looks for findings in every run now and then; keeps what it found, and what the run's visits of prompts come to.

No list, no alert and no page of a prompt then has to compute it.
"""

from __future__ import annotations

import logging

from sqlalchemy import or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from backend.kit.context import Context
from backend.kit.database import Database, clock
from backend.kit.leadership import LeaderThread
from backend.models import PromptTotals, Run, RunFindings
from backend.readings.findings import repository, service
from backend.readings.prompt_totals import totals
from backend.readings.run_reading import RunReading
from backend.runs import states
from bapo.analysis.across_runs import SUSPECTING

LOG = logging.getLogger(__name__)

WATCH_LOCK = 0x6261706F0B
"""Advisory lock of the one watcher."""
INTERVAL_SECONDS = 10.0
MOST_RUNS = 20
"""Runs of a round, those first that were not looked at for the longest."""


class FindingsWatcher(LeaderThread):
    """Looks at runs that have recorded more since the last time, and once more at those that have ended."""

    def __init__(self, database: Database, context: Context, interval_seconds: float = INTERVAL_SECONDS) -> None:
        super().__init__("findings", database, WATCH_LOCK, interval_seconds)
        self._context = context

    def work(self) -> None:
        """Look at the runs that are due."""
        with self._database.session() as session, session.begin():
            totals.take_out_gone(session)
            due = runs_due(session)
        for run_id in due:
            if self._ended.is_set():
                return
            with self._database.session() as session, session.begin():
                look(session, self._context, run_id)


def runs_due(session: Session) -> list[str]:
    """Return the runs that were never checked or counted, or that have trained further since."""
    query = (
        select(Run.id)
        .join(RunFindings, RunFindings.run_id == Run.id, isouter=True)
        .join(PromptTotals, PromptTotals.run_id == Run.id, isouter=True)
        .where(
            Run.step > 0,
            Run.trashed_at.is_(None),
            or_(
                RunFindings.run_id.is_(None),
                PromptTotals.run_id.is_(None),
                PromptTotals.is_due,
                RunFindings.is_over.is_(False),
                Run.status.in_(states.ACTIVE),
            ),
        )
        .order_by(RunFindings.found_at.asc().nulls_first(), Run.created_at.desc())
        .limit(MOST_RUNS)
    )
    return list(session.scalars(query))


def look(session: Session, context: Context, run_id: str) -> None:
    """Keep what is found in the run by now."""
    run = session.get(Run, run_id)
    if run is None:
        return
    # Before the search: what is stored meanwhile makes the run due again.
    revision, is_over = repository.revision(session, run_id), states.is_terminal(run.status)
    known = session.get(RunFindings, run_id)
    now = clock(session)
    counted = session.get(PromptTotals, run_id)
    is_counted = counted is not None and not counted.is_due
    if known is not None and known.revision == revision and is_counted:
        seen = update(RunFindings).where(RunFindings.run_id == run_id).values(is_over=is_over, found_at=now)
        session.execute(seen)
        return
    step, found, probe = run.step, [], None
    try:
        reading = RunReading(session, context, run_id)
        search = service.search_of_run(reading)
        report = search.report
        step, found = report.step, [each.model_dump(include={"kind", "severity", "title"}) for each in report.findings]
        probe = None if search.probe is None else search.probe.model_dump(mode="json")
        suspected = {
            each.prompt_id for kind in SUSPECTING if kind in search.prompts for each in search.prompts[kind].items
        }
        columns = reading.columns
        if not _is_still_there(session, run_id):
            return
        with session.begin_nested():
            totals.keep(session, run, columns, suspected)
    except Exception:
        if not _is_still_there(session, run_id):
            return
        # A run that cannot be read must not keep all others from being looked at.
        LOG.exception("no findings could be looked for", extra={"run_id": run_id})
        totals.keep_nothing(session, run)
    values = {"revision": revision, "step": step, "is_over": is_over, "found": found, "probe": probe, "found_at": now}
    query = insert(RunFindings).values(run_id=run_id, **values)
    session.execute(query.on_conflict_do_update(index_elements=[RunFindings.run_id], set_=values))


def _is_still_there(session: Session, run_id: str) -> bool:
    """Return whether the run was not deleted during the search; from now on its deletion waits until the search is
    stored."""
    query = select(Run.id).where(Run.id == run_id).with_for_update(read=True, key_share=True)
    return session.scalar(query) is not None
