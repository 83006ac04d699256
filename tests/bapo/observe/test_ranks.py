"""Several processes of one training job, each of which tells its own groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bapo import observe
from bapo.config import ConfigError
from bapo.observe import Group, ObservedRun, rank_merge
from bapo.records import EvaluationRecord, StepRecord, comparable, metrics
from bapo.run.journal import merged_records
from tests.support.dumps import events_of, steps_of
from tests.support.observed_loops import Loop
from tests.support.waiting import wait_until


def begin(folder: Path, rank: int, world_size: int = 2, **given: Any) -> ObservedRun:
    return observe.run("ours", folder=folder, rank=rank, world_size=world_size, **given)


def groups_of(step: int, rank: int) -> list[Group]:
    """Two groups, of which the first is another one on each rank and in each step."""
    return [
        Group(f"{step} + {rank} = ?", [1, 0, 0, step % 2], ["a", "b", "c", "d"], [3, 4, 5, 6], policy_version=step - 1),
        Group("2 + 2 = ?", [1, 1, 1, 1], ["4", "4", "4", "4"], [1, 1, 1, 1], policy_version=step - 1),
    ]


def missing(steps: Sequence[StepRecord]) -> list[tuple[int, ...]]:
    return [tuple(step.rewards.missing_ranks) for step in steps if step.rewards]


def test_the_parts_of_all_ranks_are_the_record_of_one_process_that_has_all_groups(tmp_path: Path) -> None:
    bad = Group("p", [1, 0])
    with begin(tmp_path / "ours", 0) as zero, begin(tmp_path / "ours", 1) as one:
        for step in (1, 2):
            one.step(step, groups=[*groups_of(step, 1), bad], metrics={"loss": 3.0, "only/one": 5.0})
            zero.step(step, groups=groups_of(step, 0), metrics={"loss": 1.0})
        one.evaluation(2, dataset="exam", groups=groups_of(9, 1))
        zero.evaluation(2, dataset="exam", groups=groups_of(9, 0))
        assert (zero.rejections, one.rejections) == ({}, {"group_size": 2})
    with observe.run("alone", folder=tmp_path / "alone") as alone:
        for step in (1, 2):
            groups = [*groups_of(step, 0), *groups_of(step, 1), bad]
            alone.step(step, groups=groups, metrics={"loss": 2.0, "only/one": 5.0})
        alone.evaluation(2, dataset="exam", groups=[*groups_of(9, 0), *groups_of(9, 1)])

    ours, theirs = (
        [record for record in merged_records(tmp_path / name) if isinstance(record, StepRecord | EvaluationRecord)]
        for name in ("ours", "alone")
    )
    assert list(map(comparable, ours)) == list(map(comparable, theirs))
    # Also what the server needs of each: its config, and how it ended.
    configs = [(tmp_path / name / "config.json").read_text() for name in ("ours", "alone")]
    assert configs[0] == configs[1]
    assert events_of(tmp_path / "ours")[-1].message == events_of(tmp_path / "alone")[-1].message
    assert events_of(tmp_path / "ours")[-1].data["rejected"] == {"group_size": 2}
    # Four groups of a step are kept as text, whichever rank has them.
    samples = [(tmp_path / name / "attempt-1" / "samples.jsonl").read_text() for name in ("ours", "alone")]
    assert [text.count('"type":"sample"') for text in samples] == [8, 8]
    # Nothing is kept twice once it is merged.
    assert not list((tmp_path / "ours" / "ranks").glob("*/*"))


def test_a_step_waits_for_a_late_rank_and_the_trainer_for_nobody(tmp_path: Path) -> None:
    with begin(tmp_path, 0) as zero:
        for step in (1, 2, 3):
            zero.step(step, groups=groups_of(step, 0))
        assert steps_of(tmp_path) == []
        with begin(tmp_path, 1) as one:
            one.step(1, groups=groups_of(1, 1))
            wait_until(lambda: len(steps_of(tmp_path)) == 1)
            # Step 2 is none of this rank's; and in step 3 it has no group, which is as good as some.
            one.step(3, groups=[])
    steps = steps_of(tmp_path)
    assert [len(step.prompts) for step in steps] == [4, 2, 2]
    assert missing(steps) == [(), (1,), ()]
    assert metrics(steps[1])["bapo/rewards/missing_ranks"] == 1
    assert events_of(tmp_path)[-1].data["rejected"] == {"missing_rank": 1}


def test_a_rank_that_never_tells_is_named_and_nothing_of_the_others_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(rank_merge, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(rank_merge, "CLOSING_SECONDS", 0.0)
    one = begin(tmp_path, 1)
    with begin(tmp_path, 0) as zero:
        zero.step(1, groups=groups_of(1, 0))
        zero.evaluation(1, dataset="exam", groups=groups_of(9, 0))
        wait_until(lambda: "steps wait for rank 1, which runs" in caplog.text)
        assert steps_of(tmp_path) == []
    one.finish()
    assert missing(steps_of(tmp_path)) == [(1,)]
    # A part of a held-out set would have another accuracy than the set.
    assert not [record for record in merged_records(tmp_path) if isinstance(record, EvaluationRecord)]
    assert events_of(tmp_path)[-1].data["rejected"] == {"missing_rank": 1, "evaluation": 1}


def test_a_rank_that_failed_is_told_of(tmp_path: Path) -> None:
    with begin(tmp_path, 0) as zero:
        one = begin(tmp_path, 1)
        zero.step(1, groups=groups_of(1, 0))
        one.step(1, groups=groups_of(1, 1))
        one.finish(RuntimeError("out of memory"))
        zero.step(2, groups=groups_of(2, 0))
    assert missing(steps_of(tmp_path)) == [(), (1,)]
    assert "rank 1 ended: RuntimeError: out of memory" in [event.message for event in events_of(tmp_path)]


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("world_size", {"rank": 0, "world_size": 0}),
        ("world_size", {"rank": 0, "world_size": "2"}),
        ("rank", {"rank": 2, "world_size": 2}),
        ("folder", {"rank": 0, "world_size": 2, "folder": None}),
    ],
)
def test_ranks_that_cannot_be_are_named(tmp_path: Path, field: str, given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        observe.run("ours", **{"folder": tmp_path / "run", **given})
    assert [problem.field for problem in caught.value.problems] == [field]


def test_a_rank_is_one_process_and_all_have_one_world_size(tmp_path: Path) -> None:
    with begin(tmp_path, 0) as zero, begin(tmp_path, 1) as one:
        with pytest.raises(ConfigError, match="another process of rank 1 records to"):
            begin(tmp_path, 1)
        with begin(tmp_path, 2, world_size=3) as other:
            other.step(1, groups=groups_of(1, 2))
        zero.step(1, groups=groups_of(1, 0))
        one.step(1, groups=groups_of(1, 1))
    assert [len(step.prompts) for step in steps_of(tmp_path)] == [4]
    assert "rank 2 was given world_size 3, and rank 0 2" in "".join(event.message for event in events_of(tmp_path))


class Rank(NamedTuple):
    """A rank that hangs in the middle of its last step until it is released."""

    loop: Loop
    process: BaseProcess

    def has_recorded_all(self) -> bool:
        return self.loop.has_paused(self.loop.last)

    def kill(self) -> None:
        self.process.kill()
        self.process.join()

    def end(self) -> int | None:
        self.loop.release(self.loop.last)
        wait_until(lambda: self.process.exitcode is not None)
        return self.process.exitcode


Start = Callable[[int, int, int], Rank]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running: list[BaseProcess] = []

    def begun(rank: int, first: int, last: int) -> Rank:
        given = {"name": "ours", "rank": rank, "world_size": 3}
        loop = Loop(tmp_path / "run", first, last, pauses=(last,), given=given)
        running.append(loop.start())
        return Rank(loop, running[-1])

    yield begun
    for process in running:
        process.kill()
        process.join()


def end_all(*ranks: Rank) -> list[int | None]:
    """Release all before waiting for any: rank 0 ends after the others."""
    for rank in ranks:
        rank.loop.release(rank.loop.last)
    return [rank.end() for rank in ranks]


def test_a_killed_rank_costs_its_own_groups_until_it_is_back_and_each_step_says_so(
    tmp_path: Path, start: Start
) -> None:
    folder = tmp_path / "run"
    zero, one, two = start(0, 1, 12), start(1, 1, 12), start(2, 1, 5)
    wait_until(lambda: zero.has_recorded_all() and two.has_recorded_all() and len(steps_of(folder)) == 5)
    two.kill()
    zero.loop.lose_patience()
    wait_until(lambda: len(steps_of(folder)) == 12)
    # It repeats a step that it had told, and goes on where the others are.
    again = start(2, 5, 14)
    wait_until(again.has_recorded_all)
    assert end_all(zero, one, again) == [0, 0, 0]
    steps = steps_of(folder)
    assert [step.step for step in steps] == list(range(1, 15))
    assert missing(steps) == [()] * 5 + [(2,)] * 7 + [(0, 1)] * 2
    assert [len(step.prompts) for step in steps] == [3] * 5 + [2] * 7 + [1] * 2
    rejected = events_of(folder)[-1].data["rejected"]
    # 7 steps without one rank and 2 without two; 5 to 12 came again, too late.
    assert rejected == {"missing_rank": 7 + 2 * 2, "late_rank": 8}


def test_what_ranks_told_survives_the_kill_of_all_and_is_merged_when_they_start_again(
    tmp_path: Path, start: Start
) -> None:
    folder = tmp_path / "run"
    first = [start(0, 1, 4), start(1, 1, 6), start(2, 1, 5)]
    wait_until(lambda: all(rank.has_recorded_all() for rank in first))
    for rank in first:
        rank.kill()
    # Rank 1 is there before rank 0, and all go on from a checkpoint after step 4.
    one = start(1, 5, 7)
    wait_until(one.has_recorded_all)
    assert end_all(one, start(2, 5, 7), start(0, 5, 7)) == [0, 0, 0]
    steps = steps_of(folder)
    assert [(step.step, step.attempt) for step in steps] == [(n, 1) for n in range(1, 5)] + [(5, 2), (6, 2), (7, 2)]
    assert missing(steps) == [()] * 7
    earlier = (folder / "attempt-1" / "records.jsonl").read_bytes()
    # Steps 5 and 6 are in the record of the killed attempt too, for what they are.
    assert earlier.count(b'"missing_ranks":[0]') == 1
    assert earlier.count(b'"missing_ranks":[0,2]') == 1


def test_a_run_whose_rank_0_never_comes_back_is_completed_before_it_is_imported(tmp_path: Path, start: Start) -> None:
    folder = tmp_path / "run"
    ranks = [start(0, 1, 2), start(1, 1, 3), start(2, 1, 3)]
    wait_until(lambda: all(rank.has_recorded_all() for rank in ranks) and len(steps_of(folder)) == 2)
    rank_merge.merge_left_over(folder)
    assert len(steps_of(folder)) == 2, "its rank 0 runs"
    for rank in ranks:
        rank.kill()
    for _ in range(2):
        rank_merge.merge_left_over(folder)
        assert missing(steps_of(folder)) == [(), (), (0,)]
