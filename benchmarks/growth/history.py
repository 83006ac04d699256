"""Pages of the run list, and the estimate for a new run, over the length of the history."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import httpx

from benchmarks.deployment import Deployment
from benchmarks.growth.curves import NUM_PROMPTS, Curves, median_milliseconds, note_memory, small_config
from benchmarks.volume import records, store

SIZES, QUICK_SIZES = (1_000, 10_000, 100_000), (1_000, 10_000)


def history(server: Deployment, *, quick: bool) -> Curves:
    """Measure pages of the list, and the estimate for a new run like the others, over the number of runs."""
    with server.client() as client:
        config = small_config(2)
        run_id = store(client, config, "of the history", records(config, num_prompts=NUM_PROMPTS))
    questions: Mapping[str, dict[str, Any]] = {
        "a page of runs": {},
        "a search": {"search": "copy 77"},
        "a filter, sorted": {"method": "bapo", "sort": "-eval_latest"},
        "a state, sorted": {"status": "failed", "sort": "-reward_mean"},
    }
    estimate = "an estimate for a new run"
    curves: Curves = {name: {} for name in (*questions, estimate)}
    with httpx.Client(**server.http_options()) as http:

        def ask(params: dict[str, Any]) -> object:
            return http.get("/runs", params={"limit": 50, **params}).raise_for_status()

        def estimated() -> object:
            return http.post("/configs/estimate", json={"parent_id": run_id}).raise_for_status()

        for size in QUICK_SIZES if quick else SIZES:
            server.fill_history(run_id, size)
            for name, params in questions.items():
                curves[name][size] = median_milliseconds(partial(ask, params), quick=quick)
            curves[estimate][size] = median_milliseconds(estimated, quick=quick)
            note_memory(curves, server, size)
    return curves
