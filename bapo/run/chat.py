"""Chats with a run's models: the base model, the one that its warm start made, and its newest checkpoint."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import psutil
from pydantic import TypeAdapter

from bapo.config import ConfigError, RunConfig
from bapo.run.artifacts import MODEL_FOLDERS
from bapo.run.chat_sides import ChatSide
from bapo.run.checkpoint import checkpoint_step, newest_sound
from bapo.run.run_folder import read_config, write_atomically
from bapo.run.warm_start import kept_warm_model
from bapo.tasks import Problem, Task, build_task

_GIB = 2**30
_NICENESS = 10
"""Trainers of the same machine come first."""


class ChatError(Exception):
    """A model of the run cannot answer; the message is for people."""


class ChatModel(NamedTuple):
    """A model that answers."""

    name: str
    """Name for people: `base`, `warm start`, or `step 150`."""
    path: str
    """Folder of the model, or a name as in `model.path`."""


@dataclass(frozen=True, slots=True)
class Question:
    """A message to the models of a run."""

    prompt: str
    sides: Sequence[ChatSide]
    max_tokens: int
    temperature: float
    seed: int


@dataclass(frozen=True, slots=True)
class SideAnswer:
    """The answer of one model, or its beginning."""

    side: ChatSide
    model: str
    text: str
    num_tokens: int
    is_finished: bool
    is_cut: bool
    """True if the length limit ended it."""
    is_correct: bool | None
    """The verdict of the task's verifier; None until it is finished, and for prompts outside the task."""


@dataclass(frozen=True, slots=True)
class ChatOutcome:
    """The answers of all sides, or why there are none."""

    answers: list[SideAnswer]
    problem: str | None


ANSWERS = TypeAdapter(list[SideAnswer])
"""Content of the file in which `answer_chat` writes what there is so far."""


def models_of(run_folder: Path, config: RunConfig, task: Task) -> Mapping[ChatSide, ChatModel]:
    """Return the models of a run on this machine, in the order of training."""
    found: dict[ChatSide, ChatModel] = {"base": ChatModel("base", config.model.path)}
    if config.begins_warm and (warm := kept_warm_model(config, task)) is not None:
        found["warm_start"] = ChatModel("warm start", str(warm))
    checkpoint, _ = newest_sound(run_folder)
    folders = [] if checkpoint is None else [checkpoint.joinpath(*parts) for parts in MODEL_FOLDERS]
    trained = next((folder for folder in folders if (folder / "config.json").is_file()), None)
    if checkpoint is not None and trained is not None:
        found["trained"] = ChatModel(f"step {checkpoint_step(checkpoint.name)}", str(trained))
    return found


def problem_of(task: Task, prompt: str) -> Problem | None:
    """Return the task's problem with this prompt, held-out ones included; None if it has none."""
    every = (task.train, *task.evaluation_sets.values())
    return next((problem for problems in every for problem in problems if problem.prompt == prompt), None)


def answer_chat(run_folder: Path, question: Question, written: Path, num_threads: int) -> ChatOutcome:
    """Return what the models of the run answer; the file `written` holds the beginning meanwhile.

    To be called in a separate process, which then yields the CPU to the trainers of the machine.
    """
    os.nice(_NICENESS)
    try:
        import torch  # noqa: PLC0415  (takes seconds to import)
    except ModuleNotFoundError:
        return ChatOutcome([], "this worker has no PyTorch: install bapo-control-plane[train] on it")
    torch.set_num_threads(num_threads)

    def show(answers: Sequence[SideAnswer]) -> None:
        write_atomically(written, ANSWERS.dump_json(list(answers)))

    try:
        return ChatOutcome(answers_of(run_folder, question, show), None)
    except (ChatError, ConfigError, OSError) as error:
        return ChatOutcome([], str(error))


def answers_of(run_folder: Path, question: Question, show: Callable[[Sequence[SideAnswer]], None]) -> list[SideAnswer]:
    """Return the answers of the question's sides, one model after the other: only one has to fit into memory.

    Raises ChatError where a model is not here or does not fit, ConfigError where it cannot be used.
    """
    config = read_config(run_folder)
    task = build_task(config.task)
    models, done = models_of(run_folder, config, task), list[SideAnswer]()
    for side in question.sides:
        if side not in models:
            raise ChatError(_MISSING[side])
    for side in question.sides:
        done.append(_answered(side, models[side], task, question, lambda answer: show([*done, answer])))
        show(done)
        # The next model takes its place.
        gc.collect()
    return done


_MISSING: Mapping[ChatSide, str] = {
    "base": "the base model is not on this machine",
    "warm_start": "the model of the warm start is no longer on this machine: ask the other models",
    "trained": "the run has no checkpoint with a model: train it further",
}


def _answered(
    side: ChatSide, model: ChatModel, task: Task, question: Question, show: Callable[[SideAnswer], None]
) -> SideAnswer:
    import torch  # noqa: PLC0415  (takes seconds to import)

    from bapo.engines.local.answering import Answer, answer  # noqa: PLC0415
    from bapo.engines.local.policy import load_language_model, model_folder  # noqa: PLC0415

    known = problem_of(task, question.prompt)

    def said(found: Answer, *, is_finished: bool = False) -> SideAnswer:
        judged = None if known is None or not is_finished else bool(task.reward(known, found.text))
        return SideAnswer(side, model.name, found.text, found.num_tokens, is_finished, found.is_cut, judged)

    show(said(Answer("", 0)))
    _check_memory(model, model_folder(model.path))
    found = answer(
        load_language_model(model.path, torch.device("cpu")),
        known or Problem(question.prompt, "chat", question.prompt, {}),
        max_tokens=question.max_tokens,
        temperature=question.temperature,
        seed=question.seed,
        on_text=lambda beginning: show(said(beginning)),
    )
    return said(found, is_finished=True)


def _check_memory(model: ChatModel, folder: Path) -> None:
    """Raise ChatError where the model does not fit; it is computed with as float32, and mostly stored as bfloat16."""
    needed = 2 * sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    free = psutil.virtual_memory().available
    if needed > free:
        raise ChatError(
            f"{model.name}: this model needs up to {needed / _GIB:.1f} GiB of memory, and {free / _GIB:.1f} GiB are "
            "free on the worker: ask again when fewer runs train there"
        )
