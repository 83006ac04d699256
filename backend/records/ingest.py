"""Stores lines of an attempt's files. Sending lines again changes nothing; a later attempt's lines win."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy.orm import Session

from backend.kit import instruments
from backend.kit.errors import Problem
from backend.kit.events import announce
from backend.models import Attempt, Run
from backend.models.packed_json import pack
from backend.records import chunks, metric_keys, repository, samples
from backend.records.best import best_evaluation
from backend.records.lines import Loaded, Parsed, load, new_lines, parse
from backend.records.repository import float8, int4, int8_array
from backend.runs import acknowledgements
from bapo.api.workers import BatchAccepted, RecordBatch
from bapo.records import AnyRecord, EvaluationRecord, EventRecord, StepRecord, TrackingRecord, metrics
from bapo.rollout import same_problems

AVERAGE_WEIGHT = 0.2
"""Weight of the newest step in the average time of a step."""


def accept(session: Session, run: Run, attempt: Attempt, batch: RecordBatch) -> BatchAccepted:
    """Store lines that come with a valid token."""
    if batch.attempt > attempt.number:
        remedy = f"the run's newest attempt is {attempt.number}: send files of attempts up to that one"
        raise Problem(422, "invalid_request", remedy, field="attempt", value=batch.attempt)
    return BatchAccepted(next_offset=store(session, run, batch))


def store(session: Session, run: Run, batch: RecordBatch) -> int:
    """Store what is new of the batch; the offset from which on lines are wanted. The run must be locked.

    Raises Problem 422 for offsets that cannot be.
    """
    _check_offsets(batch)
    stored = repository.next_offset(session, run.id, batch.attempt, batch.kind)
    if batch.start_offset > stored or batch.end_offset <= stored:
        return stored
    lines = new_lines(batch, stored)
    if lines is None:
        return stored
    if batch.kind == "records":
        _store_records(session, run, batch.attempt, [load(line) for line in lines])
    elif batch.kind == "samples":
        samples.store(session, run.id, batch.attempt, lines)
    else:
        text = "".join(line.text + "\n" for line in lines)
        repository.add_log(session, run.id, batch.attempt, text)
    repository.set_next_offset(session, run.id, batch.attempt, batch.kind, batch.end_offset)
    instruments.count_on_commit(session, instruments.INGEST_LINES.labels(batch.kind), len(lines))
    instruments.count_on_commit(session, instruments.INGEST_BYTES.labels(batch.kind), batch.end_offset - stored)
    return batch.end_offset


def _check_offsets(batch: RecordBatch) -> None:
    length = batch.end_offset - batch.start_offset
    # Each line has at least its newline.
    if length < len(batch.lines) or (length > 0 and not batch.lines):
        raise Problem(
            422,
            "invalid_request",
            f"{len(batch.lines)} lines do not match bytes {batch.start_offset}..{batch.end_offset}: send whole lines",
            field="end_offset",
            value=batch.end_offset,
        )


def _store_records(session: Session, run: Run, attempt: int, loaded: Sequence[Loaded]) -> None:
    steps = {line.step: line for line in loaded if line.step is not None}
    if attempt < run.attempt:
        for step in repository.steps_of_later_attempts(session, run.id, attempt, list(steps)):
            del steps[step]
    lines, latest = _store_steps(session, run, attempt, steps)
    lines += [parse(line, run, attempt) for line in loaded if line.step is None]
    lines.sort(key=lambda line: line.position)
    sparse = [_sparse_row(run.id, attempt, line) for line in lines if not isinstance(line.record, StepRecord)]
    if sparse:
        repository.upsert_sparse(session, sparse)
        points = sum(len(row["metrics"]) for row in sparse)
        instruments.count_on_commit(session, instruments.INGEST_POINTS, points)
        for row in sorted(sparse, key=lambda row: row["step"]):
            latest |= row["metrics"]
    metric_keys.add(session, run.id, latest.keys())
    metric_keys.keep_latest(session, run.id, latest)
    for line in lines:
        _follow(session, run, line.record)
    _follow_steps(session, run, [line.record for line in lines if isinstance(line.record, StepRecord)])
    if run.eval_name is not None and any(isinstance(line.record, EvaluationRecord) for line in lines):
        # Read again: steps that a later attempt repeats may have replaced the best one.
        run.eval_best, run.eval_best_step = best_evaluation(session, run.id, run.eval_name, run.eval_problems)
    _announce(session, run, lines)


def _store_steps(
    session: Session, run: Run, attempt: int, loaded: Mapping[int, Loaded]
) -> tuple[list[Parsed], dict[str, float]]:
    """Store steps over what is there of them; what their lines say, and the newest value of each of their metrics.

    Each line is parsed while PostgreSQL takes in the one before. What turns out to be no record is left out.
    """
    if not loaded:
        return [], {}
    touched = {chunks.chunk_of(step) for step in loaded}
    chunks.dissolve(session, run.id, {chunk for chunk in touched if chunks.last_step(chunk) <= run.step})
    newest = max(run.step, *loaded)
    complete = chunks.completed(
        session, run.id, {chunk for chunk in touched if chunks.last_step(chunk) <= newest}, loaded.keys()
    )
    if min(loaded) <= run.step:
        repository.forget_steps(session, run.id, list(loaded))
    lines: list[Parsed] = []
    values: dict[int, dict[str, float]] = {}

    def rows() -> Iterator[repository.StepColumns]:
        for step, each in loaded.items():
            line = parse(each, run, attempt)
            lines.append(line)
            if isinstance(line.record, StepRecord):
                values[step] = metrics(line.record)
                yield _step_columns(attempt, line.record, line)

    repository.copy_steps(session, run.id, rows())
    # Those of a complete chunk go there at once.
    waiting = [(step, orjson.dumps(each)) for step, each in values.items() if chunks.chunk_of(step) not in complete]
    if waiting:
        repository.copy_tails(session, run.id, waiting)
    whole: dict[int, dict[int, chunks.Metrics]] = {}
    for chunk, stored in complete.items():
        new = [step for step in loaded if chunks.chunk_of(step) == chunk]
        if all(step in values for step in new):
            whole[chunk] = {**stored, **{step: values[step] for step in new}}
        else:
            chunks.give_back(session, run.id, chunk)
    if whole:
        chunks.store(session, run.id, whole)
    instruments.count_on_commit(session, instruments.INGEST_POINTS, sum(map(len, values.values())))
    latest: dict[str, float] = {}
    for _, each in sorted(values.items()):
        latest |= each
    return lines, latest


def _step_columns(attempt: int, record: StepRecord, line: Parsed) -> repository.StepColumns:
    ratios = None if record.update is None else record.update.ratio_histogram
    return repository.StepColumns(
        step=int4(record.step),
        attempt=int4(attempt),
        reward_mean=_finite(record.reward_mean),
        unix_time=_finite(record.timing.get("unix_time")),
        fresh_histogram=int8_array(record.fresh_histogram),
        reevaluated_histogram=int8_array(record.reevaluated_histogram),
        batch_histogram=int8_array(record.batch_histogram),
        ratio_histogram=None if ratios is None else int8_array(ratios),
        record=pack(line.content),
        visits=pack(orjson.dumps(tuple(line.visits))),
    )


def _finite(value: float | None) -> bytes | None:
    return None if value is None or not math.isfinite(value) else float8(value)


def _sparse_row(run_id: str, attempt: int, line: Parsed) -> dict[str, Any]:
    match line.record:
        case EvaluationRecord():
            identity = line.record.dataset
        case TrackingRecord():
            identity = str(line.record.replicate)
        case _:
            identity = f"{attempt}:{line.position}"
    return {
        "run_id": run_id,
        "type": line.record.type,
        "step": line.record.step,
        "identity": identity,
        "attempt": attempt,
        "num_problems": len(line.record.num_correct) if isinstance(line.record, EvaluationRecord) else None,
        "problems": line.record.problem_set if isinstance(line.record, EvaluationRecord) else None,
        "metrics": {key: value for key, value in metrics(line.record).items() if math.isfinite(value)},
        "record": orjson.loads(line.content),
    }


def _follow_steps(session: Session, run: Run, records: Sequence[StepRecord]) -> None:
    """Follow all steps at once, as `_follow` does: each change of the row's object is expensive."""
    step, newest, step_seconds = run.step, None, run.step_seconds
    for record in records:
        if record.step >= step:
            step, newest = record.step, record
            seconds = record.timing.get("step")
            if seconds is not None and math.isfinite(seconds):
                before = seconds if step_seconds is None else step_seconds
                step_seconds = AVERAGE_WEIGHT * seconds + (1 - AVERAGE_WEIGHT) * before
    if newest is not None:
        # Before the row is changed: a query would write the change, and the rest of it once more.
        reward_mean = repository.recent_reward(session, run.id, newest.step)
        run.step = newest.step
        run.num_steps = newest.num_steps or 0
        run.num_rollouts = newest.cost.num_rollouts
        run.reward_mean = reward_mean
        run.step_seconds = step_seconds


