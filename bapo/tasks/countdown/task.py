"""Countdown as a task: training problems and the held-out sets CD-34 and CD-4, disjoint by number multiset."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from bapo.config.errors import ConfigError, ConfigProblem
from bapo.config.task import CountdownTaskConfig
from bapo.draws import generator
from bapo.tasks.base import Problems
from bapo.tasks.countdown.files import read_problems
from bapo.tasks.countdown.generation import CountdownProblem, ProblemRange, Split, as_problems, distinct_problems

CD_34 = "CD-34"
"""Held-out problems of three or four numbers."""
CD_4 = "CD-4"
"""Held-out problems of four numbers."""


def countdown_problems(section: CountdownTaskConfig) -> Problems:
    """Return Countdown problems from files, or generated ones if no file is named.

    No held-out problem has the numbers of a training problem, in any order. Of a train file, at most `num_train`
    problems are used. Without a test file, the held-out sets are taken out of the train file. With `held_out`
    "validation", the evaluation sets are others of the same kinds; of the generator, they cost no training problem.

    Raises:
        ConfigError: a file cannot be used, or there are not enough problems.
    """
    limits = ProblemRange(section.min_number, section.max_number, section.max_target, section.num_operands)
    train_file, num_test, seed = section.train_file, section.num_test, section.seed
    rows = read_problems(train_file, field="task.train_file") if train_file else None
    if section.test_file:
        test_rows = read_problems(section.test_file, field="task.test_file")
        tests = _held_out_from(test_rows, num_test, seed, field="task.test_file", path=section.test_file)
    elif rows is not None:
        tests = _held_out_from(rows, num_test, seed, field="task.train_file", path=train_file)
    else:
        tests = _generated_held_out(num_test, limits, seed, Split.TEST)
    held_out_multisets = _multisets(tests)
    evaluated = tests
    if section.held_out == "validation":
        evaluated = _validation(rows, held_out_multisets, num_test, limits, seed, path=train_file)
        held_out_multisets |= _multisets(evaluated)

    if rows is not None:
        train = [row for row in rows if row.multiset not in held_out_multisets]
        if not train:
            remedy = (
                f"all {len(rows)} problems have the numbers of a held-out problem, so none is left to train on; "
                "lower task.num_test or give more problems"
            )
            raise ConfigError([ConfigProblem("task.train_file", train_file, remedy)])
        if len(train) > section.num_train:
            train = generator(seed, 0, "countdown-train").sample(train, section.num_train)
    else:
        train = _generated_train(section.num_train, limits, seed, held_out_multisets)
    template = section.prompt_template
    return Problems(
        as_problems(train, "countdown", template),
        {name: as_problems(problems, name, template) for name, problems in evaluated.items()},
    )


def _generated_train(
    count: int, limits: ProblemRange, seed: int, held_out_multisets: Collection[tuple[int, ...]]
) -> list[CountdownProblem]:
    """Return training problems of the generator; only a test file can hold multisets of its training share."""
    draw = generator(seed, 0, "countdown-train")
    return distinct_problems(
        count, limits, Split.TRAIN, draw, without_multisets=held_out_multisets, field="task.num_train"
    )


def _multisets(held_out: Mapping[str, Sequence[CountdownProblem]]) -> set[tuple[int, ...]]:
    return {problem.multiset for problems in held_out.values() for problem in problems}


def _validation(
    rows: Sequence[CountdownProblem] | None,
    test_multisets: Collection[tuple[int, ...]],
    count: int,
    limits: ProblemRange,
    seed: int,
    *,
    path: str | None,
) -> dict[str, Sequence[CountdownProblem]]:
    """Return sets like the test sets, none of whose problems has the numbers of a test problem."""
    if rows is None:
        return _generated_held_out(count, limits, seed, Split.VALIDATION, test_multisets)
    others = [row for row in rows if row.multiset not in test_multisets]
    return _held_out_from(others, count, seed, field="task.train_file", path=path, purpose="countdown-validation")


def _generated_held_out(
    count: int, limits: ProblemRange, seed: int, split: Split, without_multisets: Collection[tuple[int, ...]] = ()
) -> dict[str, Sequence[CountdownProblem]]:
    """Return CD-34 and CD-4 of the generator: no problem in both."""
    mixed = distinct_problems(
        count,
        replace(limits, num_operands=(3, 4)),
        split,
        generator(seed, 0, f"countdown-{split}-34"),
        without_multisets=without_multisets,
        field="task.num_test",
    )
    four = distinct_problems(
        count,
        replace(limits, num_operands=(4,)),
        split,
        generator(seed, 0, f"countdown-{split}-4"),
        without=mixed,
        without_multisets=without_multisets,
        field="task.num_test",
    )
    return {CD_34: mixed, CD_4: four}


def _held_out_from(
    rows: Sequence[CountdownProblem],
    count: int,
    seed: int,
    *,
    field: str,
    path: str | None,
    purpose: str = "countdown-test",
) -> dict[str, Sequence[CountdownProblem]]:
    """Return CD-34 and CD-4 drawn from rows of a file: no problem in both, none twice in another order."""
    order = list(rows)
    generator(seed, 0, purpose).shuffle(order)
    taken: set[tuple[tuple[int, ...], int]] = set()

    def take(name: str, fits: Callable[[CountdownProblem], bool]) -> list[CountdownProblem]:
        problems: list[CountdownProblem] = []
        for row in order:
            if len(problems) == count:
                break
            if fits(row) and row.content not in taken:
                taken.add(row.content)
                problems.append(row)
        if len(problems) < count:
            remedy = (
                f"only {len(problems)} distinct problems are there for {name}, and task.num_test asks for {count}; "
                "lower task.num_test or give more problems"
            )
            raise ConfigError([ConfigProblem(field, path, remedy)])
        return problems

    return {
        CD_34: take(CD_34, lambda row: len(row.nums) in (3, 4)),
        CD_4: take(CD_4, lambda row: len(row.nums) == 4),
    }
