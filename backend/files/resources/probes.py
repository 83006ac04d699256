"""Short results of the probes on a data set, with the current cost of the planned run."""

from __future__ import annotations

from pathlib import PurePath

from sqlalchemy.orm import Session

from backend.files.resources import repository
from backend.kit.database import clock
from backend.prices.service import prices_in_force
from backend.runs.usage import Usage, planned_cost, usage_of
from backend.settings.environment import Settings
from bapo.analysis.findings.finding import ProbeFigures
from bapo.api.resources import DataProbe


def probes(session: Session, resource_id: str, settings: Settings) -> list[DataProbe]:
    """Return the probes on the resource, newest first; an empty list if it is no data set. Raises Problem 404."""
    rows = repository.probes_on(session, repository.row(session, resource_id).resource)
    usage = usage_of(session, [row.run.id for row in rows])
    prices, now = prices_in_force(session, settings), clock(session)
    found = []
    for run, author, version, kept in rows:
        figures = None if kept is None else ProbeFigures.model_validate(kept)
        planned = planned_cost(None if figures is None else figures.seconds, usage.get(run.id, Usage()), prices, now)
        found.append(
            DataProbe(
                run_id=run.id,
                name=run.name,
                status=run.status.value,
                version=version,
                # Uploaded models lie in a folder with their name, as others mostly do.
                model=PurePath(run.config["model"]["path"]).name,
                author=author,
                created_at=run.created_at,
                figures=figures,
                **planned._asdict(),
                currency=prices.currency,
            )
        )
    return found
