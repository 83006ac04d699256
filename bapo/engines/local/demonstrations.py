"""Demonstrations: worked solutions of training problems as tokens, after the verifier has accepted them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from transformers import PreTrainedTokenizerBase

from bapo.config import ConfigError, ConfigProblem, RunConfig
from bapo.engines.base import DemonstrationCounts
from bapo.engines.local.supervised import Example
from bapo.tasks import Problem, Task, solution_of
from bapo.tasks.base import has_images


class Trace(NamedTuple):
    """A problem with a right response, as tokens with the end token."""

    problem: Problem
    response: Sequence[int]


class TraceMaker:
    """Makes traces of a task, and counts the responses that are none."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, task: Task, max_response_tokens: int) -> None:
        self._tokenizer = tokenizer
        self._task = task
        self._max_response_tokens = max_response_tokens
        self.num_wrong = self.num_too_long = 0

    def of_solutions(self, problems: Sequence[Problem], wanted: int) -> list[Trace]:
        """Return the worked solutions that the verifier accepts, until there are as many as are wanted."""
        traces: list[Trace] = []
        for problem in problems:
            if len(traces) < wanted and problem.solution is not None:
                traces += self.accepted(problem, [problem.solution])
        return traces

    def accepted(self, problem: Problem, responses: Sequence[str]) -> list[Trace]:
        """Return the right responses that are not too long, each once."""
        right = [text for text in dict.fromkeys(responses) if self._task.reward(problem, text)]
        self.num_wrong += sum(text not in right for text in responses)
        traces = [Trace(problem, encode_response(self._tokenizer, text)) for text in right]
        fitting = [trace for trace in traces if len(trace.response) <= self._max_response_tokens]
        self.num_too_long += len(traces) - len(fitting)
        return fitting


class Demonstrations(NamedTuple):
    """The worked solutions that a method may learn from, by prompt."""

    examples: Mapping[str, Example]
    counts: DemonstrationCounts | None
    """Numbers of usable and unusable worked solutions; None where the method needs none."""


def demonstrations(
    config: RunConfig, task: Task, tokenizer: PreTrainedTokenizerBase, prompts: Mapping[str, Sequence[int]]
) -> Demonstrations:
    """Return the worked solutions that the method may learn from, of the data or found by the verifier's solver.

    Those that the verifier rejects, and those longer than `rollout.max_response_tokens`, are left out and counted.
    Raises ConfigError where the task has none or has images, or where more than half of them are left out.
    """
    if not config.method.needs_demonstrations:
        return Demonstrations({}, None)
    if has_images(task):
        remedy = "it reads worked solutions as text alone, and the problems have images: take another method"
        raise ConfigError([ConfigProblem("method.type", config.method.type_name(), remedy)])
    known = [replace(each, solution=solution_of(each, config.task.verifier)) for each in task.train]
    given = [problem for problem in known if problem.solution is not None]
    if not given:
        remedy = (
            "it learns from worked solutions, and the task has none: name their column (task.solution_column), take a "
            "task that knows them, such as countdown, gsm_symbolic or chain_sum, or another method"
        )
        raise ConfigError([ConfigProblem("method.type", config.method.type_name(), remedy)])
    maker = TraceMaker(tokenizer, task, config.rollout.max_response_tokens)
    traces = maker.of_solutions(given, len(given))
    counts = DemonstrationCounts(len(traces), len(known) - len(given), maker.num_wrong, maker.num_too_long)
    if 2 * len(traces) < len(given):
        raise _mostly_unusable(config, counts, given, traces)
    examples = {each.problem.prompt_id: Example(prompts[each.problem.prompt_id], each.response) for each in traces}
    return Demonstrations(examples, counts)


def _mostly_unusable(
    config: RunConfig, counts: DemonstrationCounts, given: Sequence[Problem], traces: Sequence[Trace]
) -> ConfigError:
    """Return an error that names the first worked solution that is left out."""
    usable = {trace.problem.prompt_id for trace in traces}
    first = next(problem for problem in given if problem.prompt_id not in usable)
    remedy = (
        f"most worked solutions cannot be learned from ({counts}); the first is {first.solution!r:.200} to the prompt "
        f"{first.prompt!r:.200}: correct task.solution_column or task.answer_format, allow more "
        "rollout.max_response_tokens, or take another method"
    )
    source = getattr(config.task, "train_file", None) or config.task.type_name()
    return ConfigError([ConfigProblem("task", source, remedy)])


def encode_response(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    """Return the token ids of a response that ends by itself."""
    assert tokenizer.eos_token_id is not None, "checked when the model was loaded"
    return [*tokenizer(text, add_special_tokens=False)["input_ids"], int(tokenizer.eos_token_id)]
