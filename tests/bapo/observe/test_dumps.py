"""Rollouts that other trainers left in files, and the run that is made of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from bapo.cli.import_dump import DumpOptions, OpenedDump, opened, show
from bapo.config import ConfigError
from bapo.files.safe_paths import OutsideError
from bapo.observe.dumps.columns import parsed_columns
from bapo.observe.dumps.dump_import import Settings, import_dump
from bapo.observe.dumps.formats import Format, open_dump
from bapo.observe.dumps.steps import groups_of, read_steps
from bapo.records import EvaluationRecord, EventRecord
from bapo.rollout import prompt_identity
from bapo.run.journal import merged_records, read_records
from bapo.run.run_folder import read_config
from tests.support.dumps import imported, problem_of, steps_of, write_rows


def verl_rows(step: int, scores: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    """Responses of several prompts, not beside one another, as verl balances them."""
    size = max(map(len, scores.values()))
    return [
        {"input": prompt, "output": f"answer {at}", "gts": "4", "score": rewards[at], "step": step, "acc": True}
        for at in range(size)
        for prompt, rewards in scores.items()
        if at < len(rewards)
    ]


def test_verl_dumps_become_steps_of_groups(tmp_path: Path) -> None:
    for step in (1, 2, 10):
        rows = verl_rows(step, {"1 + 1 = ?": [1.0, 0.0, 0.0], "2 + 2 = ?": [1.0, 1.0, 1.0]})
        write_rows(tmp_path / f"dump/{step}.jsonl", rows)
    result = imported(tmp_path / "dump", Format.VERL, tmp_path / "run", settings=Settings(source="sums"))

    # By number, not by name: 10 comes after 2.
    assert [record.step for record in steps_of(tmp_path / "run")] == [1, 2, 10]
    assert (result.num_steps, result.last_step, result.left_out) == (3, 10, {})
    first = steps_of(tmp_path / "run")[0]
    assert [visit.num_correct for visit in first.prompts] == [1, 3]
    assert first.prompts[0].prompt_id == prompt_identity("sums", "1 + 1 = ?")
    assert first.reward_mean == 4 / 6
    # Nobody knows how long the step took; when its file was written is known.
    assert first.timing == {"unix_time": (tmp_path / "dump/1.jsonl").stat().st_mtime}
    config = read_config(tmp_path / "run").model_dump(mode="json")
    assert config["method"]["trainer"] == "verl"
    assert config["rollout"] == {"group_size": 3, "batch_size": 2}


def test_validation_dumps_become_evaluations_in_their_place(tmp_path: Path) -> None:
    for step in (1, 2):
        write_rows(tmp_path / f"train/{step}.jsonl", verl_rows(step, {"p": [1.0, 0.0]}))
    for step, score in ((0, 0.0), (1, 1.0), (2, 1.0)):
        write_rows(tmp_path / f"held-out/{step}.jsonl", verl_rows(step, {"q": [score], "r": [1.0]}))
    dump = opened(tmp_path / "train", DumpOptions(Format.VERL, (), tmp_path / "held-out", Settings()))
    result = import_dump(dump.training, dump.evaluations, tmp_path / "run", Settings())

    assert result.num_evaluations == 3
    written = read_records(tmp_path / "run/attempt-1/records.jsonl")
    assert [(record.type, record.step) for record in written if record.type != "event"] == [
        *(("evaluation", 0), ("step", 1), ("evaluation", 1), ("step", 2), ("evaluation", 2)),
    ]
    found = [record for record in merged_records(tmp_path / "run") if isinstance(record, EvaluationRecord)]
    # Of q and r, r alone is right at first: 1 of 2; then both.
    assert [record.avg_at_k.value for record in found] == [0.5, 1.0, 1.0]


def test_a_prompt_that_was_drawn_twice_gives_two_groups(tmp_path: Path) -> None:
    rows = verl_rows(1, {"p": [1.0, 0.0], "q": [0.0, 0.0], "r": [1.0, 1.0], "twice": [1.0, 1.0, 0.0, 0.0]})
    write_rows(tmp_path / "dump/1.jsonl", rows)
    result = imported(tmp_path / "dump", Format.VERL, tmp_path / "run")
    (step,) = steps_of(tmp_path / "run")
    assert [visit.num_correct for visit in step.prompts] == [1, 0, 2, 2, 0]
    assert result.left_out == {}


def test_groups_that_cannot_be_recorded_are_counted_and_told(tmp_path: Path) -> None:
    rows = verl_rows(1, {"p": [1.0, 0.0], "q": [0.0, 0.0], "of three": [1.0, 1.0, 0.0], "nan": [math.nan, 1.0]})
    write_rows(tmp_path / "dump/1.jsonl", rows)
    result = imported(tmp_path / "dump", Format.VERL, tmp_path / "run")
    assert result.left_out == {"group_size": 1, "reward": 1}
    assert any("rewards has 3 values, and the run's groups have 2" in message for message in result.messages)
    (step,) = steps_of(tmp_path / "run")
    assert step.rewards is not None
    assert (len(step.prompts), step.rewards.num_rejected_groups) == (2, 2)
    events = [record for record in merged_records(tmp_path / "run") if isinstance(record, EventRecord)]
    assert events[-1].message == "imported 1 steps from verl; left out: 1 × group_size, 1 × reward"


def test_a_half_written_last_line_is_counted_and_any_other_bad_line_is_named(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "dump/1.jsonl", verl_rows(1, {"p": [1.0, 0.0], "q": [1.0, 0.0]}))
    whole = path.read_text()
    path.write_text(whole + '{"input": "p", "out')
    result = imported(tmp_path / "dump", Format.VERL, tmp_path / "run")
    assert result.left_out == {"half-written last line": 1}

    path.write_text('{"input": "p", "out\n' + whole)
    with pytest.raises(ConfigError) as found:
        imported(tmp_path / "dump", Format.VERL, tmp_path / "other")
    assert "line = " in problem_of(found.value)
    assert "1.jsonl, row 1" in problem_of(found.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"score": "good"}, ("reward", "1.jsonl, row 2", "'good'", "one number")),
        ({"input": 7}, ("prompt", "1.jsonl, row 2", "7", "give a text")),
        ({"step": 1.5}, ("step", "1.jsonl, row 2", "1.5", "whole number")),
        ({"score": [1]}, ("reward", "1.jsonl, row 2", "[1]", "one number")),
    ],
)
def test_a_bad_value_is_named_with_its_file_row_and_field(
    tmp_path: Path, change: Mapping[str, Any], words: Sequence[str]
) -> None:
    good, bad = verl_rows(1, {"p": [1.0, 0.0]})
    write_rows(tmp_path / "dump/1.jsonl", [good, {**bad, **change}])
    with pytest.raises(ConfigError) as found:
        imported(tmp_path / "dump", Format.VERL, tmp_path / "run")
    for word in words:
        assert word in problem_of(found.value)
    assert not list((tmp_path).glob("run/attempt-*"))


def test_a_missing_column_is_named_with_those_that_are_there(tmp_path: Path) -> None:
    write_rows(tmp_path / "log.jsonl", [{"prompt": "p", "points": 1, "step": 1}])
    with pytest.raises(ConfigError) as found:
        imported(tmp_path / "log.jsonl", Format.JSONL, tmp_path / "run")
    assert "no column 'reward' (found: prompt, points, step)" in problem_of(found.value)
    assert "--column reward=COLUMN" in problem_of(found.value)


def test_groups_of_one_response_are_no_groups(tmp_path: Path) -> None:
    rows = [{"prompt": f"p{at}", "reward": 1, "step": 1} for at in range(3)]
    write_rows(tmp_path / "log.jsonl", rows)
    with pytest.raises(ConfigError, match="--column group=COLUMN"):
        imported(tmp_path / "log.jsonl", Format.JSONL, tmp_path / "run")


def test_columns_of_plain_files_are_named_by_options(tmp_path: Path) -> None:
    rows = [
        {"t": step, "question": f"q{at // 2}", "said": "x", "right": at % 2, "bonus": 0.25, "set": "mine"}
        for step in (0, 1)
        for at in range(4)
    ]
    write_rows(tmp_path / "log.jsonl", rows)
    names = ("step=t", "prompt=question", "response=said", "reward=right,bonus", "source=set")
    settings = Settings(reward_threshold=0.5)
    imported(tmp_path / "log.jsonl", Format.JSONL, tmp_path / "run", *names, settings=settings)
    # It counts from 0: its first step is ours.
    first, second = steps_of(tmp_path / "run")
    assert (first.step, second.step) == (1, 2)
    assert first.rewards is not None
    # 1 + 0.25 is above 0.5, 0.25 is not.
    assert first.rewards.values == [[0.25, 1.25], [0.25, 1.25]]
    assert [visit.num_correct for visit in first.prompts] == [1, 1]
    assert first.prompts[0].prompt_id == prompt_identity("mine", "q0")
    # Of a file of many steps nobody knows when each was made.
    assert first.timing == {}


def trl_table(step: int, rewards: Sequence[float | None]) -> Any:
    count = len(rewards)
    return pyarrow.table(
        {
            "step": [step] * count,
            "prompt": [f"p{at // 2}" for at in range(count)],
            "completion": [f"c{step}" for _ in range(count)],
            "accuracy_reward": pyarrow.array(rewards, pyarrow.float64()),
            "format_reward": pyarrow.array([0.5] * count, pyarrow.float64()),
            "advantage": pyarrow.array([0.0] * count, pyarrow.float64()),
        }
    )


def test_trl_completions_add_up_their_reward_functions(tmp_path: Path) -> None:
    (tmp_path / "completions").mkdir()
    table = trl_table(1, [1.0, 0.0, 1.0, None])
    pyarrow.parquet.write_table(table, tmp_path / "completions/completions_00001.parquet")
    # With several updates per generation, TRL logs the same completions again.
    again = table.set_column(0, "step", pyarrow.array([2] * 4))
    pyarrow.parquet.write_table(again, tmp_path / "completions/completions_00002.parquet")
    pyarrow.parquet.write_table(trl_table(3, [1.0] * 4), tmp_path / "completions/completions_00003.parquet")
    settings = Settings(reward_threshold=1.0)
    result = imported(tmp_path, Format.TRL, tmp_path / "run", settings=settings)

    first, second = steps_of(tmp_path / "run")
    assert (first.step, second.step) == (1, 3)
    assert first.rewards is not None
    # A function that has nothing to say of a response does not count.
    assert first.rewards.values == [[1.5, 0.5], [1.5, 0.5]]
    assert [visit.num_correct for visit in first.prompts] == [1, 1]
    assert result.left_out == {"steps that repeat the rollouts of the one before": 1}
    assert read_config(tmp_path / "run").model_dump(mode="json")["method"]["trainer"] == "TRL"


def test_prime_rl_rollouts_of_both_shapes(tmp_path: Path) -> None:
    plain = [
        {
            "example_id": at // 2,
            "task": "sums",
            "prompt": [{"role": "user", "content": f"q{at // 2}"}],
            "completion": [{"role": "assistant", "content": "4"}],
            "answer": "4",
            "reward": float(at % 2),
            "is_truncated": at == 0,
        }
        for at in range(4)
    ]
    write_rows(tmp_path / "rollouts/step_0/train_rollouts.jsonl", plain)
    traces = [
        {
            "task": {"type": "Sum", "data": {}},
            "nodes": [
                {"parent": None, "message": {"role": "user", "content": "q0"}},
                {"parent": 0, "message": {"role": "assistant", "content": "4"}},
            ],
            "rewards": {"right": {"score": float(at), "weight": 2.0}, "form": {"score": 1.0, "weight": 0.5}},
            "info": {"prime_rl": {"env_name": "sums", "group_id": "g", "policy_version": 0}},
        }
        for at in range(2)
    ]
    write_rows(tmp_path / "rollouts/step_1/train_rollouts.jsonl", traces)
    write_rows(tmp_path / "rollouts/step_0/eval_rollouts.jsonl", plain[:2])
    dump = opened(tmp_path, DumpOptions(Format.PRIME_RL, (), None, Settings()))
    assert dump.evaluations is not None
    import_dump(dump.training, dump.evaluations, tmp_path / "run", Settings(reward_threshold=0.5))

    first, second = steps_of(tmp_path / "run")
    assert [visit.num_correct for visit in first.prompts] == [1, 1]
    # 0 · 2 + 0.5 and 1 · 2 + 0.5; only the second is above 0.5.
    assert second.rewards is not None
    assert second.rewards.values == [[0.5, 2.5]]
    assert (second.prompts[0].num_correct, second.prompts[0].policy_version) == (1, 0)
    # The prompt is the same, said as a chat and by a trace.
    assert second.prompts[0].prompt_id == first.prompts[0].prompt_id == prompt_identity("sums", "q0")
    assert first.response_clip_ratio == 1 / 4


def test_importing_again_adds_what_is_new(tmp_path: Path) -> None:
    for step in (1, 2):
        write_rows(tmp_path / f"dump/{step}.jsonl", verl_rows(step, {"p": [1.0, 0.0]}))
    imported(tmp_path / "dump", Format.VERL, tmp_path / "run")
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*.json*")}
    assert imported(tmp_path / "dump", Format.VERL, tmp_path / "run").num_steps == 0
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*.json*")} == before

    write_rows(tmp_path / "dump/3.jsonl", verl_rows(3, {"p": [1.0, 1.0]}))
    assert imported(tmp_path / "dump", Format.VERL, tmp_path / "run").num_steps == 1
    records = steps_of(tmp_path / "run")
    assert [record.step for record in records] == [1, 2, 3]
    assert [record.cost.num_rollouts for record in records] == [2, 4, 6]

    write_rows(tmp_path / "other/1.jsonl", verl_rows(1, {"another": [1.0, 0.0]}))
    with pytest.raises(ConfigError, match="another dump"):
        imported(tmp_path / "other", Format.VERL, tmp_path / "run")


def test_no_link_in_a_dump_is_followed(tmp_path: Path) -> None:
    outside = write_rows(tmp_path / "outside.jsonl", verl_rows(2, {"canary": [1.0, 0.0]}))
    write_rows(tmp_path / "dump/1.jsonl", verl_rows(1, {"p": [1.0, 0.0]}))
    (tmp_path / "dump/2.jsonl").symlink_to(outside)
    dump = open_dump(tmp_path / "dump", Format.VERL, {})
    assert [file.name for file in dump.files] == ["1.jsonl"]
    # Nor one that takes a file's place after the folder was listed.
    (tmp_path / "dump/1.jsonl").unlink()
    (tmp_path / "dump/1.jsonl").symlink_to(outside)
    with pytest.raises(OutsideError):
        import_dump(dump, None, tmp_path / "run", Settings())


def test_a_prompt_of_a_megabyte_is_kept_as_its_beginning(tmp_path: Path) -> None:
    prompt = "x" * 1_000_000
    write_rows(tmp_path / "dump/1.jsonl", verl_rows(1, {prompt: [1.0, 0.0]}))
    imported(tmp_path / "dump", Format.VERL, tmp_path / "run")
    (step,) = steps_of(tmp_path / "run")
    assert step.prompts[0].prompt_id == prompt_identity("observed", prompt)
    assert (tmp_path / "run/attempt-1/samples.jsonl").stat().st_size < 150_000


def test_a_dry_run_shows_what_is_understood_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = verl_rows(1, {"1 + 1 = ?": [1.0, 0.0], "2 + 2 = ?": [1.0, 1.0], "odd": [1.0, 1.0, 0.0]})
    write_rows(tmp_path / "dump/1.jsonl", rows)
    show(OpenedDump(open_dump(tmp_path / "dump", Format.VERL, {}), None), Settings())
    shown = " ".join(capsys.readouterr().out.split())
    for words in (
        "trainer verl",
        "steps 1, from 1 to 1",
        "rows 7",
        "reward column score",
        "not read acc",
        "group sizes 2 of 2, 1 of 3",
        # 1 + 2 + 2 of 7.
        "correct 5 of 7: reward above 0",
        "first group 1 + 1 = ? 1 answer 0 0 answer 1",
    ):
        assert words in shown
    assert [path.name for path in tmp_path.iterdir()] == ["dump"]


def test_a_dry_run_counts_the_groups_that_an_import_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = verl_rows(1, {"p": [1.0, 0.0], "q": [0.0, 0.0], "of three": [1.0, 1.0, 0.0], "nan": [math.nan, 1.0]})
    write_rows(tmp_path / "dump/1.jsonl", rows)
    write_rows(tmp_path / "dump/2.jsonl", verl_rows(2, {"p": [math.nan, 0.0], "q": [math.nan, math.nan]}))
    write_rows(tmp_path / "held-out/1.jsonl", verl_rows(1, {"a": [1.0, 0.0], "b": [0.0, 0.0], "c": [1.0, 1.0, 0.0]}))
    dump = OpenedDump(*(open_dump(tmp_path / name, Format.VERL, {}) for name in ("dump", "held-out")))
    show(dump, Settings())
    shown = " ".join(capsys.readouterr().out.split())
    result = import_dump(dump.training, dump.evaluations, tmp_path / "run", Settings())
    # Of step 2 both groups, which leaves a step without any, and the problem with three responses.
    assert result.left_out == {"group_size": 2, "reward": 3, "step": 1}
    for kind, count in result.left_out.items():
        assert f"{count} × {kind}" in shown


def test_one_step_is_in_memory_at_a_time(tmp_path: Path) -> None:
    rows = [{"prompt": "p", "reward": 1, "step": step} for step in (1, 1, 2, 2)]
    write_rows(tmp_path / "log.jsonl", rows)
    read = read_steps(open_dump(tmp_path / "log.jsonl", Format.JSONL, {}), Counter())
    first = next(read)
    assert (first.step, len(groups_of(first.rollouts, None)[0].rewards)) == (1, 2)


@pytest.mark.parametrize("kind", list(Format))
def test_a_folder_without_such_files_says_what_it_looks_for(tmp_path: Path, kind: Format) -> None:
    with pytest.raises(ConfigError, match="it holds no file"):
        open_dump(tmp_path, kind, {})


def test_dots_in_the_name_of_a_column_lead_into_structures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"step": 1, "prompt": "q", "info": {"said": "x", "scores": {"right": at % 2, "bonus": 0.25}}} for at in range(4)
    ]
    write_rows(tmp_path / "log.jsonl", rows)
    names = ("response=info.said", "reward=info.scores.right,info.scores.bonus")
    settings = Settings(reward_threshold=0.5)
    imported(tmp_path / "log.jsonl", Format.JSONL, tmp_path / "run", *names, settings=settings)
    (step,) = steps_of(tmp_path / "run")
    assert step.rewards is not None
    assert step.rewards.values == [[0.25, 1.25, 0.25, 1.25]]
    with pytest.raises(
        ConfigError, match=r"no column 'info\.scores\.wrong' \(found: step, prompt, info\.said, info\.sc"
    ):
        imported(tmp_path / "log.jsonl", Format.JSONL, tmp_path / "other", "reward=info.scores.wrong")
    dump = open_dump(tmp_path / "log.jsonl", Format.JSONL, parsed_columns(names[1:]))
    show(OpenedDump(dump, None), settings)
    shown = " ".join(capsys.readouterr().out.split())
    assert "reward columns info.scores.right + info.scores.bonus, added up" in shown
    assert "not read info.said groups 1" in shown
