"""The results of a grid or list by setting: means over seeds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from backend.launch.studies.repository import MadeRun
from backend.models import Run, Study
from backend.readings.compare.importance import Varied
from bapo.analysis.comparison import estimate
from bapo.api.studies import StudySetting
from bapo.rollout import ANSWERS_MARK
from bapo.study.declaration import parse
from bapo.study.plan import final_runs

SEED_FIELDS = ("training.seed", "task.seed")
"""Runs that differ in these alone are repetitions of one setting."""


def main_evaluation(made: Sequence[MadeRun]) -> str | None:
    """Return the evaluation that most runs have."""
    found = _main_set(made)
    return None if found is None else found[0]


def _main_set(made: Sequence[MadeRun]) -> tuple[str, str] | None:
    """Return name, with k, and problems of the held-out set that most runs were evaluated on."""
    sets = Counter(held_out for each in made if each.run is not None and (held_out := _set_of(each.run)) is not None)
    return sets.most_common(1)[0][0] if sets else None


def _set_of(run: Run) -> tuple[str, str] | None:
    return None if run.eval_name is None else (run.eval_name, (run.eval_problems or "").partition(ANSWERS_MARK)[0])


def settings_of(made: Sequence[MadeRun]) -> list[StudySetting]:
    """Return every setting in the order of the plan, with its mean results."""
    held_out = _main_set(made)
    by_setting: dict[str, list[MadeRun]] = {}
    for each in made:
        by_setting.setdefault(json.dumps(_without_seeds(each.point), sort_keys=True), []).append(each)
    return [
        _setting(_without_seeds(same[0].point), [each.run for each in same if each.run is not None], held_out)
        for same in by_setting.values()
    ]


def _setting(point: dict[str, Any], runs: Sequence[Run], held_out: tuple[str, str] | None) -> StudySetting:
    # An evaluation of the base model is no result of the setting, nor is one on another set.
    with_result = [run for run in runs if _set_of(run) == held_out and run.eval_step]
    latest = estimate([run.eval_latest for run in with_result if run.eval_latest is not None])
    best = estimate([run.eval_best for run in with_result if run.eval_best is not None])
    return StudySetting(
        set=point,
        run_ids=[run.id for run in runs],
        num_results=len(with_result),
        latest=None if latest is None else latest.value,
        latest_low=None if latest is None else latest.low,
        latest_high=None if latest is None else latest.high,
        best=None if best is None else best.value,
    )


def varied(study: Study, made: Sequence[MadeRun]) -> list[Varied]:
    """Return the runs with the fields that a grid or list varies, or with arm and regime if a file declares them."""
    if study.text is None:
        points = [(each, _without_seeds(each.point), _seed(each.point)) for each in made]
    else:
        declaration = parse(study.text)
        by_name = {each.name: each for each in made}
        points = [
            (by_name[run.name], {"arm": run.arm, "regime": run.regime}, run.seed) for run in final_runs(declaration, {})
        ]
    return [Varied(each.run.id, point, seed) for each, point, seed in points if each.run is not None]


def _seed(point: Mapping[str, Any]) -> int | None:
    return next((seed for field in SEED_FIELDS if isinstance(seed := point.get(field), int)), None)


def _without_seeds(point: Mapping[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in point.items() if field not in SEED_FIELDS}
