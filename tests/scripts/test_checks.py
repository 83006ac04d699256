"""The runner of ./test: what runs side by side, what a failure does, and which lanes a change makes due."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from scripts import checks, lanes, scheduler
from scripts.checks import Lane, long_lanes, plan, record_green
from scripts.lanes import GREEN_RUNS, green_runs, is_input
from scripts.scheduler import Check, Scheduler
from tests.support.repository import commit, new_repository


@pytest.fixture(autouse=True)
def _logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "logs").mkdir()
    monkeypatch.setattr(scheduler, "LOGS", tmp_path / "logs")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a product and its documents, in place of this one."""
    folder = new_repository(tmp_path / "checkout", {"product/a.py": "a = 1\n", "docs/a.md": "a\n", "tests/a.py": ""})
    monkeypatch.setattr(lanes, "ROOT", folder)
    monkeypatch.setattr(scheduler, "ROOT", folder)
    return folder


def run(*given: Check, cores: float = 3, memory_gib: float = 16) -> Scheduler:
    made = Scheduler(given, cores, memory_gib)
    while made.step():
        time.sleep(0.01)
    return made


def successes(*given: Check, cores: float = 3, memory_gib: float = 16) -> dict[str, bool]:
    made = run(*given, cores=cores, memory_gib=memory_gib)
    return {title: result.succeeded for title, result in made.results.items()}


def shell(title: str, script: str, *, cores: float = 1.0, memory_gib: float = 2.0, after: str | None = None) -> Check:
    return Check(title, ["sh", "-c", script], cores, memory_gib, after)


def test_the_output_of_a_failed_check_is_shown_and_the_last_line_of_a_good_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert successes(shell("good", "echo a; echo 3 passed in 1s"), shell("bad", "echo why; exit 3")) == {
        "good": True,
        "bad": False,
    }
    said = capsys.readouterr().out.splitlines()
    assert "why" in said
    assert "a" not in said
    assert "bapo: good: good (0 s, 0 s of CPU) 3 passed in 1s" in said


def test_a_check_after_one_that_failed_is_not_run(tmp_path: Path) -> None:
    second = shell("second", f"touch {tmp_path / 'ran'}", after="first")
    assert successes(shell("first", "exit 1"), second) == {"first": False, "second": False}
    assert not (tmp_path / "ran").exists()


def test_checks_run_side_by_side_only_while_there_is_room(tmp_path: Path) -> None:
    # Each fails if it finds another one at work.
    script = f"mkdir {tmp_path / 'alone'} && sleep 0.1 && rmdir {tmp_path / 'alone'}"
    both = {"one": True, "two": True}
    assert successes(*(shell(title, script, cores=2.0) for title in both), cores=3) == both
    assert successes(*(shell(title, script, memory_gib=9.0) for title in both), memory_gib=16) == both


def test_a_check_too_large_for_the_machine_runs_alone() -> None:
    assert successes(shell("large", "true", cores=64.0, memory_gib=512.0)) == {"large": True}


def titles(given: Sequence[Check]) -> set[str]:
    return {check.title for check in given}


def test_only_the_scheduled_run_draws_more() -> None:
    def drawing(*, thorough: bool) -> set[str]:
        every = [check for lane in long_lanes(thorough=thorough) for check in lane.checks]
        every += checks.core(thorough=thorough).checks
        return {check.title for check in every if "--hypothesis-profile thorough" in " ".join(check.command)}

    assert drawing(thorough=False) == set()
    assert drawing(thorough=True) == {"unit tests", "API tests", "e2e and chaos tests"}


