"""Starting points of a new study: nothing, a shipped study, one of the server's, or chosen runs."""

from __future__ import annotations

import asyncio
import copy
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bapo.analysis.number_format import counted
from bapo.api.studies import ShippedStudy, StudyDetail, StudySummary
from bapo.client import AsyncClient
from bapo.config.resolve import flatten
from bapo.study.declaration import load
from bapo.study.draft import DraftedRun, drafted
from frontend.pages.studies.rewriting import rewritten, written

SHIPPED, STUDY, EMPTY = "shipped:", "study:", "empty"
MOST_RUNS = 50
AGAIN = " again"
EMPTY_TEXT = Path(__file__).with_name("empty.toml").read_text(encoding="utf-8")


def offered(shipped: Sequence[ShippedStudy], studies: Sequence[StudySummary]) -> list[dict[str, Any]]:
    """Return the starts, as a select takes them."""

    def named(kind: str, identifier: str, title: str, num_runs: int) -> dict[str, str]:
        return {"value": f"{kind}{identifier}", "label": f"{title} ({counted(num_runs, 'run')})"}

    groups = [
        ("Shipped", [named(SHIPPED, each.name, each.title, each.num_runs) for each in shipped]),
        ("Studies here", [named(STUDY, each.id, each.title, each.num_runs) for each in studies]),
    ]
    empty = {"value": EMPTY, "label": "An empty study: BAPO against GRPO"}
    return [empty, *({"group": name, "items": items} for name, items in groups if items)]


async def text_of(client: AsyncClient, start: str) -> str:
    """Return the file that a study begins with. Raises ApiError for a study that is not there."""
    if start.startswith(SHIPPED):
        return load(start.removeprefix(SHIPPED))
    if not start.startswith(STUDY):
        return EMPTY_TEXT
    study = await client.study(start.removeprefix(STUDY))
    if study.text is None:
        return await text_of_runs(client, _runs_of(study), title=study.title)
    document = copy.deepcopy(tomllib.loads(study.text))
    # The title of a study is taken.
    document["title"] = f"{document['title'][: 150 - len(AGAIN)]}{AGAIN}"
    return rewritten(study.text, document)


def _runs_of(study: StudyDetail) -> list[str]:
    return [run.run_id for run in study.runs if run.run_id is not None]


async def text_of_runs(client: AsyncClient, run_ids: Sequence[str], *, title: str = "") -> str:
    """Return a first draft with the settings of runs as arms. Raises ApiError for a run that is not there."""
    runs = await asyncio.gather(*(client.run(run_id) for run_id in run_ids[:MOST_RUNS]))
    if not runs:
        return EMPTY_TEXT
    found = drafted([DraftedRun(run.recipe, flatten(run.explicit), run.config) for run in runs])
    if title:
        found["title"] = f"{title[: 150 - len(AGAIN)]}{AGAIN}"
    left = len(run_ids) - MOST_RUNS
    note = f"; {left} more were left out" if left > 0 else ""
    return (
        f"# Drafted from {counted(len(runs), 'run')}{note}: check the arms, and write the question.\n{written(found)}"
    )
