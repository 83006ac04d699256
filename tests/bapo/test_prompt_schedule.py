from __future__ import annotations

from bapo.prompt_schedule import PromptSchedule
from bapo.tasks.base import Problem

PROBLEMS = [Problem(f"p{i}", "source", f"prompt {i}", {}) for i in range(10)]


def schedule(*, batch_size: int = 4, seed: int = 42) -> PromptSchedule:
    return PromptSchedule(PROBLEMS, batch_size=batch_size, seed=seed)


def ids(schedule: PromptSchedule, step: int) -> list[str]:
    return [problem.prompt_id for problem in schedule.batch(step)]


def test_an_epoch_is_one_pass_whose_last_batch_is_smaller() -> None:
    ours = schedule()
    assert ours.steps_per_epoch == 3
    epoch = [ids(ours, step) for step in (1, 2, 3)]
    assert [len(batch) for batch in epoch] == [4, 4, 2]
    assert sorted(prompt_id for batch in epoch for prompt_id in batch) == sorted(
        problem.prompt_id for problem in PROBLEMS
    )


def test_epochs_count_from_zero_and_are_shuffled_apart() -> None:
    ours = schedule()
    assert [ours.epoch_of(step) for step in (1, 3, 4, 6, 7)] == [0, 0, 1, 1, 2]
    assert [ids(ours, step) for step in (1, 2, 3)] != [ids(ours, step) for step in (4, 5, 6)]


def test_batches_that_divide_the_problems_are_all_full() -> None:
    ours = schedule(batch_size=5)
    assert ours.steps_per_epoch == 2
    assert [len(ids(ours, step)) for step in (1, 2, 3)] == [5, 5, 5]


def test_a_batch_larger_than_the_data_is_the_whole_data_once() -> None:
    ours = schedule(batch_size=99)
    assert ours.steps_per_epoch == 1
    assert sorted(ids(ours, 1)) == sorted(ids(ours, 2)) == sorted(problem.prompt_id for problem in PROBLEMS)


def test_any_step_can_be_asked_for_first() -> None:
    in_order = schedule()
    all_steps = {step: ids(in_order, step) for step in range(1, 10)}
    resumed = schedule()
    for step in (8, 2, 9, 1):
        assert ids(resumed, step) == all_steps[step]


def test_the_seed_decides_the_order() -> None:
    assert ids(schedule(seed=1), 1) == ids(schedule(seed=1), 1) != ids(schedule(seed=2), 1)
