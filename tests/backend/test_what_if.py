"""What-if over REST: the same as from the run folder, for finished and running runs."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bapo.analysis.what_if.forecast import what_if
from bapo.analysis.what_if.recording import read_recording
from bapo.api.readings import WhatIfRequest
from bapo.client import ApiError, Client
from bapo.config import RunConfig
from bapo.observe.upload import describe_folder
from bapo.run.journal import RECORDS_FILE
from tests.support.imports import send_folder
from tests.support.recorded import NUM_STEPS, import_folder
from tests.support.refusals import refuses


@pytest.fixture(scope="module")
def bapo_run(admin: Client, recorded_folders: Mapping[str, Path]) -> str:
    return import_folder(admin, recorded_folders["bapo-seed-1"])


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"method.c1": "1/4"},
        {"method.m": 1, "method.max_reevaluated_prompts": 4},
        {"method.c2": [0, 0], "method.c3": ["3/4", "3/4"]},
        {"training.batch_size": 8, "method.filter.type": "gaussian"},
        {"method.type": "grpo"},
        {"method.type": "dapo", "rollout.group_size": 4},
    ],
)
def test_a_server_answers_what_the_folder_gives(
    admin: Client, bapo_run: str, recorded_folders: Mapping[str, Path], changes: dict[str, Any]
) -> None:
    expected = what_if(read_recording(recorded_folders["bapo-seed-1"]), changes)
    assert admin.what_if(bapo_run, WhatIfRequest(set=changes)) == expected
    assert expected.num_disagreeing == 0


def test_a_grpo_run_is_replayed_as_bapo(admin: Client, recorded_folders: Mapping[str, Path]) -> None:
    run_id = import_folder(admin, recorded_folders["grpo-seed-1"])
    answer = admin.what_if(run_id, WhatIfRequest(set={"method.type": "bapo"}))
    assert (answer.num_steps, answer.num_known, answer.num_disagreeing) == (NUM_STEPS, 0, 0)
    assert answer.num_estimated > 0
    assert set(answer.recorded.difficult_size) == {None}


def test_more_draws_are_taken_when_asked_for(admin: Client, bapo_run: str) -> None:
    few, many = (admin.what_if(bapo_run, WhatIfRequest(set={"method.m": 1}, draws=draws)) for draws in (3, 30))
    assert (few.num_draws, many.num_draws) == (3, 30)
    assert few.forecast.x1 == many.forecast.x1


def test_columns_are_sampled_and_totals_are_not(admin: Client, bapo_run: str) -> None:
    request = WhatIfRequest(set={"method.m": 1})
    whole, thin = (admin.what_if(bapo_run, request.model_copy(update={"max_points": each})) for each in (None, 8))
    assert len(whole.steps) == NUM_STEPS > len(thin.steps)
    assert thin.sampled == f"min-max; {len(thin.steps)} of {NUM_STEPS} steps"
    assert thin.totals == whole.totals
    for place, step in enumerate(thin.steps):
        assert thin.forecast.x2.high[place] == whole.forecast.x2.high[step - 1]
        assert thin.recorded.x3[place] == whole.recorded.x3[step - 1]


def test_a_running_run_is_replayed_as_far_as_it_has_come(
    admin: Client, recorded_folders: Mapping[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "partial"
    shutil.copytree(recorded_folders["bapo-seed-2"], folder)
    journal = folder / "attempt-1" / RECORDS_FILE
    lines = journal.read_bytes().splitlines(keepends=True)
    info = admin.create_import(describe_folder(folder, name=None, group=None))
    seen = []
    for share in (0, 3, 2, 1):
        journal.write_bytes(b"".join(lines[: len(lines) // share if share else 1]))
        send_folder(admin, info, folder)
        answer = admin.what_if(info.run_id, WhatIfRequest(set={"method.m": 2}))
        assert answer == what_if(read_recording(folder), {"method.m": 2})
        assert answer.num_disagreeing == 0
        seen.append(answer.num_steps)
    assert seen[0] == 0
    assert seen == sorted(set(seen))
    assert seen[-1] == NUM_STEPS


@pytest.mark.parametrize(
    ("changes", "field", "remedy"),
    [
        ({"method.c1": 2}, "method.c1", "less than 1"),
        ({"method.c2": [0.9, 0.9]}, "method.c2", "above c3"),
        ({"rollout.batch_size": 4}, "rollout.batch_size", "others cannot be added"),
        ({"method.nothing": 4}, "method.nothing", "no such field"),
    ],
)
def test_what_cannot_be_replayed_answers_422(
    admin: Client, bapo_run: str, changes: dict[str, Any], field: str, remedy: str
) -> None:
    with pytest.raises(ApiError) as raised:
        admin.what_if(bapo_run, WhatIfRequest(set=changes))
    assert (raised.value.status, raised.value.body.code, raised.value.body.field) == (422, "invalid_config", field)
    assert remedy in raised.value.body.remedy


def test_an_unknown_run_answers_404(admin: Client) -> None:
    with refuses(404):
        admin.what_if("nothing", WhatIfRequest())


def test_nothing_is_stored(admin: Client, bapo_run: str) -> None:
    before = admin.run(bapo_run)
    admin.what_if(bapo_run, WhatIfRequest(set={"method.c1": "1/2"}))
    after = admin.run(bapo_run)
    assert RunConfig.model_validate(after.config) == RunConfig.model_validate(before.config)
    assert after.explicit == before.explicit
