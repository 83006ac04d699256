"""Findings over REST and by the command: the same as from the run folder."""

from __future__ import annotations

import csv
import json
import runpy
import sys
from collections.abc import Mapping
from io import StringIO
from pathlib import Path

import pytest

from backend.readings.findings.cache import FindingsCache
from bapo.analysis.findings.finding import LABELS, FindingsReport
from bapo.analysis.findings.probe import OF_PROBES
from bapo.analysis.findings.search import Search, find
from bapo.analysis.findings.stream import read_stream
from bapo.api.runs import RunCreate
from bapo.client import Client
from tests.support.command_line import run_here
from tests.support.recorded import NUM_STEPS, import_folder
from tests.support.refusals import refuses
from tests.support.services import BackendServer

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def stored_run(admin: Client, recorded_folders: Mapping[str, Path]) -> str:
    return import_folder(admin, recorded_folders["bapo-seed-1"])


def test_a_server_finds_what_the_folder_gives(
    admin: Client, stored_run: str, recorded_folders: Mapping[str, Path]
) -> None:
    report = admin.findings(stored_run)
    assert report == find(read_stream(recorded_folders["bapo-seed-1"])).report
    assert report.step == NUM_STEPS
    # 40 % of the fresh groups of this model's first steps are all wrong.
    assert "no_gradient" in {finding.kind for finding in report.findings}
    assert [check.kind for check in report.checks] == [kind for kind in LABELS if kind not in OF_PROBES]


@pytest.fixture(scope="module")
def watched_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example of a loop of one's own, which tells neither lengths nor what its trainer does."""
    folder = tmp_path_factory.mktemp("watched")
    program = str(ROOT / "examples" / "observe_a_loop.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [program, str(folder)])
        runpy.run_path(program, run_name="__main__")
    return folder


def test_a_loop_of_ones_own_has_findings_on_the_server_and_by_the_command(admin: Client, watched_folder: Path) -> None:
    expected = find(read_stream(watched_folder)).report
    assert admin.findings(import_folder(admin, watched_folder)) == expected
    assert expected.step == 40
    outcomes = {check.kind: check.outcome for check in expected.checks}
    assert outcomes["no_gradient"] == "nothing"
    assert outcomes["reward_follows_length"] == "too_little"
    shown = run_here("findings", watched_folder, env={"COLUMNS": "160"})
    assert shown.returncode == 0, shown.stderr
    assert "Reward follows length (no response with its length in tokens)" in shown.stdout


def test_prompts_of_what_was_not_found_are_an_empty_list(admin: Client, stored_run: str) -> None:
    listed = admin.finding_prompts(stored_run, "duplicate_prompts")
    assert (listed.kind, listed.items) == ("duplicate_prompts", [])


def test_a_run_that_is_not_there_and_a_kind_that_is_none_are_refused(admin: Client, stored_run: str) -> None:
    with refuses(404):
        admin.findings("nosuchrun1")
    with refuses(422):
        admin.finding_prompts(stored_run, "no_such_kind")


def _search(step: int) -> Search:
    return Search(FindingsReport(step=step, findings=[], checks=[]), {})


def test_findings_are_made_again_when_the_run_has_recorded_more_and_not_before() -> None:
    cache = FindingsCache(least_seconds=0.0)
    assert cache.search("a", 1, lambda: _search(1), is_over=False).report.step == 1
    assert cache.search("a", 1, lambda: _search(2), is_over=False).report.step == 1
    assert cache.search("a", 2, lambda: _search(3), is_over=False).report.step == 3
    cache.forget("a")
    assert cache.search("a", 2, lambda: _search(4), is_over=False).report.step == 4


def test_a_run_that_trains_is_searched_again_after_some_seconds_and_one_that_is_over_at_once() -> None:
    cache = FindingsCache(least_seconds=1_000.0)
    assert cache.search("a", 1, lambda: _search(1), is_over=False).report.step == 1
    assert cache.search("a", 2, lambda: _search(2), is_over=False).report.step == 1
    assert cache.search("a", 2, lambda: _search(2), is_over=True).report.step == 2


def test_the_command_prints_findings_as_text_and_as_json(recorded_folders: Mapping[str, Path]) -> None:
    folder = recorded_folders["bapo-seed-1"]
    shown = run_here("findings", folder, env={"COLUMNS": "160"})
    assert shown.returncode == 0, shown.stderr
    assert "of fresh groups since step 13 have no gradient" in shown.stdout
    assert "--set rollout.group_size=16" in shown.stdout
    assert "Prompts never solved (" in shown.stdout
    report = FindingsReport.model_validate(json.loads(run_here("findings", folder, "--json").stdout))
    assert report == find(read_stream(folder)).report


def test_the_command_prints_prompts_as_csv(recorded_folders: Mapping[str, Path]) -> None:
    done = run_here("findings", recorded_folders["bapo-seed-1"], "--prompts", "never-solved")
    assert done.returncode == 0, done.stderr
    assert next(csv.reader(StringIO(done.stdout)))[:3] == ["prompt_id", "num_visits", "num_rollouts"]
    refused = run_here("findings", recorded_folders["bapo-seed-1"], "--prompts", "unsolved")
    assert refused.returncode == 2
    assert "never-solved" in refused.stderr


def test_a_clone_leaves_out_the_prompts_of_a_list_beside_those_that_the_parent_left_out(
    admin: Client, stored_run: str, backend_server: BackendServer, tmp_path: Path
) -> None:
    parent = admin.run(stored_run)
    known = [item.prompt_id for item in admin.prompts(stored_run, limit=4).items]
    first = admin.clone(parent.id, RunCreate(name="a", changes={"task.exclude_prompts": known[:2]}, start=False))
    listed = tmp_path / "listed.csv"
    listed.write_text(f"prompt_id,num_visits\n{known[1]},2\n{known[3]},2\n", encoding="utf-8")
    env = {"BAPO_SERVER": backend_server.url, "BAPO_TOKEN": backend_server.admin_token}
    done = run_here("clone", first.id, "--without-prompts", listed, "--draft", env=env)
    assert done.returncode == 0, done.stderr
    clone = admin.run(done.stdout.split()[-1])
    assert clone.name == "a without 2 prompts"
    assert clone.config["task"]["exclude_prompts"] == [known[0], known[1], known[3]]
    listed.write_text("nothing\n", encoding="utf-8")
    refused = run_here("clone", first.id, "--without-prompts", listed, env=env)
    assert refused.returncode != 0
    assert "lists no prompts" in refused.stderr
