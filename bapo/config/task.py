"""The `task` section: one class per source of problems, selected by `type`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from bapo.config import patterns
from bapo.config.errors import broken_rule
from bapo.config.prompt_weights import LEFT_OUT, MOST_ENTRIES, USUAL, weights_of
from bapo.config.registry import Registry
from bapo.config.section import DataFile, NamesPath, PlainText, TypedSection
from bapo.config.verifiers import checked_reference

VerifierReference = Annotated[
    str,
    Field(
        min_length=1,
        max_length=4_000,
        description="`countdown`; `math` (answers in \\boxed{…}); `exact`; `reasoning_gym`; one that an installed "
        "package offers; or `FILE.py:FUNCTION`: your own `reward(problem, response)`, 1 for a good response and 0 for "
        "any other, where `problem` has the problem's `prompt` and `answer`.",
    ),
    AfterValidator(checked_reference),
    NamesPath("verifier"),
]
ColumnName = Annotated[PlainText, Field(min_length=1, max_length=200)]
Seed = Annotated[
    int,
    Field(
        ge=0,
        le=2**32 - 1,
        description="Seed of the problems that are generated or drawn; separate from `training.seed`, so that runs of "
        "several seeds share their data.",
    ),
]


def _readable(texts: tuple[str, ...]) -> tuple[str, ...]:
    weights_of(texts)
    return texts


class TaskSection(TypedSection):
    """Base of every task's config class: where its problems come from, and what verifies responses to them."""

    verifier: VerifierReference
    exclude_prompts: Annotated[tuple[PlainText, ...], Field(max_length=20_000)] = ()
    """Training problems to leave out, by the identities that findings list; those that the task does not have are
    ignored."""
    prompt_weights: Annotated[tuple[PlainText, ...], Field(max_length=MOST_ENTRIES), AfterValidator(_readable)] = ()
    """Sampling weights of training problems, as `ID=WEIGHT`: with 2, a problem is sampled twice as often as unlisted
    ones, which weigh 1; 0 leaves it out, as `exclude_prompts` does. Up to 1,000, in thousandths."""
    prompt_list: Annotated[PlainText, Field(pattern=patterns.PROMPT_LIST)] | None = None
    """Prompt list of the server's project, as `@name` or `@name:version`. When the run is submitted, its entries are
    added to `prompt_weights`. Without a server, use `bapo train --prompt-list FILE`."""

    @property
    def excluded(self) -> frozenset[str]:
        """Identities of all training problems that are left out."""
        weights = weights_of(self.prompt_weights)
        return frozenset(self.exclude_prompts) | {each for each, weight in weights.items() if weight == LEFT_OUT}

    @property
    def weights(self) -> Mapping[str, float]:
        """Identity → weight of the problems that are trained on and do not weigh 1."""
        weights = weights_of(self.prompt_weights)
        return {each: weight for each, weight in weights.items() if weight not in (LEFT_OUT, USUAL)}

    @staticmethod
    def canonical_form(_: Mapping[str, Any]) -> str | None:
        """Return the problem in canonical form, from its answer; None for an answer that does not determine it."""
        return None


