"""Verifiers by name and from files."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from bapo.config import ConfigError, plugins
from bapo.config.plugins import BUILT_IN as NAMES
from bapo.config.task import CountdownTaskConfig
from bapo.tasks import Problem, build_task
from bapo.tasks.verifiers import BUILT_IN, load_verifier

PROBLEM = Problem("countdown:1", "countdown", "3 4=7", {"nums": [3, 4], "target": 7})


def own(folder: Path, source: str, name: str = "reward") -> str:
    file = folder / "mine.py"
    file.write_text(source)
    return f"{file}:{name}"


def test_the_built_in_verifier_is_the_default() -> None:
    task = build_task(CountdownTaskConfig(num_train=8, num_test=4))
    assert task.reward(PROBLEM, "3+4") == 1
    assert task.reward(PROBLEM, "3*4") == 0


def test_a_function_of_a_file_decides_the_reward(tmp_path: Path) -> None:
    source = "def reward(problem, response):\n    return int(len(response) == problem.answer['target'])\n"
    reference = own(tmp_path, source)
    task = build_task(CountdownTaskConfig(num_train=8, num_test=4, verifier=reference))
    assert task.reward(PROBLEM, "xxxxxxx") == 1
    assert task.reward(PROBLEM, "3+4") == 0


@pytest.mark.parametrize(("answer", "reward"), [("True", 1), ("1", 1), ("1.0", 1), ("0", 0), ("False", 0)])
def test_what_counts_as_a_reward(tmp_path: Path, answer: str, reward: int) -> None:
    verify = load_verifier(own(tmp_path, f"def reward(problem, response):\n    return {answer}\n"))
    assert verify(PROBLEM, "") == reward
    assert verify.num_failures == 0


@pytest.mark.parametrize("body", ["raise KeyError('boom')", "return 0.5", "return None", "return 'yes'"])
def test_a_failing_verifier_gives_no_reward_and_says_so_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, body: str
) -> None:
    verify = load_verifier(own(tmp_path, f"def reward(problem, response):\n    {body}\n"))
    with caplog.at_level(logging.WARNING):
        assert [verify(PROBLEM, text) for text in ("a", "b")] == [0, 0]
    assert verify.num_failures == 2
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    ("source", "name", "remedy"),
    [
        ("def reward(problem, response): return 1", "other", "has no function other"),
        ("def reward(problem, response) return 1", "reward", "the file cannot be loaded (SyntaxError"),
        ("import no_such_module", "reward", "the file cannot be loaded (ModuleNotFoundError"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, source: str, name: str, remedy: str) -> None:
    reference = own(tmp_path, source, name)
    with pytest.raises(ConfigError) as caught:
        load_verifier(reference)
    (problem,) = caught.value.problems
    assert (problem.field, problem.value) == ("task.verifier", reference)
    assert remedy in problem.remedy


@pytest.mark.parametrize("reference", ["exactly", "mine.py", "/nowhere/mine.py:reward", "os:system"])
def test_what_names_no_verifier_is_refused(reference: str) -> None:
    with pytest.raises(ConfigError):
        load_verifier(reference)


@pytest.fixture
def offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package that offers verifiers."""
    (tmp_path / "chemistry_rewards.py").write_text(
        "def reward(problem, response):\n    return int(response == problem.answer['text'])\n\n\nnumber = 3\n"
    )
    info = tmp_path / "chemistry-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: chemistry\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[bapo.verifiers]\nchemistry = chemistry_rewards:reward\nbroken = no_such_module:f\nnumber = "
        "chemistry_rewards:number\nmath = chemistry_rewards:reward\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins.offered.cache_clear()
    yield
    plugins.offered.cache_clear()


@pytest.mark.usefixtures("offered")
def test_an_installed_package_offers_a_verifier_by_name() -> None:
    verify = load_verifier("chemistry")
    problem = Problem("c:1", "c", "Water?", {"text": "H2O"})
    assert [verify(problem, text) for text in ("H2O", "CO2")] == [1, 0]
    # What comes with BAPO keeps its name.
    assert load_verifier("math")(problem, "H2O") == 0


@pytest.mark.usefixtures("offered")
@pytest.mark.parametrize(("name", "remedy"), [("broken", "chemistry 1.0 .*imported"), ("number", "it is no function")])
def test_a_verifier_that_a_package_cannot_give_is_refused(name: str, remedy: str) -> None:
    with pytest.raises(ConfigError, match=remedy):
        load_verifier(name)


def test_every_built_in_name_has_its_function() -> None:
    assert tuple(sorted(BUILT_IN)) == tuple(sorted(NAMES))
