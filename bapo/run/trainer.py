"""Trains one run in its folder: steps, evaluation, tracking, journal, control file, checkpoints.

`bapo train` calls `train` in its own process; a worker starts `python -m bapo.run.trainer FOLDER --attempt N`. The
trainer writes only into the folder, and reads from outside only the control file.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict

from bapo.config import ConfigError, ConfigProblem, RunConfig, parse_config
from bapo.config.sections import ModelConfig
from bapo.engines.base import Engine
from bapo.engines.finite_values import NotFiniteError, require_finite, update_problem
from bapo.loop import Loop, StepOutcome, timed
from bapo.methods import build_method
from bapo.prompt_schedule import PromptSchedule
from bapo.records import (
    AnyRecord,
    Cost,
    EvaluationRecord,
    EventRecord,
    Interval,
    PromptRecord,
    Span,
    recorded_spans,
)
from bapo.run import checkpoint
from bapo.run.control import ControlRequest
from bapo.run.engine import build_engine
from bapo.run.evaluation_runs import EvaluationRuns
from bapo.run.fork import ForkOrigin, read_origin
from bapo.run.gpu_load import GpuLoad
from bapo.run.journal import RECORDS_FILE, Journal, JournalError, attempt_folders, last_recorded_step, read_records
from bapo.run.log_lines import log_line
from bapo.run.look_ahead import LookAhead
from bapo.run.run_folder import SUMMARY_FILE, claim_config, exclusive, next_attempt, read_config, write_atomically
from bapo.run.steering import Steering, open_requests
from bapo.run.step_record import NO_COST, cost_after, plus, sample_records, step_record, visited_prompts
from bapo.run.warm_start import warm_model
from bapo.run.write_failures import is_write_failure
from bapo.tasks import build_task
from bapo.tasks.base import Task

STATE_FILE = "state.json"

EXIT_SUCCEEDED = 0
EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_STOPPED = 3
EXIT_CANNOT_WRITE = 4
"""The journal or a checkpoint could not be written, as on a full disk: the run can continue once there is room."""


class Observer(Protocol):
    """Sees each record right after it is in the journal."""

    def on_record(self, record: AnyRecord) -> None:
        """Handle a record in the trainer's thread: return quickly."""


class EvaluationSummary(BaseModel):
    """A held-out set before and after training."""

    model_config = ConfigDict(frozen=True)

    dataset: str
    num_samples: int
    base: Interval | None
    """avg@k before training; None where this attempt did not see it."""
    final: Interval


class TrainingSummary(BaseModel):
    """The end of an attempt, as `summary.json` and the last line of `bapo train` tell it."""

    model_config = ConfigDict(frozen=True)

    run_dir: str
    status: Literal["succeeded", "stopped"]
    steps: int
    """Completed steps of the run."""
    num_rollouts: int
    """Responses generated for training since step 0."""
    seconds: float
    """Wall time of this attempt."""
    evaluations: tuple[EvaluationSummary, ...]


def train(
    run_folder: Path,
    config: RunConfig,
    *,
    attempt: int | None = None,
    observer: Observer | None = None,
    stop: threading.Event | None = None,
    build: Callable[[RunConfig, Task], Engine] = build_engine,
) -> TrainingSummary:
    """Train from the newest sound checkpoint, or from the beginning, to the end or to a requested stop.

    Setting `stop` ends the run at the next step boundary with a checkpoint. `build` makes the engine. Raises
    ConfigError for a config, data or model that cannot be trained, or another config than the folder's; JournalError
    and OSError when the disk is full.
    """
    with exclusive(run_folder):
        claim_config(run_folder, config)
        attempt = attempt or next_attempt(run_folder)
        training = _Attempt(run_folder, config, attempt, observer, stop or threading.Event(), build)
        try:
            summary = training.run()
        except Exception as error:
            training.record_failure(error)
            raise
        finally:
            training.close()
        write_atomically(training.folder / SUMMARY_FILE, summary.model_dump_json(indent=2).encode())
        return summary


