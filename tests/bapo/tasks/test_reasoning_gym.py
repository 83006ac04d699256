"""reasoning-gym's tasks: against a stand-in with its documented functions, for one of its packages is built by a C
compiler; and, where the extra is installed, against itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bapo.config import ConfigError
from bapo.config.task import ReasoningGymTaskConfig
from bapo.tasks import Problem, build_task
from bapo.tasks.reasoning_gym import _judge
from bapo.tasks.verifiers import load_verifier

STAND_IN = """
class Sums:
    def __init__(self, size, seed):
        self.size, self.seed = size, seed

    def __getitem__(self, index):
        a, b = (self.seed + index) % 1000, index % 5
        return {"question": f"{a} + {b}?", "answer": str(a + b), "metadata": {"source_index": index}}

    def score_answer(self, answer, entry):
        if answer == "boom":
            raise RuntimeError("boom")
        return 1.0 if answer == entry["answer"] else 0.01


def create_dataset(name, size=500, seed=None):
    if name != "sums":
        raise ValueError(f"Dataset '{name}' not registered")
    return Sums(size, seed)
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "reasoning_gym.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(str(tmp_path))
    # The process that verifies finds it too.
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    _judge.cache_clear()
    known = sys.modules.pop("reasoning_gym", None)
    yield
    sys.modules.pop("reasoning_gym", None)
    if known is not None:
        sys.modules["reasoning_gym"] = known


def refusal(*datasets: str) -> tuple[str, object, str]:
    with pytest.raises(ConfigError) as caught:
        build_task(ReasoningGymTaskConfig(datasets=datasets))
    (problem,) = caught.value.problems
    return problem.field, problem.value, problem.remedy


@pytest.mark.usefixtures("installed")
def test_problems_are_generated_and_verified_by_the_package() -> None:
    task = build_task(ReasoningGymTaskConfig(datasets=("sums",), num_per_dataset=40, num_test_per_dataset=10))
    held_out = {problem.prompt_id for problem in task.evaluation_sets["sums"]}
    assert held_out
    assert not held_out & {problem.prompt_id for problem in task.train}
    problem = task.train[0]
    question = problem.prompt.partition("?")[0]
    total = sum(int(part) for part in question.split(" + "))
    assert task.reward(problem, f"So <answer>{total}</answer>") == 1
    assert [
        task.reward(problem, text) for text in (f"<answer>{total + 1}</answer>", str(total), "<answer></answer>")
    ] == [
        0,
        0,
        0,
    ]
    assert task.num_reward_failures == 0
    assert task.reward(problem, "<answer>boom</answer>") == 0
    assert task.num_reward_failures == 1


@pytest.mark.usefixtures("installed")
def test_the_same_seed_makes_the_same_problems() -> None:
    first, again = (build_task(ReasoningGymTaskConfig(datasets=("sums",), num_per_dataset=20)) for _ in range(2))
    assert first.train == again.train
    assert first.train != build_task(ReasoningGymTaskConfig(datasets=("sums",), num_per_dataset=20, seed=1)).train


@pytest.mark.usefixtures("installed")
def test_a_task_that_is_not_there_or_would_run_answers_is_refused() -> None:
    assert refusal("nothing")[:2] == ("task.datasets", "nothing")
    field, value, remedy = refusal("countdown")
    assert (field, value) == ("task.datasets", "countdown")
    assert "would run responses as Python code" in remedy


def test_a_missing_package_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "reasoning_gym", None)
    field, value, remedy = refusal("chain_sum")
    assert (field, value) == ("task.type", "reasoning_gym")
    assert 'pip install ".[reasoning-gym]"' in remedy


def test_a_problem_of_elsewhere_fails_and_costs_its_reward() -> None:
    verify = load_verifier("reasoning_gym")
    problem = Problem("r:1", "r", "?", {"dataset": "countdown", "size": 1, "seed": 0, "index": 0})
    assert verify(problem, "<answer>__import__('os')</answer>") == 0
    assert verify.num_failures == 1


@pytest.mark.parametrize("name", ["chain_sum", "letter_counting", "knights_knaves"])
def test_the_package_itself_gives_its_own_answers_the_full_score(name: str) -> None:
    gym = pytest.importorskip("reasoning_gym", reason="needs the extra reasoning-gym")
    task = build_task(ReasoningGymTaskConfig(datasets=(name,), num_per_dataset=5, num_test_per_dataset=5))
    for problem in task.train:
        known = dict(problem.answer)
        entries = gym.create_dataset(known["dataset"], size=known["size"], seed=known["seed"])
        right = entries[known["index"]]["answer"]
        assert task.reward(problem, f"so <answer>{right}</answer>") == 1
        assert task.reward(problem, "<answer>none of these</answer>") == 0
