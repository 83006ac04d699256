"""Verifiers by name and from files."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from bapo.config import ConfigError
from bapo.config.task import CountdownTaskConfig
from bapo.tasks import Problem, build_task
from bapo.tasks.verifiers import load_verifier

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
