"""Worked solutions are verified before a method learns from them; what is left out is counted, or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bapo.config import ConfigError, RunConfig, resolve
from bapo.engines.base import DemonstrationCounts
from bapo.tasks import build_task
from tests.support.late_imports import late_imports

with late_imports():
    from bapo.engines.local.demonstrations import Demonstrations, demonstrations
    from bapo.engines.local.policy import load_tokenizer

SOLUTIONS = ("1+2", "2+3", "3+4", "4+5")
"""Of the problems 1 2=3, 2 3=5, 3 4=7 and 4 5=9; three tokens each, and the end token."""


def sums(folder: Path, *solutions: str | None, method: str = "luffy", limit: int = 16, **task: Any) -> RunConfig:
    """A run on sums of two numbers that come with these worked solutions."""
    rows = []
    for first, solution in enumerate(solutions, start=1):
        nums = [first, first + 1]
        row = {"prompt": f"{nums[0]} {nums[1]}={sum(nums)}", "answer": {"nums": nums, "target": sum(nums)}}
        rows.append(row if solution is None else row | {"solution": solution})
    path = folder / "sums.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    section = {"type": "file", "train_file": str(path), "verifier": "countdown", **task}
    rollout = {"max_response_tokens": limit}
    settings = {"model": {"path": "countdown-base"}, "task": section, "rollout": rollout, "method": {"type": method}}
    return resolve(settings).config


def of(config: RunConfig) -> Demonstrations:
    tokenizer, task = load_tokenizer(config.model.path), build_task(config.task)
    prompts = {problem.prompt_id: [place] for place, problem in enumerate(task.train)}
    return demonstrations(config, task, tokenizer, prompts)


def test_solutions_become_examples_with_their_prompts_and_an_end_token(tmp_path: Path) -> None:
    config = sums(tmp_path, *SOLUTIONS)
    found = of(config)
    assert found.counts == DemonstrationCounts(num_usable=4, num_missing=0, num_rejected=0, num_too_long=0)
    tokenizer = load_tokenizer("countdown-base")
    assert [str(tokenizer.decode([*each.response[:-1]])).replace(" ", "") for each in found.examples.values()] == [
        *SOLUTIONS
    ]
    assert {each.response[-1] for each in found.examples.values()} == {tokenizer.eos_token_id}
    assert [each.prompt for each in found.examples.values()] == [[0], [1], [2], [3]]


def test_a_few_unusable_solutions_are_left_out_and_counted(tmp_path: Path) -> None:
    # The third is wrong, the fourth is right and has more than 8 tokens.
    found = of(sums(tmp_path, "1+2", "2+3", "3+5", "(((4+5)))", limit=8))
    assert found.counts == DemonstrationCounts(num_usable=2, num_missing=0, num_rejected=1, num_too_long=1)
    assert len(found.examples) == 2
    assert "the verifier rejects those of 1, and 1 are longer" in str(found.counts)


def test_more_than_half_unusable_solutions_are_refused_with_the_first_of_them(tmp_path: Path) -> None:
    config = sums(tmp_path, "1+2", "2+9", "3+9", "4+9")
    with pytest.raises(ConfigError) as raised:
        of(config)
    (problem,) = raised.value.problems
    assert problem.value == str(tmp_path / "sums.jsonl")
    assert "'2+9' to the prompt '2 3=5'" in problem.remedy
    assert "correct task.solution_column" in problem.remedy


def test_a_solver_finds_the_solutions_that_the_data_lack(tmp_path: Path) -> None:
    found = of(sums(tmp_path, "2+1", None))
    tokenizer = load_tokenizer("countdown-base")
    written = [str(tokenizer.decode([*each.response[:-1]])).replace(" ", "") for each in found.examples.values()]
    assert written == ["2+1", "2+3"]


@pytest.mark.parametrize("method", ["luffy", "relift"])
def test_a_task_without_worked_solutions_is_refused(tmp_path: Path, method: str) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text('{"prompt": "1", "answer": "2"}\n')
    config = sums(tmp_path, None, method=method, train_file=str(path), verifier="exact")
    with pytest.raises(ConfigError, match=rf"method\.type = '{method}': it learns from worked solutions, and the task"):
        of(config)


def test_a_method_that_needs_none_has_none(tmp_path: Path) -> None:
    assert of(sums(tmp_path, "wrong", "wrong", method="grpo")) == Demonstrations({}, None)
