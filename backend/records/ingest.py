"""Stores lines of an attempt's files. Sending lines again changes nothing; a later attempt's lines win."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson
from pydantic import ValidationError
from sqlalchemy.orm import Session

from backend.errors import Problem
from backend.events.repository import announce
from backend.metrics import instruments
from backend.models import Run
from backend.records import bounds, chunks, metric_keys, repository
from backend.records.best import best_evaluation
from backend.records.repository import array_of
from backend.runs import answers
from backend.samples import repository as samples
from bapo.api import RecordBatch
from bapo.records import AnyRecord, EvaluationRecord, EventRecord, StepRecord, TrackingRecord, metrics, parse_record

AVERAGE_WEIGHT = 0.2
"""Weight of the newest step in the average time of a step."""


class Line(NamedTuple):
    """A line and where it begins in its file."""

    position: int
    text: str


class Parsed(NamedTuple):
    """A line of records.jsonl."""

    position: int
    record: AnyRecord
    content: dict[str, Any]
    """The line as it stands, fields of a newer writer included."""
    metrics: dict[str, float]
    """Finite ones by name."""


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
        _store_records(session, run, batch.attempt, [_parse(line, run, batch.attempt) for line in lines])
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
            f"{len(batch.lines)} lines do not fill bytes {batch.start_offset}..{batch.end_offset}: send whole lines",
            field="end_offset",
            value=batch.end_offset,
        )


def new_lines(batch: RecordBatch, stored: int) -> Sequence[Line] | None:
    """The lines from the stored offset on, with their places; None where the batch cannot be cut there."""
    positions = [batch.start_offset]
    for line in batch.lines:
        positions.append(positions[-1] + len(line.encode()) + 1)
    if positions[-1] == batch.end_offset:
        if stored not in positions:
            return None
        begin = positions.index(stored)
        places = positions[begin:-1]
    else:
        # Bytes that were not UTF-8 were replaced and count differently. Places need only be distinct.
        if stored != batch.start_offset:
            return None
        begin = 0
        places = [batch.start_offset + number for number in range(len(batch.lines))]
    return [Line(place, _storable(line)) for place, line in zip(places, batch.lines[begin:], strict=True)]


def _storable(line: str) -> str:
    """PostgreSQL holds no NUL: a model's output may."""
    return line.replace("\x00", "\ufffd").replace("\\u0000", "\\ufffd")


def _parse(line: Line, run: Run, attempt: int) -> Parsed:
    try:
        record = parse_record(line.text)
        content = orjson.loads(line.text)
        if (fault := bounds.fault(record)) is not None:
            raise ValueError(fault)
    except ValueError as error:
        # One bad line must not hold up all that follow.
        record = _complaint(line, run, attempt, error)
        content = record.model_dump(mode="json", by_alias=True)
    values = metrics(record)
    return Parsed(line.position, record, content, values if isinstance(record, StepRecord) else _finite(values))


def _complaint(line: Line, run: Run, attempt: int, error: Exception) -> EventRecord:
    cause = error.errors(include_url=False)[0]["msg"] if isinstance(error, ValidationError) else str(error)
    return EventRecord(
        attempt=attempt,
        step=run.step,
        event="warning",
        message=f"the line at byte {line.position} of attempt-{attempt}/records.jsonl is no record: {cause}",
        data={"line": line.text[:1_000]},
    )


def _store_records(session: Session, run: Run, attempt: int, lines: Sequence[Parsed]) -> None:
    steps = {line.record.step: line for line in lines if isinstance(line.record, StepRecord)}
    newer: set[int] = set()
    if attempt < run.attempt:
        newer = repository.steps_of_later_attempts(session, run.id, attempt, list(steps))
    kept = [line for step, line in steps.items() if step not in newer]
    touched = {chunks.chunk_of(line.record.step) for line in kept}
    if kept:
        chunks.dissolve(session, run.id, _complete(run, touched))
        rows = (_step_columns(attempt, line) for line in kept)
        repository.replace_steps(session, run.id, [line.record.step for line in kept], rows)
    sparse = [_sparse_row(run.id, attempt, line) for line in lines if not isinstance(line.record, StepRecord)]
    if sparse:
        repository.upsert_sparse(session, sparse)
    metric_keys.add(session, run.id, set().union(*(line.metrics for line in lines)))
    instruments.count_on_commit(session, instruments.INGEST_POINTS, sum(len(line.metrics) for line in lines))
    for line in lines:
        _follow(session, run, line.record)
    if run.eval_name is not None and any(isinstance(line.record, EvaluationRecord) for line in lines):
        # Read anew: what a later attempt repeats may have replaced the best one.
        run.eval_best, run.eval_best_step = best_evaluation(session, run.id, run.eval_name)
    chunks.compact(session, run.id, _complete(run, touched))
    _announce(session, run, lines)


def _complete(run: Run, touched: set[int]) -> set[int]:
    """Those of the chunks that can have all their steps: their last one is there."""
    return {chunk for chunk in touched if chunks.last_step(chunk) <= run.step}


def _finite(values: dict[str, float]) -> dict[str, float]:
    return {key: value for key, value in values.items() if math.isfinite(value)}


def _step_columns(attempt: int, line: Parsed) -> repository.StepColumns:
    record = line.record
    assert isinstance(record, StepRecord), "sorted out by the caller"
    visits = record.prompts
    content = {name: value for name, value in line.content.items() if name != "prompts"}
    return repository.StepColumns(
        step=record.step,
        attempt=attempt,
        metrics=orjson.dumps(line.metrics).decode(),
        fresh_histogram=array_of(record.fresh_histogram),
        reevaluated_histogram=array_of(record.reevaluated_histogram),
        batch_histogram=array_of(record.batch_histogram),
        record=orjson.dumps(content).decode(),
        prompt_ids=array_of([visit.prompt_id for visit in visits]),
        prompt_sources=array_of([visit.source for visit in visits]),
        prompt_num_correct=array_of([visit.num_correct for visit in visits]),
        prompt_policy_versions=array_of([visit.policy_version for visit in visits]),
        prompt_in_batch=array_of([visit.in_batch for visit in visits]),
        prompt_reasons=array_of([visit.reason for visit in visits]),
    )


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
        "metrics": line.metrics,
        "record": line.content,
    }


def _follow(session: Session, run: Run, record: AnyRecord) -> None:
    """Keep the run's own row up to date, which lists of runs read."""
    match record:
        case StepRecord() if record.step >= run.step:
            run.step = record.step
            run.num_steps = record.num_steps
            run.num_rollouts = record.cost.num_rollouts
            run.reward_mean = record.reward_mean if math.isfinite(record.reward_mean) else None
            seconds = record.timing.get("step")
            if seconds is not None and math.isfinite(seconds):
                before = seconds if run.step_seconds is None else run.step_seconds
                run.step_seconds = AVERAGE_WEIGHT * seconds + (1 - AVERAGE_WEIGHT) * before
        case EvaluationRecord():
            name = f"{record.dataset} avg@{record.num_samples}"
            if run.eval_name is None:
                run.eval_name = name
                run.eval_base = record.avg_at_k.value
            if run.eval_name == name and record.step >= (run.eval_step or 0):
                run.eval_step = record.step
                run.eval_latest = record.avg_at_k.value
        case EventRecord():
            if record.event == "started":
                run.num_steps = int(record.data.get("num_steps", run.num_steps))
            answers.note(session, run, record)
        case _:
            pass


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
