"""Evaluation on held-out problems and difficulty tracking, both with the current policy and apart from training."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from bapo.config import RunConfig
from bapo.draws import generator
from bapo.engines.base import Engine, Policy
from bapo.evaluation import avg_at_k, figures
from bapo.records import EvaluationRecord, TrackingRecord
from bapo.rollout import problems_digest
from bapo.tasks.base import Problem, Task


class EvaluationRuns:
    """Knows what is due after how many steps, and does it."""

    def __init__(self, config: RunConfig, task: Task, engine: Engine, attempt: int) -> None:
        self._config = config
        self._task = task
        self._engine = engine
        self._attempt = attempt
        self._tracked = tracked_problems(config, task)

    def due(self, completed: int, *, is_last: bool) -> Iterator[EvaluationRecord | TrackingRecord]:
        """Yield the records due after `completed` steps; at step 0, before training, and at the last all are.

        None in runs of a method that is unmeasured.
        """
        if self._config.method.is_unmeasured:
            return
        tracking, evaluation = self._config.tracking, self._config.evaluation
        if self._tracked and (is_last or completed % tracking.interval == 0):
            # The base model is sampled twice: against itself it gives the null of every later unlock rate.
            for replicate in range(2 if completed == 0 else 1):
                yield self._track(completed, replicate)
        if evaluation.enabled and (is_last or completed % evaluation.interval == 0):
            for dataset, problems in self._task.evaluation_sets.items():
                yield self._evaluate(completed, dataset, problems)

    def _track(self, completed: int, replicate: int) -> TrackingRecord:
        begin = time.perf_counter()
        group_size = self._config.rollout.group_size
        generation = self._engine.generate(
            self._tracked,
            group_size=group_size,
            policy=Policy.CURRENT,
            step=completed + 1,
            purpose=f"tracking:{replicate}",
        )
        return TrackingRecord(
            attempt=self._attempt,
            step=completed,
            replicate=replicate,
            group_size=group_size,
            prompt_ids=[group.prompt_id for group in generation.groups],
            num_correct=[group.num_correct for group in generation.groups],
            timing={"tracking": time.perf_counter() - begin, "unix_time": time.time()},
        )

    def _evaluate(self, completed: int, dataset: str, problems: Sequence[Problem]) -> EvaluationRecord:
        begin = time.perf_counter()
        num_samples = self._config.evaluation.num_samples
        generation = self._engine.generate(
            problems,
            group_size=num_samples,
            policy=Policy.CURRENT,
            step=completed + 1,
            purpose=f"evaluation:{dataset}",
        )
        num_correct = [group.num_correct for group in generation.groups]
        measured = figures(num_correct, num_samples)
        return EvaluationRecord(
            attempt=self._attempt,
            step=completed,
            dataset=dataset,
            num_samples=num_samples,
            num_correct=num_correct,
            prompt_ids=[problem.prompt_id for problem in problems],
            problems=problems_digest(
                [problem.prompt_id for problem in problems],
                {problem.prompt_id: problem.answer for problem in problems},
            ),
            avg_at_k=measured.avg_at_k,
            greedy=avg_at_k(self._engine.greedy(problems), 1),
            pass_at=measured.pass_at,
            timing={"evaluation": time.perf_counter() - begin, "unix_time": time.time()},
        )


def tracked_problems(config: RunConfig, task: Task) -> list[Problem]:
    """Return the fixed random subset of the training prompts that is followed."""
    count = min(config.tracking.num_prompts, len(task.train))
    return generator(config.training.seed, 0, "tracked prompts").sample(list(task.train), count)
