"""Finds the config fields and the metrics that runs have, for a choice of columns."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from backend.models import Project, Run, RunMetrics
from bapo.api.runs import CONFIG_COLUMN, METRIC_COLUMN, ColumnInfo, RunColumns

LOOKED_AT = 200
"""Newest runs of which fields and metrics are offered: reading all configs would take seconds."""
_PROSE_CHARACTERS = 200
"""A longer value is no cell of a table."""


class _Found(NamedTuple):
    """Values of runs under one name: as JSON, one per run, and their types."""

    values: list[str]
    types: set[type]


def recorded_columns(session: Session, projects: Sequence[str]) -> RunColumns:
    """Return the fields and metrics of the newest runs, those that vary first, then by name."""
    query = select(Run.fields, RunMetrics.latest).join(RunMetrics, RunMetrics.run_id == Run.id, isouter=True)
    if projects:
        query = query.where(Run.project_id.in_(select(Project.id).where(Project.name.in_(projects))))
    rows = session.execute(query.order_by(Run.created_at.desc(), Run.id.desc()).limit(LOOKED_AT)).all()
    found: dict[str, _Found] = defaultdict(lambda: _Found([], set()))
    for fields, latest in rows:
        for prefix, values in ((CONFIG_COLUMN, fields), (METRIC_COLUMN, latest or {})):
            for name, value in values.items():
                text = json.dumps(value)
                if value is not None and len(text) <= _PROSE_CHARACTERS:
                    found[prefix + name].values.append(text)
                    found[prefix + name].types.add(str if isinstance(value, str) else object)
    items = [
        ColumnInfo(
            name=name,
            num_runs=len(each.values),
            varies=len(set(each.values)) > 1 or len(each.values) < len(rows),
            is_mixed=len(each.types) > 1,
        )
        for name, each in found.items()
    ]
    return RunColumns(items=sorted(items, key=lambda item: (not item.varies, item.name)), num_runs=len(rows))
