"""reasoning-gym's tasks: against a stand-in with its documented functions, for one of its packages is built by a C
compiler; and, where the extra is installed, against itself."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from bapo.analysis.rollout_estimate import data_sizes
from bapo.config import ConfigError, resolve
from bapo.config.task import ReasoningGymTaskConfig
from bapo.tasks import Problem, build_task
from bapo.tasks.reasoning_gym import _judge, worked_solution
from bapo.tasks.verifiers import load_verifier

STAND_IN = """
class Sums:
    def __init__(self, size, seed, most=1000):
        assert most > 0, "most must be positive"
        self.size, self.seed, self.most = size, seed, most

    def __getitem__(self, index):
        a, b = (self.seed + index) % self.most, index % 5
        metadata = {"source_index": index, "expression": f"{a} + {b}"}
        return {"question": f"{a} + {b}?", "answer": str(a + b), "metadata": metadata}

    def score_answer(self, answer, entry):
        if answer == "boom":
            raise RuntimeError("boom")
        return 1.0 if answer == entry["answer"] else 0.01


def create_dataset(name, size=500, seed=None, **settings):
    if name not in ("sums", "more_sums"):
        raise ValueError(f"Dataset '{name}' not registered")
    return Sums(size, seed, **settings)
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
    _judge.cache_clear()
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
def test_tasks_are_mixed_by_weight_and_share_no_question_with_what_is_held_out() -> None:
    section = ReasoningGymTaskConfig(
        datasets=("sums", "more_sums"), dataset_weights=("more_sums=0.5",), num_per_dataset=40, num_test_per_dataset=10
    )
    task = build_task(section)
    questions = {problem.prompt for held_out in task.evaluation_sets.values() for problem in held_out}
    # Both tasks ask the same: what one holds out, the other does not train on.
    assert not questions & {problem.prompt for problem in task.train}
    num_each = Counter(problem.data_source for problem in task.train)
    assert num_each["reasoning_gym/sums"] <= 40
    assert num_each["reasoning_gym/more_sums"] <= 20
    assert (section.num_train("sums"), section.num_train("more_sums")) == (40, 20)
    assert data_sizes(section.model_dump(mode="json"), {}) == (60, 20)


@pytest.mark.usefixtures("installed")
def test_settings_of_a_task_reach_the_package_and_its_verifier() -> None:
    section = ReasoningGymTaskConfig(
        datasets=("sums",), dataset_settings=("sums.most=7",), num_per_dataset=20, num_test_per_dataset=5
    )
    task = build_task(section)
    assert {int(problem.prompt.partition(" ")[0]) for problem in task.train} <= set(range(7))
    for problem in task.train:
        first, second = problem.prompt.partition("?")[0].split(" + ")
        assert task.reward(problem, f"<answer>{int(first) + int(second)}</answer>") == 1


@pytest.mark.usefixtures("installed")
def test_answers_are_compared_as_numbers_in_the_chosen_format() -> None:
    section = ReasoningGymTaskConfig(datasets=("sums",), num_per_dataset=20, verifier="math", answer_format="line")
    problem, task = build_task(section).train[0], build_task(section)
    right = int(str(problem.answer["text"]))
    assert problem.prompt.endswith('End with "Answer:" and the result, as in "Answer: 42".')
    assert task.reward(problem, f"Let us see.\nAnswer: {right:,}.0") == 1
    assert task.reward(problem, f"<answer>{right}</answer>") == 0
    # The problem knows its steps: `995 + 3 = 998`.
    question = problem.prompt.partition("?")[0]
    assert problem.solution == f"{question} = {right}\nAnswer: {right}"
    assert task.reward(problem, problem.solution) == 1


