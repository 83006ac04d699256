"""The `task` section: one class per source of problems, selected by `type`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from bapo.config import patterns
from bapo.config.errors import broken_rule
from bapo.config.plugins import OF_ANSWERS, checked_reference
from bapo.config.prompt_weights import LEFT_OUT, MOST_ENTRIES, USUAL, weights_of
from bapo.config.registry import Registry
from bapo.config.section import DataFile, NamesPath, PlainText, TypedSection

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
AnswerFormatName = Literal["boxed", "tags", "line", "hashes"]
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


class AnsweredTaskSection(TaskSection):
    """Base of tasks whose responses end with an answer that is compared with the correct one."""

    answer_format: AnswerFormatName | None = None
    """Form of the answer in a response: `boxed` for `\\boxed{42}`, `tags` for `<answer>42</answer>`, `line` for
    `Answer: 42` and `hashes` for `#### 42`, where the last of a response counts. Empty: `boxed` with the verifier
    `math`, else `tags`, where `exact` also takes `boxed`."""
    instruction: Annotated[str, Field(max_length=10_000)] | None = None
    """Text after each prompt in the user message, separated by an empty line. Empty: a sentence that asks for
    `answer_format`."""

    @model_validator(mode="after")
    def _verifier_reads_the_format(self) -> Self:
        if self.answer_format is not None and self.verifier not in OF_ANSWERS:
            raise broken_rule(
                "task.answer_format",
                f"the verifier {self.verifier!r} reads the whole response: leave the format empty, "
                f"or take a verifier of answers ({', '.join(OF_ANSWERS)})",
            )
        return self


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


class FileTaskConfig(AnsweredTaskSection):
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
    """Column of the prompts: texts, or messages with `role` and `content`, with `<image>` in place of each image."""
    answer_column: ColumnName = "answer"
    """Column of the correct answers: texts, numbers, or structures that the verifier understands."""
    image_column: ColumnName = "images"
    """Column of the images, if the file has one: lists of {bytes, path}, as in Hugging Face datasets. Paths are
    relative to the file's folder."""
    solution_column: ColumnName = "solution"
    """Column of worked solutions, if the file has one: a warm start, LUFFY and ReLIFT learn from them."""
    instruction: Annotated[str, Field(max_length=10_000)] | None = None
    """Text after each prompt in the last user message, separated by an empty line. Empty: a sentence that asks for
    `answer_format` where that is set, else nothing."""
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


MOST_WEIGHT = 1_000


class ReasoningGymTaskConfig(AnsweredTaskSection):
    """Procedural tasks of the package reasoning-gym, verified by it or by their answers."""

    type: Literal["reasoning_gym"] = "reasoning_gym"
    datasets: tuple[Annotated[PlainText, Field(min_length=1, max_length=200)], ...] = ("chain_sum",)
    """Names of reasoning-gym's tasks, such as gsm_symbolic or chain_sum; each also makes a held-out set."""
    dataset_weights: Annotated[tuple[PlainText, ...], Field(max_length=200)] = ()
    """Shares of the tasks in training, as `TASK=WEIGHT`: with 2, a task has twice `num_per_dataset` training problems,
    with 0.5 half as many. Unlisted ones weigh 1."""
    dataset_settings: Annotated[tuple[PlainText, ...], Field(max_length=1_000)] = ()
    """Difficulty of the tasks, as `TASK.FIELD=VALUE` with a field of reasoning-gym's config of the task, such as
    `chain_sum.max_terms=3` or `chain_sum.max_digits=2`; the value is JSON. `max_solution_steps`, for tasks with worked
    solutions such as gsm_symbolic, leaves out problems whose solution has more equations."""
    num_per_dataset: Annotated[int, Field(ge=1, le=1_000_000)] = 1024
    """Training problems of each task of weight 1."""
    num_test_per_dataset: Annotated[int, Field(ge=1, le=100_000)] = 100
    """Held-out problems of each task."""
    verifier: VerifierReference = "reasoning_gym"
    seed: Seed = 0

    @model_validator(mode="after")
    def _names_tasks_once(self) -> Self:
        if not self.datasets:
            raise broken_rule("task.datasets", "no task is named: give at least one, such as chain_sum")
        if len(set(self.datasets)) < len(self.datasets):
            raise broken_rule("task.datasets", "a task is named twice: name each once")
        return self

    @model_validator(mode="after")
    def _mixture_is_readable(self) -> Self:
        for _ in (*self._weights(), *self._settings()):
            pass
        return self

    def num_train(self, dataset: str) -> int:
        """Return the number of training problems of a task, at least 1."""
        return max(1, round(self.num_per_dataset * dict(self._weights()).get(dataset, 1.0)))

    def settings_of(self, dataset: str) -> dict[str, Any]:
        """Return the values of reasoning-gym's config of a task that differ from its defaults."""
        return {field: value for name, field, value in self._settings() if name == dataset}

    def _weights(self) -> Iterator[tuple[str, float]]:
        for entry in self.dataset_weights:
            name, _, written = entry.partition("=")
            self._require_dataset("task.dataset_weights", entry, name)
            try:
                weight = float(written)
            except ValueError:
                weight = math.nan
            if not 0 < weight <= MOST_WEIGHT:
                raise broken_rule(
                    "task.dataset_weights",
                    f"{entry!r} gives no weight: write TASK=WEIGHT, above 0 and at most "
                    f"{MOST_WEIGHT:,}, such as {name}=2",
                )
            yield name, weight

    def _settings(self) -> Iterator[tuple[str, str, Any]]:
        for entry in self.dataset_settings:
            path, separator, written = entry.partition("=")
            name, _, field = path.partition(".")
            self._require_dataset("task.dataset_settings", entry, name)
            try:
                value = json.loads(written)
            except ValueError:
                separator = ""
            if not separator or not field.isidentifier() or field in ("size", "seed"):
                raise broken_rule(
                    "task.dataset_settings",
                    f"{entry!r} is no setting: write TASK.FIELD=VALUE with a JSON value, such as "
                    "chain_sum.max_terms=3; size and seed have fields of this section",
                )
            yield name, field, value

    def _require_dataset(self, field: str, entry: str, name: str) -> None:
        if name not in self.datasets:
            raise broken_rule(
                field, f"{entry!r} is of no task in task.datasets ({', '.join(self.datasets)}): correct it"
            )


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