def _follow(session: Session, run: Run, record: AnyRecord) -> None:
    """Keep the run's own row up to date, which lists of runs read."""
    match record:
        case EvaluationRecord():
            _follow_evaluation(run, record)
        case EventRecord():
            if record.event == "started":
                run.num_steps = int(record.data.get("num_steps", run.num_steps))
            acknowledgements.note(session, run, record)
        case _:
            pass


def _follow_evaluation(run: Run, record: EvaluationRecord) -> None:
    name = f"{record.dataset} avg@{record.num_samples}"
    if run.eval_name is None:
        run.eval_name = name
        run.eval_base = record.avg_at_k.value
    if run.eval_name != name or record.step < (run.eval_step or 0):
        return
    if run.eval_problems is not None and not same_problems(run.eval_problems, record.problem_set):
        # On other problems nothing was measured before.
        run.eval_base = None
    run.eval_num_problems, run.eval_problems = len(record.num_correct), record.problem_set
    run.eval_step = record.step
    run.eval_latest = record.avg_at_k.value


def _announce(session: Session, run: Run, lines: Sequence[Parsed]) -> None:
    steps = [line.record.step for line in lines if isinstance(line.record, StepRecord)]
    if steps:
        announce(
            session,
            run.id,
            "step",
            {
                "from_step": min(steps),
                "step": max(steps),
                "num_steps": run.num_steps,
                "num_rollouts": run.num_rollouts,
                "reward_mean": run.reward_mean,
            },
        )
    for line in lines:
        match line.record:
            case EvaluationRecord():
                data: dict[str, Any] = {"dataset": line.record.dataset, "value": line.record.avg_at_k.value}
            case TrackingRecord():
                data = {"replicate": line.record.replicate}
            case EventRecord():
                data = {"event": line.record.event, "message": line.record.message[:500]}
            case _:
                continue
        announce(session, run.id, line.record.type, {"step": line.record.step, **data})
