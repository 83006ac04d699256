"""Rows of a dump → steps of rollout groups, of which one is in memory at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from bapo.observe.dumps.columns import Rollout
from bapo.observe.dumps.formats import Dump, DumpFile
from bapo.observe.dumps.problems import row_error
from bapo.observe.dumps.rows import read_rows
from bapo.observe.group import Group

REPEATS = "steps that repeat the rollouts of the one before"


class DumpedStep(NamedTuple):
    """The rollouts of one step."""

    step: int
    """As the dump counts."""
    rollouts: Sequence[Rollout]
    file: DumpFile
    """The last one that holds some of them."""


def read_steps(dump: Dump, left_out: Counter[str]) -> Iterator[DumpedStep]:
    """The steps in order; counts in `left_out` what is not taken.

    Raises ConfigError for a row that cannot be read, and for steps that go back.
    """
    current: list[Rollout] = []
    step, latest = 0, dump.files[0] if dump.files else None
    before: tuple[Any, ...] = ()
    for file in dump.files:
        for number, values in read_rows(dump.folder, file.parts, left_out):
            read = dump.read(file.name, number, values)
            its = file.step if read.step is None else read.step
            if its is None:
                remedy = "the row has no step: add --column step=COLUMN"
                raise row_error("step", file.name, number, None, remedy)
            if current and its != step:
                if its < step:
                    remedy = f"it comes after step {step}: sort the rows, or the names of the files, by step"
                    raise row_error("step", file.name, number, its, remedy)
                assert latest is not None, "it held the rows"
                told = _told(current) if dump.repeats else ()
                if told and told == before:
                    left_out[REPEATS] += 1
                else:
                    yield DumpedStep(step, current, latest)
                current, before = [], told
            step, latest = its, file
            current.append(read)
    if current and latest is not None:
        if dump.repeats and _told(current) == before:
            left_out[REPEATS] += 1
        else:
            yield DumpedStep(step, current, latest)


def _told(rollouts: Sequence[Rollout]) -> tuple[Any, ...]:
    """Enough to recognise the rollouts; the hashes of the texts, so that the texts themselves can go."""
    return tuple((hash(str(each.prompt)), hash(each.response), each.reward) for each in rollouts)


def groups_of(rollouts: Sequence[Rollout], source: str | None, group_size: int | None = None) -> list[Group]:
    """The groups of a step, in the order of their first responses.

    Responses belong together by the dump's own mark, and without one by prompt and data source: then a prompt that was
    drawn k times gives k groups of `group_size`, or of the size that most have.
    """
    together: dict[Any, list[Rollout]] = {}
    for each in rollouts:
        key = (each.source, each.group) if each.group is not None else (each.source, None, _key(each.prompt))
        together.setdefault(key, []).append(each)
    sizes = Counter(map(len, together.values()))
    size = group_size or max(sizes, key=lambda size: (sizes[size], size))
    groups = []
    for members in together.values():
        is_several = members[0].group is None and len(members) > size and len(members) % size == 0
        parts = range(0, len(members), size) if is_several else (0,)
        groups += [_group(members[at : at + size] if is_several else members, source) for at in parts]
    return groups


def _key(prompt: Any) -> Any:
    return prompt if isinstance(prompt, str) else orjson.dumps(prompt, default=str)


def _group(members: Sequence[Rollout], source: str | None) -> Group:
    first = members[0]
    texts = [each.response for each in members]
    lengths = [each.num_tokens for each in members]
    cuts = [each.is_cut for each in members]
    versions = {each.policy_version for each in members}
    return Group(
        first.prompt,
        [each.reward for each in members],
        [text for text in texts if text is not None] if None not in texts else None,
        [length for length in lengths if length is not None] if None not in lengths else None,
        [cut for cut in cuts if cut is not None] if None not in cuts else None,
        answer=first.answer,
        # Of several policies within a group none is its policy.
        policy_version=first.policy_version if len(versions) == 1 else None,
        source=first.source or source,
    )
