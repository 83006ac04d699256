"""Watches TRL's GRPOTrainer and RLOOTrainer: every group that they generate, what they log, and their evaluations.

Of TRL itself one private method is used, `_calculate_rewards`: no callback and no public method sees a group. Each
generation passes through it once, however often its batch is trained on. Needs transformers and accelerate, which TRL
brings along.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from transformers import TrainerCallback

from bapo.config import ConfigError, ConfigProblem
from bapo.message_text import chat_text, response_text
from bapo.observe.group import Group
from bapo.observe.observed_run import ObservedRun
from bapo.observe.run import run as observe_run

METRIC_NAMES = {
    "entropy": "actor/entropy",
    "grad_norm": "actor/grad_norm",
    "kl": "actor/kl_loss",
    "learning_rate": "actor/lr",
    "loss": "actor/loss",
    "policy_loss": "actor/pg_loss",
    "clip_ratio/region_mean": "actor/pg_clipfrac",
    "clip_ratio/low_mean": "actor/pg_clipfrac_lower",
    "step_time": "timing_s/step",
    "sampling/sampling_logp_difference/mean": "bapo/logprob_gap/mean",
    "sampling/sampling_logp_difference/max": "bapo/logprob_gap/max",
}
"""Names that verl or our trainer uses for the same figure; all others keep TRL's name."""
ARGUMENTS = ("inputs", "prompts", "completions", "completion_ids_list")
"""Arguments of TRL's `_calculate_rewards`."""
PLACES = ("output_dir", "logging_dir", "run_name", "resume_from_checkpoint", "report_to")
"""Settings that may differ when a run resumes after an interruption."""


def observe_trl(
    trainer: Any,
    name: str,
    *,
    folder: str | Path | None = None,
    reward_threshold: float = 0.0,
    samples_per_step: int = 4,
    source_column: str = "data_source",
    answer_column: str = "answer",
    server: str | None = None,
    token: str | None = None,
    project: str | None = None,
    group: str | None = None,
) -> ObservedRun:
    """Observe a GRPOTrainer or RLOOTrainer: `with observe_trl(trainer, "name"): trainer.train()`.

    To be called in every process; the main one records. `source_column` and `answer_column` of the dataset name a
    prompt's data source and its ground truth, where the dataset has them. The other arguments are those of
    `bapo.observe.run`.

    Raises ConfigError for another trainer, and for a release of TRL whose groups cannot be seen.
    """
    calculate_rewards = getattr(trainer, "_calculate_rewards", None)
    if calculate_rewards is None or tuple(inspect.signature(calculate_rewards).parameters)[:4] != ARGUMENTS:
        remedy = f"TRL {version('trl')} does not show its groups: give a GRPOTrainer or RLOOTrainer of TRL 1.16"
        raise ConfigError([ConfigProblem("trainer", type(trainer).__name__, remedy)])
    observed = observe_run(
        name,
        config=_settings(trainer),
        folder=folder,
        trainer=f"TRL {type(trainer).__name__}",
        trainer_version=version("trl"),
        reward_threshold=reward_threshold,
        num_steps=trainer.args.max_steps if trainer.args.max_steps > 0 else None,
        samples_per_step=samples_per_step,
        rank=trainer.accelerator.process_index,
        server=server,
        token=token,
        project=project,
        group=group,
    )
    observer = _Observer(trainer, observed, source_column, answer_column)

    def calculate_and_observe(
        inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any, *others: Any, **named: Any
    ) -> Any:
        rewards = calculate_rewards(inputs, prompts, completions, completion_ids_list, *others, **named)
        observer.on_rewards(inputs, prompts, completions, completion_ids_list, rewards)
        return rewards

    trainer._calculate_rewards = calculate_and_observe
    trainer.add_callback(observer)
    return observed


class _Row(NamedTuple):
    """One response, as its process knows it."""

    prompt: str
    completion: str
    num_tokens: int
    last_token: int | None
    source: str | None
    answer: str | None


