"""The page on the metrics of a training step, read off the fields of its record."""

from __future__ import annotations

from bapo.records import StepRecord, declared_metrics
from scripts.docs_site.tables import plain, table

INTRODUCTION = """# Metrics

Generated from the record of a training step. A run stores each of these by step under its name: verl's where verl has
one, else `bapo/…`. Boards, Compare, alerts and `bapo export` take them by name. Other trainers' runs keep their own
names besides.

"""


def page() -> str:
    """Return the whole page."""
    rows = [
        (f"`{each.name}`", plain(each.metric.title), plain(each.metric.unit), plain(each.explanation))
        for each in declared_metrics(StepRecord)
    ]
    return INTRODUCTION + table(("metric", "title", "unit", "meaning"), rows)
