"""Logs in which steps or prompts come again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bapo.cli.import_dump import OpenedDump, show
from bapo.config import ConfigError
from bapo.observe.dumps.dump_import import Settings
from bapo.observe.dumps.formats import Format, open_dump
from bapo.records import EventRecord, StepRecord
from bapo.run.journal import merged_records, read_records
from bapo.run.run_folder import read_config
from tests.support.dumps import imported, problem_of, steps_of, write_rows

Row = Mapping[str, Any]


def step_rows(step: int, reward: float = 0.0, *, prompts: str = "ab", size: int = 2) -> list[Row]:
    """Return a step in which each prompt has `size` responses, one after the other; the first has the reward."""
    return [
        {"prompt": prompt, "response": f"{at}", "reward": reward if at == 0 else 0.0, "step": step}
        for prompt in prompts
        for at in range(size)
    ]


def log_of(path: Path, *steps: Sequence[Row]) -> Path:
    return write_rows(path, [row for step in steps for row in step])


def counts_of(folder: Path) -> dict[int, list[int]]:
    return {record.step: [visit.num_correct for visit in record.prompts] for record in steps_of(folder)}


def test_steps_that_a_resumed_trainer_repeats_replace_the_earlier_ones(tmp_path: Path) -> None:
    log = log_of(
        tmp_path / "log.jsonl",
        *(step_rows(step) for step in (1, 2, 3, 4)),
        *(step_rows(step, 1.0) for step in (3, 4, 5)),
    )
    result = imported(log, Format.JSONL, tmp_path / "run")

    # Nothing was right before the trainer resumed, and one response per prompt since.
    assert counts_of(tmp_path / "run") == {1: [0, 0], 2: [0, 0], 3: [1, 1], 4: [1, 1], 5: [1, 1]}
    assert (result.num_steps, result.last_step) == (5, 5)
    assert result.left_out == {"steps that a later attempt repeats": 2}
    assert any("step 3 comes again after step 4" in message for message in result.messages)
    events = [record for record in merged_records(tmp_path / "run") if isinstance(record, EventRecord)]
    assert events[-1].event == "finished"
    assert "2 × steps that a later attempt repeats" in events[-1].message


def test_a_resumed_trainer_that_begins_a_new_file_with_its_last_step_replaces_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log_of(log / "1.jsonl", *(step_rows(step) for step in (1, 2, 3)))
    log_of(log / "2.jsonl", *(step_rows(step, 1.0) for step in (3, 4)))
    result = imported(log, Format.JSONL, tmp_path / "run")
    assert counts_of(tmp_path / "run") == {1: [0, 0], 2: [0, 0], 3: [1, 1], 4: [1, 1]}
    assert result.left_out == {"steps that a later attempt repeats": 1}


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_step_that_a_log_continues_in_its_next_file_is_one_step(tmp_path: Path, at: int) -> None:
    log, cut = tmp_path / "log", step_rows(2, 1.0)
    log_of(log / "1.jsonl", step_rows(1), cut[:at])
    log_of(log / "2.jsonl", cut[at:], step_rows(3))
    result = imported(log, Format.JSONL, tmp_path / "run")
    assert counts_of(tmp_path / "run") == {1: [0, 0], 2: [1, 1], 3: [0, 0]}
    assert not result.left_out


def test_an_import_of_a_log_that_has_been_resumed_since_adds_the_attempt(tmp_path: Path) -> None:
    first = [step_rows(step) for step in (1, 2, 3)]
    log = log_of(tmp_path / "log.jsonl", *first)
    imported(log, Format.JSONL, tmp_path / "run")
    log_of(log, *first, *(step_rows(step, 1.0) for step in (2, 3, 4)))
    result = imported(log, Format.JSONL, tmp_path / "run")
    assert counts_of(tmp_path / "run") == {1: [0, 0], 2: [1, 1], 3: [1, 1], 4: [1, 1]}
    # 2 and 3 were there; 4 is new.
    assert (result.num_steps, result.last_step) == (1, 4)
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*.json*")}
    imported(log, Format.JSONL, tmp_path / "run")
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*.json*")} == before


def test_an_import_that_was_killed_within_a_later_attempt_is_completed(tmp_path: Path) -> None:
    log = log_of(
        tmp_path / "log.jsonl", *(step_rows(step) for step in (1, 2, 3)), *(step_rows(step, 1.0) for step in (2, 3))
    )
    imported(log, Format.JSONL, tmp_path / "run")
    path = tmp_path / "run/attempt-2/records.jsonl"
    kept = path.read_bytes().splitlines(keepends=True)
    # Its first record and step 2.
    path.write_bytes(b"".join(kept[:2]))
    imported(log, Format.JSONL, tmp_path / "run")
    assert counts_of(tmp_path / "run") == {1: [0, 0], 2: [1, 1], 3: [1, 1]}
    assert [
        record.step for record in read_records(tmp_path / "run/attempt-3/records.jsonl") if record.type == "step"
    ] == [3]


def test_a_resumed_log_that_was_sorted_since_has_the_later_rollouts(tmp_path: Path) -> None:
    log = log_of(tmp_path / "log.jsonl", step_rows(1), step_rows(2), step_rows(3), step_rows(3, 1.0), step_rows(4, 1.0))
    result = imported(log, Format.JSONL, tmp_path / "run")
    assert counts_of(tmp_path / "run") == {1: [0, 0], 2: [0, 0], 3: [1, 1], 4: [1, 1]}
    assert result.left_out == {"earlier_attempt": 2}


def test_a_sorted_log_of_a_trainer_that_began_again_has_the_later_rollouts(tmp_path: Path) -> None:
    repeated = [step_rows(step, reward) for step in (1, 2, 3) for reward in (0.0, 1.0)]
    log = log_of(tmp_path / "log.jsonl", *repeated, step_rows(4, 1.0))
    result = imported(log, Format.JSONL, tmp_path / "run")
    assert counts_of(tmp_path / "run") == {step: [1, 1] for step in (1, 2, 3, 4)}
    assert result.left_out == {"earlier_attempt": 6}
    assert read_config(tmp_path / "run").rollout.group_size == 2


def test_groups_that_were_generated_in_two_passes_are_whole(tmp_path: Path) -> None:
    log = log_of(tmp_path / "log.jsonl", *(step_rows(step, reward) for step in (1, 2) for reward in (0.0, 1.0)))
    result = imported(log, Format.JSONL, tmp_path / "run")
    # Nothing says that they are two attempts.
    assert read_config(tmp_path / "run").rollout.group_size == 4
    assert result.left_out == {}


def test_groups_of_another_size_are_left_out_and_not_split(tmp_path: Path) -> None:
    log = log_of(tmp_path / "log.jsonl", step_rows(1), step_rows(2, size=4), step_rows(3))
    result = imported(log, Format.JSONL, tmp_path / "run")
    assert list(counts_of(tmp_path / "run")) == [1, 3]
    assert result.left_out == {"group_size": 2, "step": 1}
    assert any("rewards has 4 values, and the run's groups have 2" in message for message in result.messages)


def test_prompts_that_were_all_drawn_twice_are_two_groups_each(tmp_path: Path) -> None:
    # As many rows as the step before: four groups of two.
    log = log_of(
        tmp_path / "log.jsonl",
        step_rows(1, prompts="abcd"),
        [*step_rows(2, prompts="ab"), *step_rows(2, 1.0, prompts="ab")],
    )
    result = imported(log, Format.JSONL, tmp_path / "run")
    assert counts_of(tmp_path / "run")[2] == [0, 1, 0, 1]
    assert result.left_out == {}


def test_rows_of_steps_that_are_mixed_are_refused(tmp_path: Path) -> None:
    step = step_rows(1)
    log = log_of(tmp_path / "log.jsonl", step[:3], step_rows(2), step[3:], step_rows(3))
    with pytest.raises(ConfigError) as found:
        imported(log, Format.JSONL, tmp_path / "run")
    # Rows 1 to 3, then the four of step 2.
    assert "log.jsonl, row 8: 1" in problem_of(found.value)
    assert "after step 2, with 1 rows of 3" in problem_of(found.value)
    assert "sort them by step" in problem_of(found.value)


def test_a_last_step_that_repeats_a_part_leaves_the_whole_one(tmp_path: Path) -> None:
    log = log_of(tmp_path / "log.jsonl", step_rows(1, 1.0), step_rows(2, 1.0), step_rows(1, 1.0), step_rows(2)[:3])
    result = imported(log, Format.JSONL, tmp_path / "run")
    assert counts_of(tmp_path / "run") == {1: [1, 1], 2: [1, 1]}
    assert result.left_out["responses of a last step that repeats an earlier one in part"] == 3


def test_files_that_each_hold_all_steps_are_refused(tmp_path: Path) -> None:
    for rank in (0, 1):
        log_of(tmp_path / f"logs/rank{rank}.jsonl", step_rows(1, prompts=f"{rank}"), step_rows(2, prompts=f"{rank}"))
    with pytest.raises(ConfigError) as found:
        imported(tmp_path / "logs", Format.JSONL, tmp_path / "run")
    assert "'rank1.jsonl, row 1: 1': rank0.jsonl has this step too" in problem_of(found.value)


def test_the_file_of_a_resumed_trainer_continues_the_one_before(tmp_path: Path) -> None:
    log_of(tmp_path / "logs/1-begun.jsonl", step_rows(1), step_rows(2), step_rows(3))
    log_of(tmp_path / "logs/2-resumed.jsonl", step_rows(3, 1.0), step_rows(4, 1.0))
    log_of(tmp_path / "logs/3-resumed.jsonl", step_rows(4), step_rows(5))
    imported(tmp_path / "logs", Format.JSONL, tmp_path / "run")
    found = [record.step for record in merged_records(tmp_path / "run") if isinstance(record, StepRecord)]
    assert found == [1, 2, 3, 4, 5]
    assert counts_of(tmp_path / "run")[4] == [0, 0]


def test_a_dry_run_counts_what_an_import_leaves_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = log_of(
        tmp_path / "log.jsonl",
        step_rows(1),
        step_rows(2),
        step_rows(3),
        step_rows(3, 1.0),
        step_rows(4),
        step_rows(4, 1.0),
        step_rows(4, 1.0),
    )
    show(OpenedDump(open_dump(log, Format.JSONL, {}), None), Settings())
    shown = " ".join(capsys.readouterr().out.split())
    assert "steps 4, from 1 to 4" in shown
    # Two of step 3, and twice two of step 4.
    assert "left out 6 × earlier_attempt" in shown
    assert "groups 8, 2 in the first step" in shown
