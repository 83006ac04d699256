"""The columns of the run list: what runs are sorted, filtered and grouped by, each as one SQL expression.

A built-in column has a plain name, such as `eval_best`; `config` is the same for runs that differ in nothing but the
seed. `config.method.c1` is a field of the submitted config, `metric.actor/entropy` the newest value of a recorded
metric. These are JSON, so that one column may hold numbers and texts: they are ordered as PostgreSQL orders JSON,
missing values, then texts, then numbers, then booleans.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, case, cast, extract, func, literal, literal_column, or_, select
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION, JSONB
from sqlalchemy.orm import Session
from sqlalchemy.types import DateTime, Text

from backend.kit.errors import Problem
from backend.models import Project, Run, RunGroup, RunMetrics, Study, StudyRun, User
from backend.runs import usage
from bapo.analysis.comparison import SEED_FIELDS
from bapo.api.runs import CONFIG_COLUMN, METRIC_COLUMN, ColumnInfo, RunColumns

Kind = Literal["number", "time", "text", "json"]


class Column(NamedTuple):
    """A column: its expression is never NULL, so that one comparison of rows continues a page."""

    name: str
    kind: Kind
    expression: ColumnElement[Any]


NO_NUMBER = literal(float("-inf"), DOUBLE_PRECISION)
NO_TIME = literal(datetime(1, 1, 1, tzinfo=UTC), DateTime(timezone=True))
NO_VALUE: ColumnElement[Any] = literal_column("'null'::jsonb", JSONB)

_NUMBERS = (
    *("step", "num_steps", "priority", "attempt", "num_rollouts", "reward_mean"),
    *("eval_base", "eval_latest", "eval_best", "eval_best_step"),
)
_TIMES = ("started_at", "finished_at", "archived_at", "trashed_at")
_TEXTS = ("name", "status", "method", "id")
_owner = select(User.name).where(User.id == Run.owner_id).scalar_subquery()
_group = select(RunGroup.name).where(RunGroup.id == Run.group_id).scalar_subquery()
_project = select(Project.name).where(Project.id == Run.project_id).scalar_subquery()
_study = (
    select(RunGroup.name)
    .join(Study, Study.id == RunGroup.id)
    .join(StudyRun, StudyRun.study_id == Study.id)
    .where(StudyRun.run_id == Run.id)
    .limit(1)
    .scalar_subquery()
)
_seconds = extract("epoch", func.coalesce(Run.finished_at, func.now()) - Run.started_at)

_seedless = Run.fields.op("-", return_type=JSONB)(cast(list(SEED_FIELDS), ARRAY(Text)))

REPLICATE: ColumnElement[str] = case(
    (
        or_(*(func.jsonb_typeof(Run.fields.op("->")(literal(field, Text))) == "number" for field in SEED_FIELDS)),
        func.md5(cast(Run.fields, Text)),
    ),
    else_=cast(Run.id, Text),
)
"""Key of a run's replicate: runs of one config with its seed are one, a run of an unknown seed is one by itself."""

_BUILT_IN: dict[str, tuple[Kind, ColumnElement[Any]]] = {
    **{name: ("number", func.coalesce(cast(getattr(Run, name), DOUBLE_PRECISION), NO_NUMBER)) for name in _NUMBERS},
    **{name: ("time", func.coalesce(getattr(Run, name), NO_TIME)) for name in _TIMES},
    **{name: ("text", cast(getattr(Run, name), Text)) for name in _TEXTS},
    "progress": ("number", cast(Run.step, DOUBLE_PRECISION) / func.greatest(Run.num_steps, 1)),
    "eval_change": ("number", func.coalesce(Run.eval_latest - Run.eval_base, NO_NUMBER)),
    "duration": ("number", func.coalesce(cast(_seconds, DOUBLE_PRECISION), NO_NUMBER)),
    "compute_hours": ("number", func.coalesce(usage.hours_of(Run.id), NO_NUMBER)),
    "owner": ("text", cast(_owner, Text)),
    "project": ("text", cast(_project, Text)),
    "group": ("text", func.coalesce(cast(_group, Text), "")),
    "study": ("text", func.coalesce(cast(_study, Text), "")),
    "recipe": ("text", func.coalesce(Run.recipe, "")),
    "tags": ("text", func.array_to_string(Run.tags, ", ")),
    "config": ("text", func.md5(cast(_seedless, Text))),
    # Never NULL as it is, and so the index on it serves.
    "created_at": ("time", Run.created_at.expression),
}


def column(name: str, field: str) -> Column:
    """Return the column of this name. Raises Problem 422 for an unknown one; `field` is the parameter that names it."""
    if name in _BUILT_IN:
        return Column(name, *_BUILT_IN[name])
    if name.startswith(CONFIG_COLUMN) and len(name) > len(CONFIG_COLUMN):
        return Column(name, "json", _config_value(name.removeprefix(CONFIG_COLUMN)))
    if name.startswith(METRIC_COLUMN) and len(name) > len(METRIC_COLUMN):
        return Column(name, "json", _latest_value(name.removeprefix(METRIC_COLUMN)))
    remedy = (
        f"there is no such column: use one of {', '.join(sorted(_BUILT_IN))}, {CONFIG_COLUMN}FIELD such as "
        f"config.method.c1, or {METRIC_COLUMN}KEY such as metric.actor/entropy"
    )
    raise Problem(422, "invalid_request", remedy, field=field, value=name)


def as_text(of: Column) -> ColumnElement[str]:
    """Return the column's value as text; a text in JSON without its quotes."""
    if of.kind != "json":
        return cast(of.expression, Text)
    return of.expression.op("#>>", return_type=Text)(literal_column("'{}'::text[]", ARRAY(Text)))


def is_recorded(name: str) -> bool:
    """Return whether the column is a config field or a metric: its values come with a list only where they are asked
    for."""
    return name.startswith((CONFIG_COLUMN, METRIC_COLUMN))


def _config_value(path: str) -> ColumnElement[Any]:
    return func.coalesce(Run.fields.op("->", return_type=JSONB)(literal(path, Text)), NO_VALUE)


def _latest_value(key: str) -> ColumnElement[Any]:
    value = RunMetrics.latest.op("->", return_type=JSONB)(literal(key, Text))
    return func.coalesce(select(value).where(RunMetrics.run_id == Run.id).scalar_subquery(), NO_VALUE)


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
