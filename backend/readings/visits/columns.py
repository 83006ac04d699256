"""Holds the steps of a run with their visits as columns, and appends later steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from itertools import chain, count
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from backend.readings.visits.repository import StepOf, StepVisits
from bapo.analysis.visits import SOURCES, UNKNOWN_VERSION, Visits

_BYTES_PER_RUN = 2_048
_BYTES_PER_STEP = 128
_BYTES_PER_PROMPT = 128
_BYTES_PER_VISIT = 16
NO_DIGEST = 0
_SOURCE_NUMBER = {source.value: number for number, source in enumerate(SOURCES)}


class RunColumns(NamedTuple):
    """Stored visits of a run as columns."""

    steps: Sequence[StepOf]
    """Each step and the attempt that recorded it, by step."""
    first_visits: NDArray[np.int64]
    """Row of each step's first visit; one more element for the end."""
    digests: NDArray[np.int64]
    """Digest of each step's answers and of when they were recorded: a copy of the step has the same in another run.
    `NO_DIGEST` where the step records no time, without which equal counts do not show a copy."""
    visits: Visits

    @property
    def num_bytes(self) -> int:
        """About what it takes in memory."""
        return (
            _BYTES_PER_RUN
            + _BYTES_PER_STEP * len(self.steps)
            + _BYTES_PER_PROMPT * len(self.visits.prompt_ids)
            + _BYTES_PER_VISIT * len(self.visits.step)
        )


def no_steps(group_size: int) -> RunColumns:
    """Return a run that has recorded nothing."""
    return extended(RunColumns((), np.zeros(1, np.int64), np.zeros(0, np.int64), _nothing(group_size)), ())


def up_to(columns: RunColumns, num_steps: int) -> RunColumns:
    """Return the first steps. Prompts are numbered in order of appearance, so that those seen by then come first."""
    if num_steps == len(columns.steps):
        return columns
    end = int(columns.first_visits[num_steps])
    visits = columns.visits
    num_prompts = int(visits.prompt[:end].max(initial=-1)) + 1
    return RunColumns(
        columns.steps[:num_steps],
        columns.first_visits[: num_steps + 1],
        columns.digests[:num_steps],
        Visits(
            visits.prompt_ids[:num_prompts],
            visits.group_size,
            visits.step[:end],
            visits.prompt[:end],
            visits.source[:end],
            visits.num_correct[:end],
            visits.policy_version[:end],
            visits.in_batch[:end],
        ),
    )


def extended(columns: RunColumns, batches: Iterable[Sequence[StepVisits]]) -> RunColumns:
    """Return the columns with further steps, which are later than all that are there."""
    before = columns.visits
    codes = _Codes(zip(before.prompt_ids, count(), strict=False))
    steps = list(columns.steps)
    first_visits = [columns.first_visits]
    digests = [columns.digests]
    parts = [before]
    num_visits = int(columns.first_visits[-1])
    for batch in batches:
        counts = [len(row.prompt_ids) for row in batch]
        steps += [row.place for row in batch]
        first_visits.append(num_visits + np.cumsum(counts, dtype=np.int64))
        digests.append(np.fromiter(map(_digest, batch), dtype=np.int64, count=len(batch)))
        num_visits += sum(counts)
        parts.append(_visits_of(batch, counts, codes, before.group_size))
    visits = Visits(
        tuple(codes),
        before.group_size,
        _joined([part.step for part in parts]),
        _joined([part.prompt for part in parts]),
        _joined([part.source for part in parts]),
        _joined([part.num_correct for part in parts]),
        _joined([part.policy_version for part in parts]),
        _joined([part.in_batch for part in parts]),
    )
    return RunColumns(tuple(steps), _joined(first_visits), _joined(digests), visits)


def _digest(row: StepVisits) -> int:
    if row.unix_time is None:
        return NO_DIGEST
    answers = (row.place.step, row.unix_time, row.prompt_ids, row.sources, row.num_correct, row.policy_versions)
    return int.from_bytes(blake2b(orjson.dumps(answers), digest_size=8).digest(), signed=True)


class _Codes(dict[str, int]):
    """Prompts by number, in order of appearance: what is asked for first has the next one."""

    def __missing__(self, prompt_id: str) -> int:
        code = self[prompt_id] = len(self)
        return code


def _visits_of(batch: Sequence[StepVisits], counts: Sequence[int], codes: _Codes, group_size: int) -> Visits:
    total = sum(counts)

    def flat(select: Callable[[StepVisits], Sequence[Any]], dtype: type[np.generic]) -> NDArray[Any]:
        return np.fromiter(chain.from_iterable(map(select, batch)), dtype=dtype, count=total)

    prompts = map(codes.__getitem__, chain.from_iterable(row.prompt_ids for row in batch))
    sources = map(_SOURCE_NUMBER.__getitem__, chain.from_iterable(row.sources for row in batch))
    return Visits(
        (),
        group_size,
        np.repeat(np.array([row.place.step for row in batch], dtype=np.int32), counts),
        np.fromiter(prompts, dtype=np.int32, count=total),
        np.fromiter(sources, dtype=np.int8, count=total),
        flat(lambda row: row.num_correct, np.int16),
        flat(lambda row: _known_versions(row.policy_versions), np.int32),
        flat(lambda row: row.in_batch, np.bool_),
    )


def _known_versions(versions: Sequence[int | None]) -> Sequence[int | None]:
    # Most runs tell all of them: looking for what is missing costs less than going through each.
    if None not in versions:
        return versions
    return [UNKNOWN_VERSION if version is None else version for version in versions]


def _nothing(group_size: int) -> Visits:
    return _visits_of((), (), _Codes(), group_size)


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return one array of all parts, which several requests will read and none may write to."""
    whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
    whole.setflags(write=False)
    return whole
