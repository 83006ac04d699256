"""Rows of a dump → steps of rollout groups, of which one is in memory at a time, and their lines of the record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, groupby
from typing import Any, NamedTuple

from bapo.observe.dumps.attempts import REPLACED, Attempts
from bapo.observe.dumps.columns import Rollout
from bapo.observe.dumps.formats import Dump
from bapo.observe.dumps.rows import DumpFile, dump_error, read_rows, row_error
from bapo.observe.group import Group
from bapo.observe.observation import Lines, Observation, RejectedStepError, Sizes

REPEATS = "steps that repeat the rollouts of the one before"
FAILED = "episodes that failed"
FILTERED = "episodes that the trainer filtered out"
MOST_AHEAD = 16
"""Steps that are in memory at once, and only where the log begins with steps that hold several attempts."""


class DumpedStep(NamedTuple):
    """The rollouts of one step."""

    step: int
    """Number of the step in the dump."""
    rollouts: Sequence[Rollout]
    file: DumpFile
    """The last one that holds some of them."""
    attempt: int
    """Number of the trainer's attempt, from 0: each time that the steps go back, it has resumed."""


class _Rows(NamedTuple):
    """Rows of one step that follow one another."""

    step: int
    rollouts: Sequence[Rollout]
    first_file: DumpFile
    file: DumpFile
    num_before: int
    """Rows of it that lie in files before the last one."""
    is_last: bool
    """True for the last step of the dump."""


def read_steps(dump: Dump, left_out: Counter[str]) -> Iterator[DumpedStep]:
    """Yield the steps in order; counts in `left_out` what is not taken.

    A step that comes again is one that a resumed trainer repeats. Raises ConfigError for a row that cannot be read, and
    where rows of several steps are mixed.
    """
    attempts = Attempts()
    before: tuple[Any, ...] = ()
    for found in _consecutive(dump, left_out):
        if dump.repeats:
            rollouts = _recognised(found.rollouts)
            if rollouts == before:
                left_out[REPEATS] += 1
                continue
            before = rollouts
        rows = _last_file_alone(found, attempts.group_size, left_out)
        keys = [_key(each) for each in rows.rollouts]
        if attempts.is_taken(rows.step, keys, rows.first_file.name, rows.rollouts[0].row, rows.is_last, left_out):
            yield DumpedStep(rows.step, rows.rollouts, rows.file, attempts.number)
    _count_left_out(dump, left_out)


def _consecutive(dump: Dump, left_out: Counter[str]) -> Iterator[_Rows]:
    current: list[Rollout] = []
    step = begun = num_before = 0
    first = latest = dump.files[0] if dump.files else None
    with_more = {file.parts[:-2] for file in dump.counted}
    for file in dump.files:
        is_new = True
        for number, values in read_rows(dump.folder, file.parts, left_out):
            read = dump.read(file.name, number, values)
            if not read and file.parts[:-2] not in with_more:
                left_out[FAILED] += 1
            for each in read:
                its = file.step if each.step is None else each.step
                if its is None:
                    remedy = "the row has no step: add --column step=COLUMN"
                    raise row_error("step", file.name, number, None, remedy)
                if is_new and current and latest is not None and its < step and its <= begun:
                    _refuse_parts(file, latest, number, its)
                if current and its != step:
                    assert first is not None, "it held the rows"
                    assert latest is not None, "it held the rows"
                    yield _Rows(step, current, first, latest, num_before, is_last=False)
                    current = []
                if not current:
                    first = file
                if is_new or not current:
                    num_before = len(current)
                if is_new:
                    is_new, begun = False, its
                step, latest = its, file
                current.append(each)
    if current and first is not None and latest is not None:
        yield _Rows(step, current, first, latest, num_before, is_last=True)


def _last_file_alone(rows: _Rows, group_size: int, left_out: Counter[str]) -> _Rows:
    """Leave out what the files before the last one have of a step that a resumed trainer began a new file with.

    Both hold the same prompts, in whole groups of the step before; a log that was cut between two rows holds others.
    """
    before, last = rows.rollouts[: rows.num_before], rows.rollouts[rows.num_before :]
    counts = Counter(map(_key, last))
    if not before or not group_size or Counter(map(_key, before)) != counts:
        return rows
    if any(count % group_size for count in counts.values()):
        return rows
    left_out[REPLACED] += 1
    return rows._replace(rollouts=last, first_file=rows.file, num_before=0)


def _refuse_parts(file: DumpFile, before: DumpFile, row: int, step: int) -> None:
    remedy = (
        f"{before.name} has this step too, and the file begins no later: if they are parts of one run, such as those "
        "of its ranks, put their rows into one file, sorted by step; if they are two runs, import each by itself"
    )
    raise row_error("step", file.name, row, step, remedy)


def _count_left_out(dump: Dump, left_out: Counter[str]) -> None:
    """Count the episodes that are in the files of all, and not in those that were read."""
    for file in dump.counted:
        num_good = 0
        for number, values in read_rows(dump.folder, file.parts, Counter()):
            if dump.read(file.name, number, values):
                num_good += 1
            else:
                left_out[FAILED] += 1
        taken = [each for each in dump.files if each.parts[:-2] == file.parts[:-2]]
        num_taken = sum(1 for each in taken for _ in read_rows(dump.folder, each.parts, Counter()))
        if num_good > num_taken:
            left_out[FILTERED] += num_good - num_taken


def _recognised(rollouts: Sequence[Rollout]) -> tuple[Any, ...]:
    """Return enough to recognise the rollouts: the hashes of the texts, so that the texts themselves can go."""
    return tuple((hash(each.prompt), hash(each.response), each.reward) for each in rollouts)


