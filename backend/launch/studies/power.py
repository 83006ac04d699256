"""Power of a design, from the spread between seeds in the project's earlier runs of the same recipe."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from backend.launch.studies import repository
from backend.readings.compare.repository import EvaluationRow, evaluations
from bapo.analysis.comparison import flattened, is_material, seed_in
from bapo.analysis.power import PairedSpread, paired_spread
from bapo.config import ConfigError
from bapo.study.declaration import MEAN, Declaration
from bapo.study.examination import Examination
from bapo.study.plan import final_runs, resolved
from bapo.study.power import power_of_design
from bapo.study.results import StudyPower

ALIKE = ("task.type", "model.path", "training.steps")
"""Fields in which an earlier run agrees with the study."""


def power_shown(session: Session, examined: Examination, project_id: str | None) -> StudyPower | None:
    """Return the power of a study, even if its file has other errors; `None` if its seeds cannot be read."""
    study = examined.readable
    if study is None or "seeds" in examined.stood_in:
        return None
    return power_of_design(len(set(study.seeds)), _measured(session, study, project_id))


def _measured(session: Session, study: Declaration, project_id: str | None) -> PairedSpread | None:
    """Return the spread of avg@k between seeds in earlier runs; None where there are too few."""
    try:
        first = flattened(resolved(study, final_runs(study, {})[0]).model_dump(mode="json"))
    except ConfigError:
        return None
    if project_id is None or study.recipe is None:
        return None
    configs = {
        run_id: flattened(config)
        for run_id, config in repository.ended_configs(session, project_id, study.recipe).items()
    }
    alike = {
        run_id: config
        for run_id, config in configs.items()
        if all(config.get(field) == first.get(field) for field in ALIKE)
    }
    sets = study.test_sets if study.primary.test_set == MEAN else [study.primary.test_set]
    results = final_results(evaluations(session, list(alike)), sets)
    settings: dict[str, dict[int, float]] = {}
    for run_id, config in alike.items():
        seed = seed_in(config)
        if run_id in results and seed is not None:
            # Of runs that repeat a setting and a seed the newest counts, which comes first.
            settings.setdefault(_setting(config), {}).setdefault(seed, results[run_id])
    return paired_spread(list(settings.values()))


def final_results(rows: Sequence[EvaluationRow], sets: Sequence[str]) -> dict[str, float]:
    """Return each run's last avg@k, averaged over the test sets; runs without one of them are left out."""
    last: dict[tuple[str, str], float] = {(row.run_id, row.dataset): row.value for row in rows if row.step > 0}
    return {
        run_id: sum(last[run_id, name] for name in sets) / len(sets)
        for run_id in {run_id for run_id, _ in last}
        if all((run_id, name) in last for name in sets)
    }


def _setting(config: Mapping[str, Any]) -> str:
    return json.dumps({field: value for field, value in config.items() if is_material(field)}, sort_keys=True)
