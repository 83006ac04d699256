"""Which files a lane depends on, and the record of its green runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.lanes import GREEN_RUNS, digest_of, files_of, green_runs, is_input, last_green, record
from tests.support.repository import commit, git, new_repository

FILES = {
    "product/a.py": "a = 1\n",
    "product/rest/b.py": "b = 1\n",
    "settings.toml": "[tool.one]\nvalue = 1\n[tool.two]\nvalue = 1\n",
    "tests/a.py": "",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "checkout", FILES)


def digest(checkout: Path, *patterns: str) -> str:
    files_of.cache_clear()
    return digest_of(patterns, checkout)


@pytest.mark.parametrize(
    ("path", "patterns", "expected"),
    [
        ("a/b.py", ("a",), True),
        ("ab/b.py", ("a",), False),
        ("a/b.py", ("a/b.py",), True),
        ("a/b.py", ("a/*.py",), True),
        ("a/b/c.py", ("a/*.py",), False),
        ("a/b/c.py", ("a", "!a/b"), False),
        ("a/b/c.py", ("a", "!a/b", "a/b/c.py"), True),
        ("a/b/c.py", ("!a/b", "a"), True),
    ],
)
def test_patterns_include_and_exclude_in_their_order(path: str, patterns: tuple[str, ...], expected: bool) -> None:
    assert is_input(path, patterns) is expected


def test_the_digest_depends_on_the_names_and_contents_of_the_inputs(checkout: Path) -> None:
    before = digest(checkout, "product", "!product/rest")
    (checkout / "product/rest/b.py").write_text("b = 2\n")
    (checkout / "tests/a.py").write_text("a = 2\n")
    assert digest(checkout, "product", "!product/rest") == before
    (checkout / "product/a.py").rename(checkout / "product/c.py")
    assert digest(checkout, "product", "!product/rest") != before


def test_a_file_that_is_not_committed_counts_and_an_ignored_one_does_not(checkout: Path) -> None:
    before = digest(checkout, "product")
    (checkout / ".gitignore").write_text("*.log\n")
    (checkout / "product/a.log").write_text("a\n")
    assert digest(checkout, "product") == before
    (checkout / "product/new.py").write_text("")
    assert digest(checkout, "product") != before


def test_one_table_of_a_file_may_be_an_input(checkout: Path) -> None:
    before = digest(checkout, "settings.toml#tool.one")
    (checkout / "settings.toml").write_text(FILES["settings.toml"].replace("[tool.two]\nvalue = 1", "[tool.two]"))
    assert digest(checkout, "settings.toml#tool.one") == before
    (checkout / "settings.toml").write_text(FILES["settings.toml"].replace("value = 1", "value = 2", 1))
    assert digest(checkout, "settings.toml#tool.one") != before


def test_a_green_run_holds_in_a_fresh_clone_and_for_no_other_inputs(checkout: Path, tmp_path: Path) -> None:
    run = record("verl", digest(checkout, "product"), passed=3, skipped=0, root=checkout)
    assert run.commit == git(checkout, "rev-parse", "--short=10", "HEAD")
    commit(checkout)
    clone = tmp_path / "clone"
    git(checkout, "clone", "--quiet", ".", str(clone))
    assert last_green("verl", digest(clone, "product"), clone) == run
    assert last_green("trl", digest(clone, "product"), clone) is None
    (clone / "product/a.py").write_text("a = 2\n")
    assert last_green("verl", digest(clone, "product"), clone) is None


def test_a_run_on_changes_that_are_not_committed_says_so(checkout: Path) -> None:
    (checkout / "product/a.py").write_text("a = 2\n")
    assert record("verl", digest(checkout, "product"), passed=3, skipped=0, root=checkout).commit.endswith("+")


def test_two_people_who_record_at_once_keep_both_runs(checkout: Path, tmp_path: Path) -> None:
    (checkout / ".gitattributes").write_text(f"{GREEN_RUNS} merge=union\n")
    commit(checkout)
    clone = tmp_path / "clone"
    git(checkout, "clone", "--quiet", ".", str(clone))
    for folder, value in ((checkout, 2), (clone, 3)):
        (folder / f"product/{value}.py").write_text(f"a = {value}\n")
        record("verl", digest(folder, "product"), passed=3, skipped=0, root=folder)
        commit(folder)
    digests = {run.digest for folder in (checkout, clone) for run in green_runs(folder)}
    git(clone, "pull", "--quiet", "--no-rebase", "--no-edit")
    assert {run.digest for run in green_runs(clone)} == digests
    # What was merged ran on neither side.
    assert last_green("verl", digest(clone, "product"), clone) is None


def test_the_oldest_runs_of_a_lane_are_forgotten(checkout: Path) -> None:
    for number in range(6):
        record("verl", f"digest-{number}", passed=1, skipped=0, root=checkout)
    record("trl", "digest-0", passed=1, skipped=0, root=checkout)
    assert [run.digest for run in green_runs(checkout) if run.lane == "verl"] == [f"digest-{n}" for n in (2, 3, 4, 5)]
    assert last_green("trl", "digest-0", checkout) is not None
