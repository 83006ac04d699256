"""Episodes of a current prime-rl."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bapo.cli.import_dump import DumpOptions, OpenedDump, opened, show
from bapo.config import ConfigError
from bapo.observe.dumps.dump_import import Imported, Settings, import_dump
from bapo.observe.dumps.formats import Format, open_dump
from bapo.records import EvaluationRecord
from bapo.rollout import prompt_identity
from bapo.run.journal import merged_records
from tests.support.dumps import imported, problem_of, steps_of, write_rows


def trace(question: str, score: float, **given: Any) -> dict[str, Any]:
    return {
        "agent": {"name": "solver", "trainable": True},
        "nodes": [
            {"parent": None, "message": {"role": "user", "content": question}, "mask": [False, False]},
            {"parent": 0, "message": {"role": "assistant", "content": f"{score}"}, "mask": [True, True, True]},
        ],
        "calls": [{"node": 1, "finish_reason": "stop"}],
        "rewards": {"correct": {"score": score, "weight": 1.0}},
        **given,
    }


def episode(group: str, *traces: dict[str, Any], step: int = 0, **given: Any) -> dict[str, Any]:
    return {
        "env": {"id": "sums", "name": "sums-train"},
        "task": {"type": "Sum", "data": {"answer": "4"}, "key": group},
        "group": {"id": group},
        "run": {"work": {"type": "train", "step": step, "policy": {"start": step, "end": step}}},
        "ok": bool(traces),
        "errors": [],
        "traces": list(traces),
        **given,
    }


def of_group(group: str, *scores: float, step: int = 0) -> list[dict[str, Any]]:
    return [episode(group, trace(f"question {group}", score), step=step) for score in scores]


def import_all(path: Path, out: Path) -> Imported:
    dump = opened(path, DumpOptions(Format.PRIME_RL, (), None, Settings()))
    return import_dump(dump.training, dump.evaluations, out, Settings())


def test_episodes_that_were_trained_on_become_groups_and_failed_ones_are_counted(tmp_path: Path) -> None:
    for step in (0, 1):
        taken = [*of_group(f"a{step}", 0.0, 1.0, step=step), *of_group(f"b{step}", 1.0, 1.0, step=step)]
        folder = tmp_path / f"rollouts/step_{step + 1}/train"
        write_rows(folder / "effective/traces.jsonl", taken)
        # One failed; a group in which all are wrong was filtered out.
        write_rows(folder / "all/traces.jsonl", [*taken, episode("c"), *of_group("d", 0.0, 0.0)])
    write_rows(tmp_path / "rollouts/step_2/eval/effective/traces.jsonl", of_group("held out", 1.0))
    result = import_all(tmp_path / "rollouts", tmp_path / "run")

    first, second = steps_of(tmp_path / "run")
    assert (first.step, second.step) == (1, 2)
    assert [visit.num_correct for visit in first.prompts] == [1, 2]
    assert [visit.policy_version for visit in second.prompts] == [1, 1]
    assert first.prompts[0].prompt_id == prompt_identity("sums-train", "question a0")
    assert (first.response_length_mean, first.response_clip_ratio) == (3.0, 0.0)
    assert result.left_out == {"episodes that failed": 2, "episodes that the trainer filtered out": 4}
    (held_out,) = [record for record in merged_records(tmp_path / "run") if isinstance(record, EvaluationRecord)]
    assert (held_out.step, held_out.dataset, list(held_out.num_correct)) == (2, "sums-train", [1])


def test_a_dry_run_says_what_each_field_was_read_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(tmp_path / "step_1/train/effective/traces.jsonl", of_group("a", 0.0, 1.0))
    show(OpenedDump(open_dump(tmp_path, Format.PRIME_RL, {}), None), Settings())
    shown = " ".join(capsys.readouterr().out.split())
    assert "steps 1, from 1 to 1" in shown
    assert "reward Σ score · weight of the named rewards" in shown
    assert "first step right responses, group by group: 1" in shown


def test_where_there_is_no_effective_file_all_that_did_not_fail_count(tmp_path: Path) -> None:
    write_rows(tmp_path / "step_1/train/all/traces.jsonl", [*of_group("a", 0.0, 1.0), episode("a")])
    result = imported(tmp_path, Format.PRIME_RL, tmp_path / "run")
    assert [visit.num_correct for visit in steps_of(tmp_path / "run")[0].prompts] == [1]
    assert result.left_out == {"episodes that failed": 1}


def test_the_folder_of_one_step_can_be_given(tmp_path: Path) -> None:
    write_rows(tmp_path / "step_3/train/effective/traces.jsonl", of_group("a", 0.0, 1.0))
    imported(tmp_path / "step_3/train/effective/traces.jsonl", Format.PRIME_RL, tmp_path / "run")
    assert [record.step for record in steps_of(tmp_path / "run")] == [3]


def test_agents_that_are_not_trained_have_no_rollouts(tmp_path: Path) -> None:
    judge = trace("is it right?", 1.0, agent={"name": "judge", "trainable": False})
    rows = [episode("a", trace("question", score), judge) for score in (0.0, 1.0)]
    write_rows(tmp_path / "step_1/train/effective/traces.jsonl", rows)
    imported(tmp_path, Format.PRIME_RL, tmp_path / "run")
    (step,) = steps_of(tmp_path / "run")
    assert [(visit.prompt_id, visit.num_correct) for visit in step.prompts] == [
        (prompt_identity("sums-train", "question"), 1)
    ]


def test_a_generation_that_ended_at_the_limit_was_cut(tmp_path: Path) -> None:
    cut = trace("question a", 0.0, calls=[{"finish_reason": "tool_calls"}, {"finish_reason": "length"}])
    write_rows(tmp_path / "step_1/train/effective/traces.jsonl", [episode("a", cut), *of_group("a", 1.0)])
    imported(tmp_path, Format.PRIME_RL, tmp_path / "run")
    assert steps_of(tmp_path / "run")[0].response_clip_ratio == 1 / 2


def test_an_episode_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    write_rows(tmp_path / "step_1/train/effective/traces.jsonl", [episode("a", ok=True, traces=[None])])
    with pytest.raises(ConfigError) as found:
        imported(tmp_path, Format.PRIME_RL, tmp_path / "run")
    assert "traces = 'step_1/train/effective/traces.jsonl, row 1: None'" in problem_of(found.value)