class _Attempt:
    """One attempt at a run."""

    def __init__(
        self,
        run_folder: Path,
        config: RunConfig,
        attempt: int,
        observer: Observer | None,
        stop: threading.Event,
        build: Callable[[RunConfig, Task], Engine],
    ) -> None:
        self.run_folder = run_folder
        self.folder = run_folder / f"attempt-{attempt}"
        self.config = config
        self.attempt = attempt
        self.journal = Journal(self.folder)
        self._resources = ExitStack()
        self._observer = observer
        self._stop = stop
        self._build = build
        self._begin = time.perf_counter()
        self._completed = 0
        self._saved = 0
        self._cost = NO_COST
        self._evaluations: dict[str, list[EvaluationRecord]] = {}
        self._best: tuple[int, float] | None = None
        """Step and accuracy, on the first test set, of the checkpoint that did best there."""
        self._written_prompts: set[str] = set()
        self._journal_seconds = 0.0
        self._spans: list[Span] = []
        """Phases after the last step's record."""

    # ------------------------------------------------------------ life

    def run(self) -> TrainingSummary:
        self._steering = Steering(self.run_folder)
        self._is_first = not _has_begun(self.run_folder)
        try:
            self._set_up()
        except _StoppedEarlyError:
            self._record_stops([request for request in open_requests(self.run_folder) if _stops_early(request)])
            return self._summary("stopped")
        self._resume_or_start()
        for warning in self.config.warnings:
            self._event("warning", str(warning), {"field": warning.field})
        counts = self._engine.demonstrations()
        if counts is not None and counts.num_usable < len(self._task.train):
            self._event("warning", str(counts), {"field": "method.type", **asdict(counts)})
        if self._completed == 0:
            with timed(self._spans, "evaluation"):
                self._evaluate()
        while self._completed < self._num_steps:
            if self._stops_before(self._completed + 1):
                return self._summary("stopped")
            self._run_step(self._completed + 1)
        self._event("finished", f"all {self._num_steps} steps done")
        return self._summary("succeeded")

    def record_failure(self, error: Exception) -> None:
        """Leave the reason in the journal; where even that fails (full disk), standard error has it."""
        try:
            self._event(
                "failed",
                f"{type(error).__name__}: {error}",
                {
                    "bad_input": isinstance(error, ConfigError),
                    "cannot_write": cannot_write(error, self.run_folder),
                },
            )
        except OSError as second:
            print(second, file=sys.stderr)

    def close(self) -> None:
        """End the engine and the journal."""
        try:
            self._resources.close()
        finally:
            self.journal.close()

    def _set_up(self) -> None:
        config = self.config
        self._task = build_task(config.task)
        self._problems = {problem.prompt_id: problem for problem in self._task.train}
        held_out = self._task.evaluation_sets.values()
        self._held_out = {problem.prompt_id: problem for problems in held_out for problem in problems}
        self._engine = self._build(self._config_with_warm_model(), self._task)
        self._resources.callback(self._engine.close)
        self._gpu_load = self._resources.enter_context(GpuLoad(config))
        self._schedule = PromptSchedule(
            self._task.train,
            batch_size=config.rollout.batch_size,
            seed=config.training.seed,
            weights=config.task.weights,
        )
        self._num_steps = config.training.steps or (config.training.epochs or 0) * self._schedule.steps_per_epoch
        method, group_size = build_method(config), config.rollout.group_size
        self._look_ahead = LookAhead(self._engine, method, self._schedule, config, num_steps=self._num_steps)
        self._loop = Loop(
            problems=self._problems,
            schedule=self._schedule,
            method=method,
            engine=self._look_ahead,
            group_size=group_size,
        )
        self._evaluation_runs = EvaluationRuns(config, self._task, self._engine, self.attempt)

    def _config_with_warm_model(self) -> RunConfig:
        """Return the config with the model of its warm start, where it has one, in place of the base model."""
        config = self.config
        if not config.begins_warm:
            return config

        def begin() -> None:
            section = config.warm_start
            message = f"{config.model.path} learns from right responses: {section.steps} steps of {section.batch_size}"
            self._event("warm_start", message, {"phase": "begun"})

        def check() -> None:
            if self._stop.is_set() or any(map(_stops_early, open_requests(self.run_folder))):
                raise _StoppedEarlyError

        found = warm_model(config, self._task, begin=begin, check=check)
        if found.is_new or self._is_first:
            self._event("warm_start", found.message, {"phase": "made" if found.is_new else "reused", **found.summary})
        return config.model_copy(update={"model": ModelConfig(path=str(found.folder))})

    def _resume_or_start(self) -> None:
        origin = read_origin(self.run_folder)
        recorded = last_recorded_step(self.run_folder, default=0 if origin is None else origin.step)
        folder, damaged = checkpoint.newest_sound(self.run_folder, last_step=recorded)
        if folder is None and origin is not None:
            remedy = f"it continued from step {origin.step} of run {origin.run_id}: fork that run again"
            raise ConfigError([ConfigProblem("checkpoints", "none is left", remedy)])
        if folder is None:
            self._event(
                "started", f"{self.config.method.type}, {self._num_steps} steps", {"num_steps": self._num_steps}
            )
        elif origin is not None and self._is_first:
            self._restore(folder, origin)
            data = {"checkpoint": folder.name, "from_step": self._completed, "parent": origin.run_id}
            self._event(
                "forked",
                f"from the checkpoint of step {self._completed} of run {origin.run_id}",
                {**data, "num_steps": self._num_steps},
            )
            self._event("checkpoint", f"{folder.name} taken over", {"checkpoint": folder.name})
        else:
            self._restore(folder, origin)
            self._event(
                "resumed",
                f"from the checkpoint of step {self._completed}",
                {"checkpoint": folder.name, "from_step": self._completed},
            )
        for name, reason in damaged:
            self._event("checkpoint_damaged", f"{name} is not used: {reason}", {"checkpoint": name})

    # ------------------------------------------------------------ one step

    def _run_step(self, step: int) -> None:
        begin, begin_cpu = time.perf_counter(), time.process_time()
        outcome = self._loop.run_step(step)
        self._check_finite(outcome)
        self._cost = plus(cost_after(self._cost, outcome), **self._look_ahead.take_cost())
        self._completed = step
        outcome.timing["step"] = time.perf_counter() - begin
        outcome.timing["step_cpu"] = time.process_time() - begin_cpu
        self._write_step(outcome)
        with timed(self._spans, "evaluation"):
            self._evaluate()
        training = self.config.training
        if step % training.checkpoint_interval == 0 or step == self._num_steps:
            with timed(self._spans, "checkpoint"):
                self._save_checkpoint()

    def _check_finite(self, outcome: StepOutcome) -> None:
        """Raise ConfigError where an engine reports a loss or gradient that is NaN or infinite."""
        update, supervised = outcome.update, outcome.supervised
        try:
            if update is not None:
                require_finite("the policy's loss", update.loss)
                require_finite("the norm of the gradient of the policy", update.grad_norm)
                if update.critic is not None:
                    require_finite("the critic's loss", update.critic.loss)
                    require_finite("the norm of the gradient of the critic", update.critic.grad_norm)
            if supervised is not None:
                require_finite("the supervised loss", supervised.loss)
                require_finite("the norm of the gradient of the policy", supervised.grad_norm)
        except NotFiniteError as error:
            raise update_problem(error, self.config, outcome.step) from None

    def _write_step(self, outcome: StepOutcome) -> None:
        config = self.config
        spans = recorded_spans([*self._spans, *outcome.spans], origin=self._begin)
        self._spans = []
        self._write(
            step_record(
                outcome,
                attempt=self.attempt,
                num_steps=self._num_steps,
                epoch=self._schedule.epoch_of(outcome.step + self._loop.num_further_batches),
                group_size=config.rollout.group_size,
                method=self._loop.method,
                cost=self._cost,
                timing={**outcome.timing, "journal": self._journal_seconds, **self._clock()},
                spans=spans,
                system={**self._engine.utilisation(), **self._gpu_load.take()},
            )
        )
        self._write_prompts(visited_prompts(outcome))
        for sample in sample_records(
            outcome,
            attempt=self.attempt,
            limit=config.samples.groups_per_step,
            problems=self._problems,
            engine=self._engine,
        ):
            self.journal.write_sample(sample)

    def _write_prompts(self, prompt_ids: Iterable[str]) -> None:
        """Keep what each prompt says, which lists of prompts show and findings compare."""
        if not self.config.samples.groups_per_step:
            return
        for prompt_id in prompt_ids:
            if prompt_id not in self._written_prompts:
                self._written_prompts.add(prompt_id)
                problem = self._problems.get(prompt_id) or self._held_out[prompt_id]
                self.journal.write_sample(
                    PromptRecord(prompt_id=prompt_id, prompt=problem.prompt, answer=problem.answer)
                )

    def _evaluate(self) -> None:
        """Evaluate and track where the config asks for it after this many completed steps."""
        for record in self._evaluation_runs.due(self._completed, is_last=self._completed == self._num_steps):
            num_problems = len(record.num_correct)
            if isinstance(record, EvaluationRecord):
                # One greedy answer in addition to the samples.
                num_rollouts = num_problems * (record.num_samples + 1)
                self._cost = plus(self._cost, num_evaluation_rollouts=num_rollouts)
                self._evaluations.setdefault(record.dataset, []).append(record)
                self._write_prompts(record.prompt_ids)
            else:
                self._cost = plus(self._cost, num_tracking_rollouts=num_problems * record.group_size)
            self._write(record)

    # ------------------------------------------------------------ control

    def _stops_before(self, step: int) -> bool:
        """Answer the requests that are due at this boundary; true where the run shall end here."""
        due = self._steering.due(step, at_checkpoint=0 < self._completed == self._saved)
        for message in self._steering.rejected():
            self._event("warning", message)
        stops = []
        for request in due:
            if request.stop:
                stops.append(request)
                continue
            if request.withdraws is not None:
                data = {"id": request.withdraws, "author": request.author, "applied_step": step}
                self._event("request_withdrawn", f"withdrawn by {request.author}", data)
                continue
            data = {"id": request.id, "author": request.author, "set": dict(request.set), "applied_step": step}
            try:
                self.config = self._steering.change(self.config, request, self._loop.method)
            except ConfigError as error:
                self._event("parameter_refused", str(error), data)
            else:
                changes = ", ".join(f"{field} = {value}" for field, value in request.set.items())
                self._event("parameter_change", f"{changes} from step {step}", data)
        if not stops and not self._stop.is_set():
            return False
        if self._completed != self._saved:
            self._save_checkpoint()
        self._record_stops(stops, self._steering.fulfilled_stops(step))
        return True

    def _record_stops(self, stops: Sequence[ControlRequest], fulfilled: Sequence[ControlRequest] = ()) -> None:
        """Answer the requests that end the attempt, and those that its end fulfils."""
        for request in (*stops, *fulfilled):
            self._event("stop", f"asked for by {request.author}", {"id": request.id, "author": request.author})
        if not stops:
            self._event("stop", "requested by a signal")

    # ------------------------------------------------------------ checkpoints

    def _save_checkpoint(self) -> None:
        begin = time.perf_counter()
        self._note_best()
        state = {
            "step": self._completed,
            "best": self._best,
            "config": self.config.model_dump(mode="json"),
            "loop": self._loop.state_dict(),
            "ahead": self._look_ahead.state_dict(),
            "cost": self._cost.model_dump(),
        }

        def fill(folder: Path) -> None:
            (folder / STATE_FILE).write_text(json.dumps(state), encoding="utf-8")
            self._engine.save(folder, [*self._loop.stored_groups(), *self._look_ahead.stored_groups()])

        best = None if self._best is None else self._best[0]
        folder = checkpoint.write_checkpoint(
            self.run_folder, self._completed, fill, keep=self.config.training.keep_checkpoints, best=best
        )
        self._saved = self._completed
        seconds = time.perf_counter() - begin
        data = {"checkpoint": folder.name, "best": best}
        self._event("checkpoint", f"{folder.name} written", data, {"checkpoint": seconds})

    def _note_best(self) -> None:
        """Remember this step where none with a checkpoint did better on the first test set."""
        evaluations = next(iter(self._evaluations.values()), [])
        if not evaluations or evaluations[-1].step != self._completed:
            return
        accuracy = evaluations[-1].avg_at_k.value
        if self._best is None or accuracy > self._best[1]:
            self._best = self._completed, accuracy

    def _restore(self, folder: Path, origin: ForkOrigin | None) -> None:
        state: Mapping[str, Any] = json.loads((folder / STATE_FILE).read_text(encoding="utf-8"))
        self._completed = self._saved = state["step"]
        self._cost = Cost(**state["cost"])
        is_parents = origin is not None and origin.step == self._completed
        best = state.get("best")
        # Of its parent's checkpoints a fork has the one that it began with.
        if best is not None and (not is_parents or best[0] == self._completed):
            self._best = best[0], best[1]
        saved = parse_config(state["config"])
        if not is_parents:
            self.config = saved
            self._loop.method.reconfigure(self.config)
        # Checkpoints from before there was a look-ahead do not have it.
        ahead = state.get("ahead", {})
        num_ahead = sum(len(held["groups"]) for held in ahead.get("earlier", {}).values())
        payloads = self._engine.load(folder)
        num_of_loop = len(payloads) - num_ahead
        self._loop.load_state_dict(state["loop"], payloads[:num_of_loop])
        if is_parents:
            # The parent's buffers under this run's own thresholds, as after a change of parameters.
            self._loop.method.reconfigure(self.config)
        is_same = (saved.rollout, saved.training.seed) == (self.config.rollout, self.config.training.seed)
        self._look_ahead.load_state_dict(ahead, payloads[num_of_loop:], next_step=self._completed + 1, is_same=is_same)
        self._steering.resume_after(self._completed)

    # ------------------------------------------------------------ journal

    def _event(
        self,
        event: str,
        message: str,
        data: Mapping[str, object] | None = None,
        timing: Mapping[str, float] | None = None,
    ) -> None:
        line = {
            "attempt": self.attempt,
            "step": self._completed,
            "event": event,
            "message": message,
            "data": data or {},
            "timing": {**(timing or {}), **self._clock()},
        }
        self._write(EventRecord.model_validate(line))

    def _clock(self) -> dict[str, float]:
        return {"elapsed": time.perf_counter() - self._begin, "unix_time": time.time()}

    def _write(self, record: AnyRecord) -> None:
        begin = time.perf_counter()
        self.journal.write(record)
        self._journal_seconds = time.perf_counter() - begin
        if self._observer is not None:
            self._observer.on_record(record)

    def _summary(self, status: Literal["succeeded", "stopped"]) -> TrainingSummary:
        return TrainingSummary(
            run_dir=str(self.run_folder),
            status=status,
            steps=self._completed,
            num_rollouts=self._cost.num_rollouts,
            seconds=time.perf_counter() - self._begin,
            evaluations=tuple(
                EvaluationSummary(
                    dataset=dataset,
                    num_samples=records[-1].num_samples,
                    base=records[0].avg_at_k if records[0].step == 0 else None,
                    final=records[-1].avg_at_k,
                )
                for dataset, records in self._evaluations.items()
            ),
        )