@pytest.mark.parametrize(
    ("section", "field", "remedy"),
    [
        ({"dataset_weights": ("chain_sums=2",)}, "task.dataset_weights", "is of no task in task.datasets (chain_sum)"),
        ({"dataset_weights": ("chain_sum=0",)}, "task.dataset_weights", "gives no weight: write TASK=WEIGHT"),
        ({"dataset_weights": ("chain_sum",)}, "task.dataset_weights", "gives no weight"),
        ({"dataset_settings": ("chain_sum.max_terms",)}, "task.dataset_settings", "write TASK.FIELD=VALUE"),
        ({"dataset_settings": ("chain_sum.size=3",)}, "task.dataset_settings", "size and seed have fields"),
        ({"dataset_settings": ("sums.most=3",)}, "task.dataset_settings", "is of no task"),
        ({"verifier": "a.py:f", "answer_format": "line"}, "task.answer_format", "reads the whole response"),
    ],
)
def test_a_mixture_that_cannot_be_read_is_refused(section: dict[str, object], field: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve({"task": {"type": "reasoning_gym", **section}})
    (problem,) = caught.value.problems
    assert problem.field == field
    assert remedy in problem.remedy


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("setting", "reason"), [("sums.most=-1", "most must be positive"), ("sums.least=1", "unexpected keyword argument")]
)
def test_settings_that_the_package_refuses_are_named(setting: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_task(ReasoningGymTaskConfig(datasets=("sums",), dataset_settings=(setting,)))
    (problem,) = caught.value.problems
    assert problem.field == "task.dataset_settings"
    assert reason in problem.remedy


@pytest.mark.parametrize(
    ("metadata", "steps"),
    [
        ({"answer_cot": "3 * 2 = 6\n#### 6"}, "3 * 2 = 6\n#### 6"),
        ({"expression": "52 - 44 + -3"}, "52 - 44 = 8\n8 + -3 = 5"),
        ({"expression": "2 * 3"}, None),
        ({"expression": "( 2 + 3 )"}, None),
        ({"expression": "7"}, None),
        ({}, None),
    ],
)
def test_steps_are_the_packages_own_or_those_of_a_sum(metadata: dict[str, str], steps: str | None) -> None:
    assert worked_solution({"metadata": metadata}) == steps


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
    assert remedy.startswith("the package reasoning-gym is not installed here: install a C compiler")


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


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(("limit", "reason"), [("0", "give a whole number"), ('"2"', "give a whole number")])
def test_a_limit_of_steps_that_is_no_count_is_refused(limit: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_task(ReasoningGymTaskConfig(datasets=("sums",), dataset_settings=(f"sums.max_solution_steps={limit}",)))
    (problem,) = caught.value.problems
    assert problem.field == "task.dataset_settings"
    assert reason in problem.remedy


def test_problems_with_longer_solutions_are_left_out() -> None:
    pytest.importorskip("reasoning_gym", reason="needs the extra reasoning-gym")

    def built(limit: int) -> list[Problem]:
        section = ReasoningGymTaskConfig(
            datasets=("gsm_symbolic",),
            dataset_settings=(f"gsm_symbolic.max_solution_steps={limit}",),
            num_per_dataset=20,
            num_test_per_dataset=10,
        )
        task = build_task(section)
        assert len(task.evaluation_sets["gsm_symbolic"]) == 10
        for problem in task.train:
            assert task.reward(problem, str(problem.solution)) == 1
        return list(task.train)

    assert {str(problem.solution).count("=") for problem in built(2)} == {2}
    with pytest.raises(ConfigError, match="has a worked solution of so few steps: raise it"):
        built(1)


def test_word_problems_of_the_package_come_with_solutions_that_the_verifier_accepts() -> None:
    pytest.importorskip("reasoning_gym", reason="needs the extra reasoning-gym")
    section = ReasoningGymTaskConfig(
        datasets=("gsm_symbolic", "chain_sum"),
        dataset_settings=("chain_sum.max_terms=3", "chain_sum.max_digits=2"),
        num_per_dataset=60,
        num_test_per_dataset=20,
        verifier="math",
        answer_format="hashes",
    )
    task = build_task(section)
    assert {problem.data_source for problem in task.train} == {"reasoning_gym/gsm_symbolic", "reasoning_gym/chain_sum"}
    assert all(problem.solution and task.reward(problem, problem.solution) for problem in task.train)
    sums = [problem for problem in task.train if problem.data_source.endswith("chain_sum")]
    assert max(problem.prompt.partition("=")[0].count(" + ") for problem in sums) <= 2