class _Observer(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Collects the groups of a step, and tells them as soon as the step is done and has been logged."""

    def __init__(self, trainer: Any, run: ObservedRun, source_column: str, answer_column: str) -> None:
        self._columns = (source_column, answer_column)
        self._trainer = trainer
        self._run = run
        self._step = 0
        """Step in which the groups were generated, from 1."""
        self._groups: list[Group] = []
        self._evaluated: list[Group] = []
        self._metrics: dict[str, list[float]] = {}

    def on_rewards(
        self, inputs: Any, prompts: Any, completions: Any, token_ids: Any, rewards_per_function: Any
    ) -> None:
        """Record a scored generation. Every process must call this: it gathers what the others have."""
        trainer = self._trainer
        rows: list[_Row | None]
        try:
            rows = [*_rows(inputs, prompts, completions, token_ids, self._columns)]
        except Exception:
            self._run.note_failure("a generation of TRL")
            rows = [None]
        if trainer.accelerator.num_processes > 1:
            from accelerate.utils import gather_object  # noqa: PLC0415 - TRL brings it, and one process needs none

            # Whatever went wrong above: the other processes wait here.
            rows = gather_object(rows)
        if not trainer.accelerator.is_main_process or None in rows:
            return
        try:
            is_training = trainer.model.training
            size = trainer.num_generations if is_training else trainer.num_generations_eval
            known = [row for row in rows if row is not None]
            groups = _groups(trainer, known, _weighted(trainer, rewards_per_function), size)
            if is_training:
                self._step = trainer.state.global_step + 1
                self._groups += groups
            else:
                self._evaluated += groups
        except Exception:
            self._run.note_failure("a generation of TRL")

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Record a step that will not be logged; one that will be waits for its figures, which come next."""
        if not control.should_log:
            self._tell(state.global_step)

    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **_: Any) -> None:
        """Add the figures to the step that is done; those of a step that generated nothing to the next that did."""
        for name, value in (logs or {}).items():
            # The record has the answers to an evaluation, which say more than their mean.
            if not isinstance(value, str | None) and not (self._evaluated and name.startswith("eval_")):
                self._metrics.setdefault(METRIC_NAMES.get(name, name), []).append(float(value))
        self._tell(state.global_step)

    def on_evaluate(
        self, args: Any, state: Any, control: Any, metrics: Mapping[str, Any] | None = None, **given: Any
    ) -> None:
        """Record the answers to a held-out set."""
        groups, self._evaluated = self._evaluated, []
        if groups:
            dataloader = given.get("eval_dataloader")
            if self._trainer.accelerator.num_processes > 1 and hasattr(getattr(dataloader, "dataset", None), "__len__"):
                # The last batch is filled up with the first problems, so that each process has as many.
                assert dataloader is not None
                groups = groups[: len(dataloader.dataset)]
            self._run.evaluation(state.global_step, dataset=_dataset_name(metrics or {}), groups=groups)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Record a step that was to be logged and was not, as it is."""
        self._tell(state.global_step)

    def _tell(self, steps_done: int) -> None:
        if not self._groups or steps_done < self._step:
            return
        groups, self._groups = self._groups, []
        metrics, self._metrics = self._metrics, {}
        self._run.step(self._step, groups=groups, metrics={name: fmean(values) for name, values in metrics.items()})


def _rows(inputs: Any, prompts: Any, completions: Any, token_ids: Any, columns: tuple[str, str]) -> list[_Row]:
    return [
        _Row(
            prompt if isinstance(prompt, str) else chat_text(prompt),
            response_text(completion),
            len(ids),
            int(ids[-1]) if len(ids) else None,
            *(None if given.get(column) is None else str(given[column]) for column in columns),
        )
        for given, prompt, completion, ids in zip(inputs, prompts, completions, token_ids, strict=True)
    ]


def _weighted(trainer: Any, rewards_per_function: Any) -> list[float]:
    """Return the weighted sum that TRL logs as `reward`: NaN where no function gave one."""
    weights = [float(weight) for weight in trainer.reward_weights]
    rewards = []
    for given in rewards_per_function.tolist():
        known = [weight * reward for weight, reward in zip(weights, given, strict=True) if not math.isnan(reward)]
        rewards.append(sum(known) if known else math.nan)
    return rewards


def _groups(trainer: Any, rows: Sequence[_Row], rewards: Sequence[float], size: int) -> list[Group]:
    assert len(rows) == len(rewards), "gathered from all processes"
    tokenizer = getattr(trainer.processing_class, "tokenizer", trainer.processing_class)
    ends = {*trainer.eos_token_ids, tokenizer.pad_token_id}
    found = []
    for begin in range(0, len(rows), size):
        group = rows[begin : begin + size]
        found.append(
            Group(
                group[0].prompt,
                rewards[begin : begin + size],
                [row.completion for row in group],
                [row.num_tokens for row in group],
                [row.last_token not in ends for row in group],
                group[0].answer,
                trainer.state.global_step,
                source=group[0].source,
            )
        )
    return found


def _dataset_name(metrics: Mapping[str, Any]) -> str:
    """Return a held-out set's name, from the prefix of its metrics: "eval", or "eval_NAME" if there are several."""
    prefix = next((name.removesuffix("_runtime") for name in metrics if name.endswith("_runtime")), "eval")
    return prefix.removeprefix("eval_")


def _settings(trainer: Any) -> dict[str, Any]:
    """Return what differs from TRL's defaults, the seed, and what is trained with it."""
    args = trainer.args
    given = args.to_dict()
    changed = {
        field.name: given[field.name]
        for field in fields(args)
        if field.name in given and field.name not in PLACES and given[field.name] != field.default
    }
    return {
        **changed,
        "seed": args.seed,
        "model": getattr(trainer.model.config, "_name_or_path", "") or type(trainer.model).__name__,
        "reward_functions": ", ".join(trainer.reward_func_names),
        "num_processes": trainer.accelerator.num_processes,
    }