@pytest.mark.parametrize("cores", [1, 2, 4, 16])
def test_no_container_starts_while_a_browser_runs(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    every = {check.title: check for lane in [checks.core(), *long_lanes()] for check in lane.checks}
    # The runner has room for one core more than there are.
    assert every["containers"].cores + every["browser tests"].cores > cores + 1


def lanes_with(path: str) -> set[str]:
    """Return the names of the long lanes that a change of this file makes due."""
    return {lane.name for lane in long_lanes() if is_input(path, lane.inputs)}


@pytest.mark.parametrize(
    ("path", "due"),
    [
        ("bapo/engines/verl/engine.py", {"verl"}),
        ("docs/concepts.md", set()),
        ("README.md", set()),
        ("frontend/pages/run/head.py", set()),
        ("tests/backend/test_runs.py", set()),
        ("docker/server.Dockerfile", {"containers"}),
        ("worker/upload.py", {"e2e"}),
        ("bapo/loop.py", {"verl", "trl", "model", "e2e", "api", "packaging"}),
        ("bapo/records/step.py", {"verl", "trl", "model", "e2e", "api", "site"}),
        ("migrations/env.py", {"e2e", "api", "containers"}),
        ("requirements-trl.lock", {"trl", "packaging"}),
        ("bapo/pretrained/wheels.py", {"model", "e2e", "api"}),
        ("scripts/docs_site/hooks.py", {"site"}),
        ("tests/verl/test_run.py", {"verl"}),
    ],
)
def test_a_change_makes_those_lanes_due_that_depend_on_the_file(path: str, due: set[str]) -> None:
    assert lanes_with(path) == due


def test_every_document_is_checked_by_the_core_alone() -> None:
    documents = [str(path.relative_to(lanes.ROOT)) for path in (lanes.ROOT / "docs").rglob("*") if path.is_file()]
    assert len(documents) > 20
    assert {document: lanes_with(document) for document in documents if lanes_with(document)} == {}


def test_every_long_lane_depends_on_its_tests() -> None:
    for lane in long_lanes():
        folders = [argument for check in lane.checks for argument in check.command if argument.startswith("tests/")]
        assert all(is_input(folder, lane.inputs) for folder in folders), lane.name


@pytest.mark.parametrize("lane", long_lanes(), ids=lambda lane: lane.name)
def test_each_pattern_of_a_lane_matches_a_file(lane: Lane) -> None:
    # A file that moved would no longer make the lane due.
    patterns = [pattern.removeprefix("!") for pattern in lane.inputs if "#" not in pattern]
    paths = lanes.files_of(lanes.ROOT)
    assert [pattern for pattern in patterns if not any(is_input(path, [pattern]) for path in paths)] == []


def test_a_lane_that_was_green_on_its_inputs_is_left_out_until_one_changes(checkout: Path) -> None:
    lane = Lane("product", [shell("product tests", "echo 3 passed, 1 skipped in 1s")], inputs=("product",))
    first = plan(None, [lane], changed_only=True)
    assert titles(first.checks) == {"product tests"}
    assert record_green(first, run(*first.checks)) == ["product: ran, 3 passed"]
    commit(checkout)

    second = plan(None, [lane], changed_only=True)
    assert (second.checks, len(second.remarks)) == ([], 1)
    assert second.remarks[0].startswith(f"product: unchanged since {green_runs(checkout)[0].commit} (")
    assert titles(plan(None, [lane], changed_only=False).checks) == {"product tests"}

    (checkout / "docs/a.md").write_text("b\n")
    assert plan(None, [lane], changed_only=True).checks == []
    (checkout / "product/a.py").write_text("a = 2\n")
    assert titles(plan(None, [lane], changed_only=True).checks) == {"product tests"}
    # Back to what was tested.
    (checkout / "product/a.py").write_text("a = 1\n")
    assert plan(None, [lane], changed_only=True).checks == []


@pytest.mark.parametrize(
    ("script", "remark"),
    [
        ("echo 2 passed, 1 failed; exit 1", "product: FAILED"),
        ("echo 4 skipped in 1s", "product: ran no test"),
        ("echo a = 2 > product/a.py; echo 3 passed in 1s", "product: passed, but its inputs changed meanwhile"),
    ],
    ids=["failed", "all skipped", "changed while it ran"],
)
def test_a_lane_that_did_not_pass_on_its_inputs_is_not_recorded(checkout: Path, script: str, remark: str) -> None:
    lane = Lane("product", [shell("product tests", script)], inputs=("product",))
    made = plan(None, [lane], changed_only=True)
    assert record_green(made, run(*made.checks))[0].startswith(remark)
    assert not (checkout / GREEN_RUNS).exists()


def test_a_long_lane_takes_the_place_of_its_part_of_the_core(checkout: Path) -> None:
    core = Lane("core", [shell("quick", "true"), shell("environment", "core"), shell("unit", "true")])
    lane = Lane("long", [shell("environment", "long"), shell("slow", "true")], inputs=("product",), replaces="quick")
    made = plan(core, [lane], changed_only=True)
    assert [(check.title, check.command[-1]) for check in made.checks] == [
        ("unit", "true"),
        ("environment", "long"),
        ("slow", "true"),
    ]


def test_a_lane_that_cannot_run_here_is_named_with_the_reason(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_shell_answer", lambda function: f"no {function}")
    lane = Lane("long", [shell("slow", "true")], inputs=("product",), inhibition="engine")
    made = plan(None, [lane], changed_only=True)
    assert (made.checks, made.remarks) == ([], ["long: NOT RUN although its inputs changed: no engine"])
