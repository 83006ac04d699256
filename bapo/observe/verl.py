"""Watches a stock verl run: `trainer.logger=[console,bapo]`, and verl's own trainer shows every group it trains on.

verl imports this module in each of its processes, by the entry point of the group `verl.plugins` or by the variable
VERL_USE_EXTERNAL_MODULES; all it does there is to make the name "bapo" known to verl's `Tracking`. A logger of verl is
given means alone, so the one named "bapo" wraps three methods of verl's PPOTrainer: `_compute_metrics`, which has the
batch of the step while its rows are still there, and `_maybe_log_val_generations` and `_val_metrics_update`, which
have the answers to the held-out problems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import wraps
from importlib.metadata import version
from typing import Any

from verl.utils.tracking import Tracking

from bapo.message_text import chat_text
from bapo.observe.group import Group
from bapo.observe.observed_run import ObservedRun
from bapo.observe.run import run

BACKEND = "bapo"
"""The name in `trainer.logger`."""
OPTIONS = frozenset(
    ("folder", "reward_threshold", "samples_per_step", "server", "token", "project", "group"),
)
"""Arguments of `bapo.observe.run` that may be given as `+trainer.bapo.NAME=VALUE`."""
FIELDS = ["uid", "raw_prompt", "responses", "rm_scores", "reward_model", "data_source"]
"""Fields that are read of each row of a batch."""


class _Backend:
    """A backend of verl's Tracking that keeps the groups of a step until verl logs it."""

    def __init__(self, observed: ObservedRun, max_response_tokens: int) -> None:
        self._run = observed
        self._max_response_tokens = max_response_tokens
        self._num_steps: int | None = None
        self._groups: list[Group] = []
        self._answers: Sequence[tuple[str, str]] = ()
        self._evaluations: list[tuple[int, str, list[Group]]] = []

    def log(self, data: Mapping[str, Any], step: int) -> None:
        """Record a step that is done, or the validation before the first."""
        groups, self._groups = self._groups, []
        if groups:
            numbers = {name: value for name, value in data.items() if _is_number(value)}
            self._run.step(step, groups=groups, metrics=numbers)
        for number, dataset, answered in self._evaluations:
            self._run.evaluation(number, dataset=dataset, groups=answered)
        self._evaluations.clear()
        # verl returns out of its loop after the last step without calling any hook.
        if self._num_steps is not None and step >= self._num_steps:
            self._run.finish()

    def on_batch(self, trainer: Any, batch: Any) -> None:
        """Take the rows of a step's batch, before verl clears them."""
        try:
            self._num_steps = int(trainer.total_training_steps)
            self._groups = _groups(trainer.tokenizer, batch, self._max_response_tokens)
        except Exception:
            self._run.note_failure("a batch of verl")

    def on_answers(self, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        """Take the texts of a validation, in the order in which `on_validation` has its rewards."""
        self._answers = list(zip(inputs, outputs, strict=True))

    def on_validation(
        self, step: int, sources: Sequence[str], uids: Sequence[str], rewards: Mapping[str, Sequence[float]]
    ) -> None:
        """Take the rewards of a validation: a group per uid, a held-out set per data source."""
        try:
            answers, self._answers = self._answers, ()
            found: dict[str, dict[str, list[tuple[str, str, float]]]] = {}
            for source, uid, (prompt, response), reward in zip(sources, uids, answers, rewards["reward"], strict=True):
                found.setdefault(str(source), {}).setdefault(uid, []).append((prompt, response, float(reward)))
            for source, by_uid in found.items():
                groups = [
                    Group(rows[0][0], [row[2] for row in rows], [row[1] for row in rows]) for rows in by_uid.values()
                ]
                self._evaluations.append((step, source, groups))
        except Exception:
            self._run.note_failure("a validation of verl")


def _groups(tokenizer: Any, batch: Any, max_response_tokens: int) -> list[Group]:
    """Return the groups of a batch, by uid in the order of their first rows."""
    import transfer_queue as tq  # noqa: PLC0415 - verl's own import of it must come first

    last: dict[str, tuple[int, str, Mapping[str, Any]]] = {}
    for key, tag in zip(batch.keys, batch.tags, strict=True):
        if tag.get("is_padding", False):
            continue
        # A session of several outputs is scored by its last: keys are {uid}_{session}_{index}.
        session, _, index = key.rpartition("_")
        if session not in last or int(index) > last[session][0]:
            last[session] = (int(index), key, tag)
    keys = [key for _, key, _ in last.values()]
    rows = tq.kv_batch_get(keys=keys, partition_id=batch.partition_id, select_fields=FIELDS)
    columns = {name: list(rows[name]) for name in ("uid", "raw_prompt", "reward_model", "data_source")}
    responses = [ids.tolist() for ids in rows["responses"].unbind()]
    rewards = [float(scores.sum()) for scores in rows["rm_scores"].unbind()]
    members: dict[str, list[int]] = {}
    for row, uid in enumerate(columns["uid"]):
        members.setdefault(uid, []).append(row)
    texts = tokenizer.batch_decode(responses, skip_special_tokens=True)
    versions = [tag.get("min_global_steps") for _, _, tag in last.values()]
    return [
        Group(
            chat_text(columns["raw_prompt"][found[0]]),
            [rewards[row] for row in found],
            [texts[row] for row in found],
            [len(responses[row]) for row in found],
            [len(responses[row]) >= max_response_tokens for row in found],
            _answer(columns["reward_model"][found[0]]),
            min((int(known) for row in found if (known := versions[row]) is not None), default=None),
            source=str(columns["data_source"][found[0]]),
        )
        for found in members.values()
    ]


def _answer(reward_model: Mapping[str, Any] | None) -> str | None:
    truth = (reward_model or {}).get("ground_truth")
    return None if truth is None else str(truth)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _backend(name: str, config: Mapping[str, Any]) -> _Backend:
    """Begin to observe, and show verl's trainer to the observer. Raises ConfigError."""
    trainer = dict(config["trainer"])
    options = {key: value for key, value in dict(trainer.pop("bapo", None) or {}).items() if key in OPTIONS}
    own = {"data", "actor_rollout_ref", "algorithm", "critic", "reward"}
    observed = run(
        name,
        config={**{section: config[section] for section in sorted(own & config.keys())}, "trainer": trainer},
        trainer="verl",
        trainer_version=version("verl"),
        rank=0,
        **options,
    )
    backend = _Backend(observed, int(config["data"]["max_response_length"]))
    _show(backend)
    return backend


def _show(backend: _Backend) -> None:
    from verl.trainer.ppo.v1.trainer_base import PPOTrainer  # noqa: PLC0415 - far too much for each process

    compute_metrics = PPOTrainer._compute_metrics
    log_generations = PPOTrainer._maybe_log_val_generations
    update_metrics = PPOTrainer._val_metrics_update

    @wraps(compute_metrics)
    def observed_batch(self: Any, batch: Any, *others: Any, **named: Any) -> Any:
        backend.on_batch(self, batch)
        return compute_metrics(self, batch, *others, **named)

    @wraps(log_generations)
    def observed_answers(self: Any, inputs: Any, outputs: Any, scores: Any) -> Any:
        backend.on_answers(inputs, outputs)
        return log_generations(self, inputs, outputs, scores)

    @wraps(update_metrics)
    def observed_validation(self: Any, data_sources: Any, uids: Any, rewards: Any, *others: Any, **named: Any) -> Any:
        backend.on_validation(self.global_steps, data_sources, uids, rewards)
        return update_metrics(self, data_sources, uids, rewards, *others, **named)

    PPOTrainer._compute_metrics = observed_batch
    PPOTrainer._maybe_log_val_generations = observed_answers
    PPOTrainer._val_metrics_update = observed_validation


def _install() -> None:
    """Make "bapo" a logger of verl's."""
    begin = Tracking.__init__

    @wraps(begin)
    def begin_and_observe(
        self: Any, project_name: str, experiment_name: str, default_backend: Any = "console", config: Any = None
    ) -> None:
        begin(self, project_name, experiment_name, default_backend, config)
        named = [default_backend] if isinstance(default_backend, str) else list(default_backend)
        if BACKEND in named:
            self.logger[BACKEND] = _backend(experiment_name, config)

    Tracking.supported_backend = [*Tracking.supported_backend, BACKEND]
    Tracking.__init__ = begin_and_observe


if BACKEND not in Tracking.supported_backend:
    _install()
