"""Groups runs by a column, with states, mean and spread of each group: one query, and one more for labels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, case, cast, func, null, select
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION
from sqlalchemy.orm import Session

from backend.kit.errors import Problem
from backend.models import Run
from backend.runs import filters as run_filters
from backend.runs.columns import NO_NUMBER, Column, as_text, column
from backend.runs.held_out import set_behind
from bapo.analysis.comparison import SEED_FIELDS
from bapo.api.runs import Aggregate, GroupedRuns, RunGrouping, RunGroups, RunStatus
from bapo.config.method import method_name

METHOD = "method"
TAG = "tag"
SHOWN_DIFFERENCES = 4
"""Fields that the label of a config names; the others are counted."""


def groups(session: Session, query: RunGrouping, viewer_id: str) -> RunGroups:
    """Return the groups of this page. Raises Problem 422 for a column that is not groupable, or holds no numbers."""
    by = _by(query.by)
    names = list(dict.fromkeys(query.metrics))
    sets = [set_behind(name) for name in names]
    parts = (
        *(by.expression.label("value"), Run.status, Run.id),
        *(number_of(name, "metrics").label(f"n{i}") for i, name in enumerate(names)),
        *((null() if each is None else each).label(f"s{i}") for i, each in enumerate(sets)),
    )
    runs = select(*parts).where(*run_filters.conditions(query, viewer_id)).subquery()
    figures = [figure for i in range(len(names)) for figure in _figures(runs.c[f"n{i}"], runs.c[f"s{i}"])]
    states = [func.count().filter(runs.c.status == status) for status in RunStatus]
    rows = session.execute(
        select(
            *(runs.c.value, func.min(runs.c.id), func.count().over(), func.count()),
            *(*states, *figures),
        )
        .group_by(runs.c.value)
        .order_by(func.count().desc(), runs.c.value)
        .offset(query.offset)
        .limit(query.limit)
    ).all()
    labels = _config_labels(session, [row[1] for row in rows]) if query.by == "config" else {}
    items = []
    for value, sample_id, _, number, *rest in rows:
        common = _value(by, value)
        counts, of_columns = rest[: len(states)], rest[len(states) :]
        items.append(
            GroupedRuns(
                value=common,
                label=labels.get(sample_id) or _label(common, is_method=by.name == METHOD),
                where=None if by.name == TAG and common is not None else _condition(by, common),
                tag=common if by.name == TAG else None,
                num_runs=number,
                states={status: count for status, count in zip(RunStatus, counts, strict=True) if count},
                aggregates=_aggregates(names, of_columns),
            )
        )
    return RunGroups(items=items, total=rows[0][2] if rows else 0)


def _by(name: str) -> Column:
    if name == TAG:
        # A run without a tag is in the group without one.
        tags = case((func.cardinality(Run.tags) == 0, [""]), else_=Run.tags)
        return Column(TAG, "text", func.unnest(tags))
    found = column(name, "by")
    if found.kind == "time":
        remedy = "times are all different: group by a column that holds texts or numbers"
        raise Problem(422, "invalid_request", remedy, field="by", value=name)
    return found


def number_of(name: str, field: str) -> ColumnElement[Any]:
    """Return the column's numbers; NULL where a run has none. Raises Problem 422 for a column without; `field` names
    it."""
    found = column(name, field)
    match found.kind:
        case "number":
            return func.nullif(found.expression, NO_NUMBER)
        case "json":
            is_number = func.jsonb_typeof(found.expression) == "number"
            return case((is_number, cast(as_text(found), DOUBLE_PRECISION)))
    remedy = "this column holds no numbers: name one that does, such as eval_latest or metric.actor/entropy"
    raise Problem(422, "invalid_request", remedy, field=field, value=name)


def _figures(number: ColumnElement[Any], held_out: ColumnElement[Any]) -> tuple[ColumnElement[Any], ...]:
    # Of values that are all the same there is no deviation to give.
    deviation = func.nullif(func.stddev_samp(number), 0)
    num_sets = func.count(held_out.distinct()).filter(number.is_not(None))
    return func.count(number), num_sets, func.avg(number), deviation, func.min(number), func.max(number)


def _aggregates(names: Sequence[str], figures: Sequence[Any]) -> dict[str, Aggregate]:
    width = len(figures) // len(names) if names else 0
    found = {}
    for i, name in enumerate(names):
        num_runs, num_sets, *values = figures[i * width : (i + 1) * width]
        is_mixed = num_sets > 1
        mean, std, low, high = [None] * len(values) if is_mixed else values
        found[name] = Aggregate(
            num_runs=num_runs, mean=mean, std=std, min=low, max=high, num_sets=num_sets if is_mixed else None
        )
    return found


def _value(by: Column, value: Any) -> Any:
    is_missing = value in ("", None) or (by.kind == "number" and value == float("-inf"))
    return None if is_missing else value


def _condition(by: Column, value: Any) -> str:
    name = "tags" if by.name == TAG else by.name
    return f"{name} is missing" if value is None else f"{name} = {json.dumps([value])}"


def _label(value: Any, *, is_method: bool = False) -> str:
    if value is None:
        return "none"
    if is_method:
        return method_name(value)
    return value if isinstance(value, str) else json.dumps(value)


def _config_labels(session: Session, run_ids: Sequence[str]) -> dict[str, str]:
    """Return by run the fields in which the configs of these runs differ, apart from their seeds."""
    found = session.execute(select(Run.id, Run.fields).where(Run.id.in_(run_ids))).all()
    flat = {
        run_id: {name: value for name, value in fields.items() if name not in SEED_FIELDS} for run_id, fields in found
    }
    names = dict.fromkeys(name for each in flat.values() for name in each)
    differing = [name for name in names if len({json.dumps(each.get(name)) for each in flat.values()}) > 1]
    if not differing:
        return dict.fromkeys(flat, "all but the seed the same")
    return {run_id: _differences(each, differing) for run_id, each in flat.items()}


def _differences(config: dict[str, Any], differing: Sequence[str]) -> str:
    texts = [
        f"{name.removeprefix('method.')} = {_label(config[name])}" for name in differing if config.get(name) is not None
    ]
    more = f" and {len(texts) - SHOWN_DIFFERENCES} more" if len(texts) > SHOWN_DIFFERENCES else ""
    return ", ".join(texts[:SHOWN_DIFFERENCES]) + more
