"""Submits the runs that count as soon as those that choose settings have ended: in a thread, for no request waits."""

from __future__ import annotations

import logging

from sqlalchemy.orm import Session

from backend.identity.audit.repository import add_audit
from backend.kit.database import Database
from backend.kit.leadership import LeaderThread
from backend.kit.principal import Principal
from backend.launch.studies import plans, report, repository, service
from backend.models import User
from bapo.study.declaration import parse
from bapo.study.plan import final_runs
from bapo.study.report import choose

LOG = logging.getLogger(__name__)

STUDY_LOCK = 0x6261706F0A
"""Advisory lock of the one follower."""
INTERVAL_SECONDS = 5.0


class StudyFollower(LeaderThread):
    """Looks now and then for studies whose tuning has ended."""

    def __init__(self, database: Database) -> None:
        super().__init__("studies", database, STUDY_LOCK, INTERVAL_SECONDS)

    def work(self) -> None:
        """Continue each study that can continue."""
        with self._database.session() as session:
            waiting = repository.unfinished(session)
        for study_id in waiting:
            with self._database.session() as session, session.begin():
                advance(session, study_id)


def advance(session: Session, study_id: str) -> bool:
    """Choose the settings and submit the rest, all in one transaction; whether that was possible."""
    row = repository.lock(session, study_id)
    if row is None or row.study.choices is not None or row.study.text is None:
        return False
    declaration = parse(row.study.text)
    made = repository.made_runs(session, study_id)
    infos = service.run_infos(row.study, declaration, made)
    if any(info.state != "done" for info in infos if info.stage == "tuning"):
        return False
    owner = session.get_one(User, row.study.owner_id)
    if owner.disabled_at is not None:
        return False
    choices = choose(declaration, infos, report.measured(session, made))
    row.study.choices = [{"regime": regime, "arm": arm, "set": dict(point)} for (regime, arm), point in choices.items()]
    # On behalf of the one who declared all of this, and in this project alone.
    caller = Principal(owner.id, "system", "member", "", {row.study.project_id: "member"})
    runs = plans.declared(declaration, final_runs(declaration, choices))
    service.submit(session, row, declaration.recipe, runs, caller)
    detail = {"study_id": study_id, "title": declaration.title, "choices": row.study.choices}
    add_audit(session, None, "system", "study settings chosen", detail)
    LOG.info("study continues", extra={"study_id": study_id})
    return True
