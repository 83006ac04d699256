"""Commit hooks and CI do what CONTRIBUTING says, and the citation is that of this version and its paper."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.checks import long_lanes

ROOT = Path(__file__).resolve().parents[2]
HOOKS = ".pre-commit-config.yaml"


def content_of(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty repository with the hooks of this one."""
    folder = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    shutil.copy(ROOT / HOOKS, folder)
    subprocess.run(["git", "add", HOOKS], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize(
    ("message", "is_accepted"),
    [
        ("c" * 72, True),
        ("c" * 73, False),
        ("×" * 72, True),  # characters, not bytes
        ("×" * 73, False),
        (f"Short subject\n\n{'A body may be wider. ' * 8}", True),
    ],
    ids=["72", "73", "72 in UTF-8", "73 in UTF-8", "a long body"],
)
def test_a_commit_subject_has_at_most_72_characters(
    repository: Path, tmp_path: Path, message: str, is_accepted: bool
) -> None:
    file = tmp_path / "message"
    file.write_text(message, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--hook-stage=commit-msg", f"--commit-msg-filename={file}"],
        cwd=repository,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PRE_COMMIT_HOME": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "commit subject of at most 72 characters" in done.stdout, done.stderr
    assert (done.returncode == 0) == is_accepted, done.stdout


def test_hooks_use_the_tools_of_the_development_environment() -> None:
    hooks = [hook for source in content_of(HOOKS)["repos"] for hook in source["hooks"]]
    assert all(hook["language"] in ("system", "pygrep") for hook in hooks), "a hook would download something"
    programs = [hook["entry"].split()[0] for hook in hooks if hook["language"] == "system"]
    assert programs
    for program in programs:
        assert program.startswith(".venv/bin/")
        assert (Path(sys.executable).parent / Path(program).name).exists(), program


def test_ci_runs_the_one_command_with_pinned_actions_and_may_only_read() -> None:
    workflow = content_of(".github/workflows/test.yml")
    assert workflow["permissions"] == {"contents": "read"}
    lane = workflow["jobs"]["lane"]
    assert lane["strategy"]["matrix"]["lane"] == ["core", *(each.name for each in long_lanes())]
    steps = lane["steps"]
    assert [step["run"] for step in steps if "run" in step] == ["./test --lane ${{ matrix.lane }} --changed"]
    scheduled = workflow["jobs"]["all"]
    assert "github.event_name == 'schedule'" in scheduled["if"]
    assert [step["run"] for step in scheduled["steps"] if "run" in step] == ["./test --all --thorough"]
    for action in [step["uses"] for step in steps if "uses" in step]:
        assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", action), action
    hashed = " ".join(step["with"]["key"] for step in steps if "key" in step.get("with", {}))
    files = re.findall(r"'([\w./-]+)'", hashed)
    assert {"requirements.lock", "requirements-verl-cpu.lock"} <= set(files)
    assert [name for name in files if not (ROOT / name).exists()] == []


def test_a_release_publishes_only_what_passed_every_lane() -> None:
    jobs = content_of(".github/workflows/release.yml")["jobs"]
    assert "./test --all" in [step.get("run") for step in jobs["test"]["steps"]]
    assert jobs["publish"]["needs"] == "test"
    for action in [step["uses"] for job in jobs.values() for step in job["steps"] if "uses" in step]:
        assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", action), action


def test_ci_tries_each_python_that_the_package_claims() -> None:
    jobs = content_of(".github/workflows/test.yml")["jobs"]
    newer = jobs["python"]["strategy"]["matrix"]["python"]
    (own,) = {
        step["with"]["python-version"]
        for step in jobs["lane"]["steps"]
        if step.get("uses", "").startswith("actions/setup-python")
    }
    claimed = re.search(r"Python (3\.\d+) to (3\.\d+)", (ROOT / "docs/getting-started.md").read_text("utf-8"))
    assert claimed is not None
    assert [own, *newer] == [f"3.{minor}" for minor in range(int(claimed[1][2:]), int(claimed[2][2:]) + 1)]


def test_the_citation_names_this_version_and_the_paper() -> None:
    citation = content_of("CITATION.cff")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation["version"] == project["version"]
    assert citation["license"] == project["license"]
    paper = citation["preferred-citation"]
    assert paper["url"] == "https://arxiv.org/abs/2602.20722"
    assert paper["title"].startswith("Buffer Matters: ")
    assert [author["family-names"] for author in paper["authors"]] == ["Wan", "Wang", "Huang", "Sun"]