def _key(rollout: Rollout) -> int:
    return hash((rollout.source, rollout.prompt))


def sizes_ahead(steps: Iterator[DumpedStep]) -> tuple[Sizes | None, Iterator[DumpedStep]]:
    """Return the sizes of a log whose first steps hold several attempts, and all steps; None where one attempt is all.

    Of such a step alone, two attempts in groups of 4 look like one in groups of 8: the first step that a later attempt
    does not repeat says which.
    """
    seen: list[DumpedStep] = []
    sizes = None
    for step in steps:
        seen.append(step)
        first = seen[0].rollouts
        size = len(list(next(groupby(first, key=_key))[1]))
        if _num_repetitions(step.rollouts, size) == 1:
            counts = set(Counter(map(_key, step.rollouts)).values())
            if len(seen) > 1 and counts == {size}:
                sizes = Sizes(size, len(first) // _num_repetitions(first, size) // size)
            break
        if len(seen) == MOST_AHEAD:
            break
    return sizes, chain(seen, steps)


def latest_rollouts(rollouts: Sequence[Rollout], sizes: Sizes | None) -> tuple[Sequence[Rollout], int]:
    """Return the rollouts of the last attempt at a step, and the number of groups of those before it.

    A log that a resumed trainer appended to and that was sorted by step since has more rows in a step than others: all
    its prompts, in whole groups, and then all of them once more.
    """
    if sizes is None or len(rollouts) <= sizes.group_size * sizes.batch_size:
        return rollouts, 0
    num_repetitions = _num_repetitions(rollouts, sizes.group_size)
    num_kept = len(rollouts) // num_repetitions
    return rollouts[len(rollouts) - num_kept :], (len(rollouts) - num_kept) // sizes.group_size


def _num_repetitions(rollouts: Sequence[Rollout], group_size: int) -> int:
    """Count how often all prompts come in the same order, each with one group's responses in a row; 1 if not."""
    blocks = [(key, len(list(members))) for key, members in groupby(rollouts, key=_key)]
    keys = [key for key, _ in blocks]
    times = keys.count(keys[0])
    period = len(keys) // times
    is_whole = group_size > 1 and all(size == group_size for _, size in blocks)
    return times if is_whole and period > 1 and keys == keys[:period] * times else 1


def groups_of(rollouts: Sequence[Rollout], source: str | None, sizes: Sizes | None = None) -> list[Group]:
    """Return the groups of a step, in the order of their first responses.

    Responses belong together by the dump's own mark, and without one by prompt and data source: then a prompt that was
    drawn k times gives k groups of the run's size, or of the size that most have. Where all prompts of a step have
    twice as many responses as those of other steps, the size of the groups has changed.
    """
    together: dict[Any, list[Rollout]] = {}
    for each in rollouts:
        key = (each.source, each.group) if each.group is not None else (each.source, None, each.prompt)
        together.setdefault(key, []).append(each)
    counts = Counter(map(len, together.values()))
    size = sizes.group_size if sizes is not None else max(counts, key=lambda size: (counts[size], size))
    # Unless whole groups of the run's size follow one another.
    is_changed = len(counts) == 1 and size not in counts and _num_repetitions(rollouts, size) == 1
    groups = []
    for members in together.values():
        is_several = not is_changed and members[0].group is None and len(members) > size and len(members) % size == 0
        parts = range(0, len(members), size) if is_several else (0,)
        groups += [_group(members[at : at + size] if is_several else members, source) for at in parts]
    return groups


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


EVALUATION = "validation"
"""Name of a held-out set whose rows name no data source."""


def lines_of_step(
    observation: Observation, dumped: DumpedStep, step: int, source: str | None, *, at: float | None = None
) -> tuple[list[Group], Lines | None]:
    """Return the groups of a step, and its lines; None where it cannot be recorded, which is counted.

    Raises ConfigError where the groups of the run's first step have one response each.
    """
    rollouts, num_earlier = latest_rollouts(dumped.rollouts, observation.sizes)
    if num_earlier:
        message = f"step {step} has all its prompts again, in whole groups: the last of each count"
        observation.reject("earlier_attempt", message, count=num_earlier)
    groups = groups_of(rollouts, source, observation.sizes)
    try:
        return groups, observation.lines_of_step(step, groups, at=at)
    except RejectedStepError as error:
        if observation.sizes is None and error.kind == "group_size":
            remedy = "no prompt has two responses: name what a group has in common by --column group=COLUMN"
            raise dump_error("group", dumped.file.name, remedy) from None
        observation.reject(error.kind, str(error))
        return groups, None


def lines_of_evaluations(
    observation: Observation, dumped: DumpedStep, known: Collection[tuple[int, str]] = (), *, at: float | None = None
) -> Iterator[Lines]:
    """Yield the lines of an evaluation, one per data source that is not among the `known` steps and names.

    What cannot be recorded is counted.
    """
    by_source: dict[str, list[Group]] = {}
    for group in groups_of(dumped.rollouts, None):
        by_source.setdefault(group.source or EVALUATION, []).append(group)
    for name, groups in by_source.items():
        if (dumped.step, name) in known:
            continue
        sizes = Counter(len(group.rewards) for group in groups)
        size = max(sizes, key=lambda size: (sizes[size], size))
        same = [group for group in groups if len(group.rewards) == size]
        if len(same) < len(groups):
            message = f"a problem of {name} at step {dumped.step} has another number of responses than most, {size}"
            observation.reject("group_size", message, count=len(groups) - len(same))
        try:
            yield observation.lines_of_evaluation(dumped.step, name, same, at=at)
        except RejectedStepError as error:
            observation.reject(error.kind, str(error))
