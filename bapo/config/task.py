"""The `task` section."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bapo.config.section import PlainText, Section


class CountdownTaskConfig(Section):
    """Countdown: reach a target with each of the given numbers exactly once (arXiv:2602.20722, planning)."""

    type: Literal["countdown"] = "countdown"
    """What the problems are."""
    train_file: PlainText | None = None
    """Parquet or JSONL file with columns `nums` and `target`. Empty: problems are generated."""
    test_file: PlainText | None = None
    """File of held-out problems, same columns. Empty: held out from the train file or generated."""
    num_train: Annotated[int, Field(ge=1, le=10_000_000)] = 2048
    """Training problems generated, or used from the file."""
    num_test: Annotated[int, Field(ge=1, le=100_000)] = 200
    """Problems in each held-out set, CD-34 and CD-4."""
    held_out: Literal["test", "validation"] = "test"
    """Which held-out problems are evaluated: the test sets, or others of the same kinds for choosing settings, so that
    nothing is chosen by the test sets."""
    min_number: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Smallest number of a generated problem."""
    max_number: Annotated[int, Field(ge=1, le=10_000)] = 12
    """Largest number of a generated problem."""
    max_target: Annotated[int, Field(ge=1, le=1_000_000)] = 40
    """Largest target of a generated problem; targets start at 1."""
    num_operands: tuple[Annotated[int, Field(ge=2, le=8)], ...] = (3, 4)
    """How many numbers generated training problems have."""
    prompt_template: Annotated[str, Field(min_length=1, max_length=10_000)] = "{nums}={target}"
    """User message with `{nums}` (numbers, space separated) and `{target}`. The default suits the shipped model."""
    verifier: Annotated[str, Field(min_length=1, max_length=4_000)] = "countdown"
    """`countdown`, or `FILE.py:FUNCTION`: your own `reward(problem, response)`, 1 for a good response and 0 for any
    other, where `problem` has the problem's `prompt` and `answer`."""
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = 0
    """Seed of the problems generated and of the split; apart from `training.seed`, so that seeds share their data."""

    @model_validator(mode="after")
    def _template_has_both(self) -> Self:
        for placeholder in ("{nums}", "{target}"):
            if placeholder not in self.prompt_template:
                raise ValueError(
                    f"task.prompt_template|the template {self.prompt_template!r} lacks {placeholder}: add it"
                )
        if self.min_number > self.max_number:
            raise ValueError(
                f"task.min_number|{self.min_number} is above task.max_number = {self.max_number}: lower it"
            )
        return self


TaskConfig = CountdownTaskConfig
