"""A walked step over REST: the same as from the run folder, with what its prompts say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from bapo.analysis.walk.recorded import read_walk
from bapo.analysis.walk.thresholds import Wanted
from bapo.analysis.walk.walk import Listing
from bapo.api.readings import WalkRequest
from bapo.api.runs import RunCreate
from bapo.client import Client
from tests.support.recorded import NUM_STEPS, import_folder
from tests.support.refusals import refuses


@pytest.fixture(scope="module")
def bapo_run(admin: Client, recorded_folders: Mapping[str, Path]) -> str:
    return import_folder(admin, recorded_folders["bapo-seed-1"])


@pytest.mark.parametrize(
    "wanted",
    [WalkRequest(), WalkRequest(step=20), WalkRequest(step=15, c1="1/4"), WalkRequest(step=1, c2="0", c3="0.5")],
)
def test_a_server_walks_as_the_folder_does(
    admin: Client, bapo_run: str, recorded_folders: Mapping[str, Path], wanted: WalkRequest
) -> None:
    folder = recorded_folders["bapo-seed-1"]
    expected = read_walk(folder, wanted.step, Wanted(wanted.c1, wanted.c2, wanted.c3), Listing(wanted.limit))
    found = admin.walk(bapo_run, wanted)
    assert found.model_copy(update={"texts": {}}) == expected
    assert not any("even under its own" in caution for caution in found.cautions)
    listed = {group.prompt_id for line in found.lines for outcome in line.outcomes for group in outcome.groups}
    assert set(found.texts) == listed
    assert all("=" in text for text in found.texts.values())


def test_further_groups_of_an_outcome_come_in_pages(admin: Client, bapo_run: str) -> None:
    def listed(limit: int, offset: int) -> list[str]:
        request = WalkRequest(step=NUM_STEPS, line="batch", outcome="x1", limit=limit, offset=offset)
        lines = {line.key: line.outcomes for line in admin.walk(bapo_run, request).lines}
        assert not any(outcome.groups for key, outcomes in lines.items() if key != "batch" for outcome in outcomes)
        return [group.prompt_id for outcome in lines["batch"] for group in outcome.groups]

    everything = listed(1000, 0)
    assert len(everything) > 4
    assert listed(2, 0) + listed(1000, 2) == everything


def test_a_grpo_run_walks_its_own_rule(admin: Client, recorded_folders: Mapping[str, Path]) -> None:
    run_id = import_folder(admin, recorded_folders["grpo-seed-1"])
    walk = admin.walk(run_id)
    assert (walk.step, walk.method, walk.follows_algorithm_1, walk.thresholds) == (NUM_STEPS, "GRPO", False, None)
    with refuses(422, field="c1"):
        admin.walk(run_id, WalkRequest(c1="1/4"))


def test_what_cannot_be_walked_is_named(admin: Client, bapo_run: str) -> None:
    with refuses(422, field="step"):
        admin.walk(bapo_run, WalkRequest(step=NUM_STEPS + 5))
    with refuses(422, field="c1"):
        admin.walk(bapo_run, WalkRequest(c1="many"))
    waiting = admin.create_run(RunCreate(recipe="countdown-demo", name="waiting"))
    with refuses(422, field="step"):
        admin.walk(waiting.id)