class CountdownTaskConfig(TaskSection):
    """Countdown: reach a target with each of the given numbers exactly once (arXiv:2602.20722, planning)."""

    type: Literal["countdown"] = "countdown"
    train_file: DataFile | None = None
    """Parquet or JSONL file of training problems. Countdown: columns `nums` and `target`; empty: generated."""
    test_file: DataFile | None = None
    """File of held-out problems, same columns. Empty: held out from the train file or generated."""
    num_train: Annotated[int, Field(ge=1, le=10_000_000)] = 2048
    """Training problems generated, or used from the file."""
    num_test: Annotated[int, Field(ge=1, le=100_000)] = 200
    """Problems in each held-out set, CD-34 and CD-4."""
    held_out: Literal["test", "validation"] = "test"
    """Held-out problems to evaluate on: the test sets, or `validation` problems of the same kinds, so that settings are
    not chosen by the test sets."""
    min_number: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Smallest number of a generated problem."""
    max_number: Annotated[int, Field(ge=1, le=10_000)] = 12
    """Largest number of a generated problem."""
    max_target: Annotated[int, Field(ge=1, le=1_000_000)] = 40
    """Largest target of a generated problem; targets start at 1."""
    num_operands: tuple[Annotated[int, Field(ge=2, le=8)], ...] = (3, 4)
    """Numbers per generated training problem; each of these counts is equally likely."""
    prompt_template: Annotated[str, Field(min_length=1, max_length=10_000)] = "{nums}={target}"
    """User message with `{nums}` (numbers, space separated) and `{target}`. The default suits the shipped model."""
    verifier: VerifierReference = "countdown"
    seed: Seed = 0

    @model_validator(mode="after")
    def _template_has_both(self) -> Self:
        for placeholder in ("{nums}", "{target}"):
            if placeholder not in self.prompt_template:
                raise broken_rule(
                    "task.prompt_template", f"the template {self.prompt_template!r} lacks {placeholder}: add it"
                )
        if self.min_number > self.max_number:
            raise broken_rule(
                "task.min_number", f"{self.min_number} is above task.max_number = {self.max_number}: lower it"
            )
        return self

    @staticmethod
    def canonical_form(answer: Mapping[str, Any]) -> str | None:
        """Return the problem with its numbers sorted: their order does not matter."""
        nums, target = answer.get("nums"), answer.get("target")
        if not isinstance(nums, list) or type(target) is not int or any(type(number) is not int for number in nums):
            return None
        return f"{' '.join(map(str, sorted(nums)))}={target}"


class FileTaskConfig(TaskSection):
    """Problems of files with a prompt and an answer in each row: mathematics, geometry, or your own."""

    type: Literal["file"] = "file"
    train_file: DataFile | None = None
    """Parquet or JSONL file of training problems, with the columns that `prompt_column` and `answer_column` name."""
    test_files: tuple[DataFile, ...] = ()
    """Files of held-out problems, same columns; each is a set by the file's name without its ending."""
    max_train_problems: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    """Maximum number of training problems used, drawn by `task.seed`. Empty: all."""
    max_test_problems: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Maximum number of problems used of each held-out file, drawn by `task.seed`. Empty: all."""
    prompt_column: ColumnName = "prompt"
    """Column of the prompts: texts, with `<image>` in place of each image."""
    answer_column: ColumnName = "answer"
    """Column of the correct answers: texts, numbers, or structures that the verifier understands."""
    image_column: ColumnName = "images"
    """Column of the images, if the file has one: lists of {bytes, path}, as in Hugging Face datasets. Paths are
    relative to the file's folder."""
    instruction: Annotated[str, Field(max_length=10_000)] = ""
    """Text after each prompt in the user message, separated by an empty line; such as the required answer format."""
    verifier: VerifierReference = "math"
    seed: Seed = 0

    @model_validator(mode="after")
    def _names_its_files(self) -> Self:
        if self.train_file is None:
            raise broken_rule(
                "task.train_file", "a task from files needs one: give the path of a parquet or JSONL file"
            )
        names = [PurePath(path).stem for path in self.test_files]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise broken_rule("task.test_files", f"two files are named {twice!r}, and a set is known by it: rename one")
        return self


class ReasoningGymTaskConfig(TaskSection):
    """Procedural tasks of the package reasoning-gym, generated and verified by it."""

    type: Literal["reasoning_gym"] = "reasoning_gym"
    datasets: tuple[Annotated[PlainText, Field(min_length=1, max_length=200)], ...] = ("chain_sum",)
    """Names of reasoning-gym's tasks, such as chain_sum or letter_counting; each also makes a held-out set."""
    num_per_dataset: Annotated[int, Field(ge=1, le=1_000_000)] = 1024
    """Training problems of each task."""
    num_test_per_dataset: Annotated[int, Field(ge=1, le=100_000)] = 100
    """Held-out problems of each task."""
    instruction: Annotated[str, Field(max_length=10_000)] = "Give the final answer within <answer> </answer>."
    verifier: VerifierReference = "reasoning_gym"
    seed: Seed = 0

    @model_validator(mode="after")
    def _names_tasks_once(self) -> Self:
        if not self.datasets:
            raise broken_rule("task.datasets", "no task is named: give at least one, such as chain_sum")
        if len(set(self.datasets)) < len(self.datasets):
            raise broken_rule("task.datasets", "a task is named twice: name each once")
        return self


TASKS: Registry[TaskSection] = Registry(
    "task",
    "bapo.tasks",
    TaskSection,
    default=CountdownTaskConfig.type_name(),
    shipped=(CountdownTaskConfig, FileTaskConfig, ReasoningGymTaskConfig),
)
"""Every type of tasks that a config can name."""


def canonical_form(answer: Mapping[str, Any]) -> str | None:
    """Return the canonical form of an answer's problem; None if no task defines one."""
    forms = ((name, section.canonical_form(answer)) for name, section in TASKS.classes.items())
    return next((f"{name}: {form}" for name, form in forms if form is not None), None)