def cannot_write(error: Exception, run_folder: Path) -> bool:
    """Return whether the attempt failed because the disk is full or refuses: the run can resume from its last
    checkpoint.
    """
    return isinstance(error, JournalError | checkpoint.CheckpointError) or is_write_failure(error, run_folder)


def _has_begun(run_folder: Path) -> bool:
    """Return whether any attempt has recorded anything."""
    return any(True for folder in attempt_folders(run_folder) for _ in read_records(folder / RECORDS_FILE))


class _StoppedEarlyError(Exception):
    """A stop was requested before the engine was there."""


def _stops_early(request: ControlRequest) -> bool:
    """Return whether the request ends an attempt that has not reached its first step."""
    return request.stop and request.when != "checkpoint" and (request.at_step is None or request.at_step <= 1)


class _Log:
    """Prints the records of an attempt to its log."""

    def on_record(self, record: AnyRecord) -> None:
        line = log_line(record)
        if line is not None:
            print(line, flush=True)


def main(arguments: list[str] | None = None, run: Callable[..., TrainingSummary] = train) -> int:
    """Run the trainer process of a worker; the exit code tells how it ended."""
    parser = argparse.ArgumentParser(prog="python -m bapo.run.trainer", description="Train the run in a folder.")
    parser.add_argument("run_folder", type=Path)
    parser.add_argument("--attempt", type=int, default=None)
    options = parser.parse_args(arguments)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    try:
        config = read_config(options.run_folder)
        summary = run(options.run_folder, config, attempt=options.attempt, observer=_Log(), stop=stop)
    except ConfigError as error:
        print(*error.problems, sep="\n", file=sys.stderr)
        return EXIT_BAD_INPUT
    except Exception as error:
        traceback.print_exc()
        return EXIT_CANNOT_WRITE if cannot_write(error, options.run_folder) else EXIT_FAILED
    print(f"{summary.status} after {summary.steps:,} steps and {summary.num_rollouts:,} rollouts")
    return EXIT_SUCCEEDED if summary.status == "succeeded" else EXIT_STOPPED


if __name__ == "__main__":
    sys.exit(main())
