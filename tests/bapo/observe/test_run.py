"""What a trainer's loop tells, and what is in the folder afterwards."""

from __future__ import annotations

import json
import logging
import math
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bapo import observe
from bapo.analysis.findings.search import find
from bapo.analysis.findings.stream import read_stream
from bapo.analysis.visits import UNKNOWN_VERSION, visits_of
from bapo.config import ConfigError, resolve
from bapo.observe import Group
from bapo.records import EvaluationRecord, metrics, parse_record
from bapo.rollout import prompt_identity
from bapo.run.journal import merged_records
from bapo.run.run_folder import read_config
from tests.support.disks import fill, small_disk
from tests.support.dumps import events_of, steps_of
from tests.support.forked import forked
from tests.support.observed_loops import Loop
from tests.support.waiting import wait_until


def two_groups(version: int | None = None) -> list[Group]:
    return [
        Group("1 + 1 = ?", [1, 0, 0, 0], ["2", "3", "4", "5"], policy_version=version),
        Group("2 + 2 = ?", [1, 1, 1, 1], ["4", "4", "4", "4"], policy_version=version),
    ]


def test_three_lines_record_a_run_that_everything_else_reads(tmp_path: Path) -> None:
    with observe.run("mine", config={"lr": 1e-6, "optimizer": {"name": "adam"}}, folder=tmp_path) as run:
        run.step(1, groups=two_groups(version=0), metrics={"actor/entropy": 0.5}, sources="sums")

    (step,) = steps_of(tmp_path)
    # 4 + 1 of 8 responses are right.
    assert step.reward_mean == 5 / 8
    assert list(step.fresh_histogram) == [0, 1, 0, 0, 1]
    assert [visit.prompt_id for visit in step.prompts] == [
        prompt_identity("sums", "1 + 1 = ?"),
        prompt_identity("sums", "2 + 2 = ?"),
    ]
    assert metrics(step)["actor/entropy"] == 0.5
    config = read_config(tmp_path)
    assert config.model_dump(mode="json") == {
        "method": {
            "type": "observed",
            "trainer": "",
            "trainer_version": "",
            "reward_threshold": 0.0,
            "config": {"lr": 1e-6, "optimizer.name": "adam"},
        },
        "rollout": {"group_size": 4, "batch_size": 2},
        "training": {"batch_size": 2},
    }
    assert [event.event for event in events_of(tmp_path)] == ["started", "finished"]


def test_nothing_is_made_up_for_what_a_trainer_does_not_tell(tmp_path: Path) -> None:
    with observe.run("mine", folder=tmp_path) as run:
        run.step(1, groups=two_groups())

    (step,) = steps_of(tmp_path)
    assert step.counts.x2 is None
    assert step.counts.x3 is None
    assert step.thresholds is None
    assert step.difficult_buffer is None
    assert step.num_steps is None
    assert step.response_length_mean is None
    assert step.prompts[0].policy_version is None
    shown = metrics(step)
    assert not [name for name in shown if "threshold" in name or "buffer" in name or name.endswith(("x2", "x3"))]
    assert "bapo/policy/rollout_staleness" not in shown
    assert visits_of([step], 4).policy_version.tolist() == [UNKNOWN_VERSION] * 2


def test_rewards_are_kept_as_they_are_and_counted_by_the_threshold(tmp_path: Path) -> None:
    groups = [Group("p", [0.1, 0.1, 1.1, -1.0]), Group("q", [0.1, 0.1, 0.1, 0.1])]
    with observe.run("mine", folder=tmp_path, reward_threshold=0.5) as run:
        run.step(1, groups=groups)

    (step,) = steps_of(tmp_path)
    # Above 0.5 is 1.1 alone; the second group is constant at 0.1.
    assert [visit.num_correct for visit in step.prompts] == [1, 0]
    assert step.rewards is not None
    assert step.rewards.values == [[0.1, 0.1, 1.1, -1.0], [0.1, 0.1, 0.1, 0.1]]
    assert step.rewards.num_constant_groups == 1
    assert step.reward_mean == pytest.approx((0.1 + 0.1 + 1.1 - 1.0 + 0.4) / 8)
    assert metrics(step)["bapo/rewards/constant_groups"] == 0.5


def test_rewards_that_are_0_and_1_are_not_written_twice(tmp_path: Path) -> None:
    with observe.run("mine", folder=tmp_path) as run:
        run.step(1, groups=two_groups())
    rewards = steps_of(tmp_path)[0].rewards
    assert rewards is not None
    assert rewards.values is None
    assert rewards.num_constant_groups == 1


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        (Group("p", [1, 0]), "group_size"),
        (Group("p", [1, 0, math.nan, 0]), "reward"),
        (Group("p", [1, 0, math.inf, 0]), "reward"),
        (Group("p", ["one", 0, 0, 0]), "reward"),  # type: ignore[list-item]
        (Group("p", [1, 0, 0, 0], ["only one"]), "responses"),
        (Group({"role": "user"}, [1, 0, 0, 0]), "prompt"),  # type: ignore[arg-type]
        (Group("p", [1, 0, 0, 0], policy_version=-1), "policy_version"),
        (Group("p", [1, 0, 0, 0], source="a\nb"), "source"),
        (Group("p", [10**400, 0, 0, 0]), "reward"),
        (Group("p", [1, 0, 0, 0], num_tokens=[-1, 1, 1, 1]), "num_tokens"),
        (Group("p", [1, 0, 0, 0], num_tokens=[2**40, 1, 1, 1]), "num_tokens"),
        (Group("p", [1, 0, 0, 0], num_tokens=[math.nan, 1, 1, 1]), "group"),  # type: ignore[list-item]
        (Group("p", [1, 0, 0, 0], policy_version="3"), "group"),  # type: ignore[arg-type]
        (Group("half of a pair: \ud800", [1, 0, 0, 0]), "group"),
        ({"prompt": "p", "rewards": [1, 0, 0, 0]}, "group"),
        (None, "group"),
    ],
)
def test_a_group_that_cannot_be_recorded_is_counted_and_told_once(
    tmp_path: Path, bad: Group, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    with observe.run("mine", folder=tmp_path) as run:
        for step in (1, 2, 3):
            run.step(step, groups=[*two_groups(), bad])
        assert run.rejections == {kind: 3}

    assert [len(step.prompts) for step in steps_of(tmp_path)] == [2, 2, 2]
    rewards = [step.rewards for step in steps_of(tmp_path)]
    assert [each.num_rejected_groups for each in rewards if each] == [1, 1, 1]
    warnings = [event for event in events_of(tmp_path) if event.event == "warning"]
    assert len(warnings) == 1
    assert f"({kind})" in warnings[0].message
    assert len(caplog.records) == 1
    assert events_of(tmp_path)[-1].data["rejected"] == {kind: 3}


@pytest.mark.parametrize(
    ("step", "kind"), [(2, "step_order"), (1, "step_order"), (0, "step"), (1.5, "step"), ("3", "step"), (2**31, "step")]
)
def test_a_step_out_of_order_or_twice_is_left_out(tmp_path: Path, step: Any, kind: str) -> None:
    with observe.run("mine", folder=tmp_path) as run:
        run.step(2, groups=two_groups())
        run.step(step, groups=two_groups())
        run.step(3, groups=two_groups())
        assert run.rejections == {kind: 1}
    assert [each.step for each in steps_of(tmp_path)] == [2, 3]


def test_a_prompt_of_a_megabyte_is_known_by_all_of_it_and_kept_in_part(tmp_path: Path) -> None:
    long = "x" * 1_000_000
    with observe.run("mine", folder=tmp_path) as run:
        run.step(1, groups=[Group(long, [1, 0], ["a", "b"]), Group(long + "y", [1, 0], ["a", "b"])])
    ids = [visit.prompt_id for visit in steps_of(tmp_path)[0].prompts]
    assert ids == [prompt_identity("observed", long), prompt_identity("observed", long + "y")]
    assert (tmp_path / "attempt-1" / "samples.jsonl").stat().st_size < 250_000


def test_a_text_that_is_no_unicode_costs_the_text_and_not_its_group(tmp_path: Path) -> None:
    with observe.run("mine", folder=tmp_path) as run:
        run.step(1, groups=[Group("p", [1, 0], ["half of a pair: \ud800", "b"]), Group("q", [1, 0], ["a", "b"])])
        assert run.rejections == {"text": 1}
    assert [visit.num_correct for visit in steps_of(tmp_path)[0].prompts] == [1, 1]
    lines = [json.loads(line) for line in (tmp_path / "attempt-1" / "samples.jsonl").read_bytes().splitlines()]
    assert [line["prompt"] for line in lines] == ["q"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("num_steps", 0), ("num_steps", "5"), ("num_steps", True), ("samples_per_step", -1)),
        *(("samples_per_step", None), ("name", "a\nb"), ("world_size", "2"), ("config", ["lr"]), ("config", object())),
    ],
)
def test_an_argument_that_cannot_be_is_named(tmp_path: Path, field: str, value: Any) -> None:
    given = {"name": "mine", "folder": tmp_path / "run", field: value}
    with pytest.raises(ConfigError) as caught:
        observe.run(**given)
    assert [problem.field for problem in caught.value.problems] == [field]
    assert not (tmp_path / "run").exists()


def test_a_config_that_contains_itself_is_refused(tmp_path: Path) -> None:
    config: dict[str, Any] = {"lr": 1e-6}
    config["all"] = config
    with pytest.raises(ConfigError, match="config = 'dict': give a mapping that does not contain itself"):
        observe.run("mine", config=config, folder=tmp_path / "run")


def test_a_config_that_json_does_not_know_is_kept_as_text(tmp_path: Path) -> None:
    config = {"path": "half of a pair: \ud800", "\ud800": 1, "seed": np.int64(3), "lr": math.inf, "layers": {1: [2]}}
    observe.run("mine", config=config, folder=tmp_path).finish()
    method = read_config(tmp_path).model_dump()["method"]
    assert method["config"] == {"path": "half of a pair: ?", "?": 1, "seed": 3, "lr": "inf", "layers.1": "[2]"}


def test_arguments_may_be_numbers_of_numpy_and_texts_of_numbers(tmp_path: Path) -> None:
    numbers: Any = {"num_steps": np.int64(2), "samples_per_step": np.int32(1), "reward_threshold": "0.5"}
    with observe.run("mine", folder=tmp_path, **numbers) as run:
        run.step(1, groups=[Group("p", [0.5, 0.6, 0.7, 0.4])])
    (step,) = steps_of(tmp_path)
    assert (step.num_steps, step.prompts[0].num_correct) == (2, 2)


def test_what_is_no_list_of_groups_and_groups_beyond_the_largest_are_counted(tmp_path: Path) -> None:
    with observe.run("mine", folder=tmp_path) as run:
        run.step(1, groups=None)  # type: ignore[arg-type]
        run.step(2, groups=[Group("p", [1, 0] * 513)])
        run.step(3, groups=two_groups())
        run.evaluation(3, dataset="held-out", groups=5)  # type: ignore[arg-type]
        assert run.rejections == {"groups": 2, "group_size": 1}
    assert [step.step for step in steps_of(tmp_path)] == [3]
    warnings = [event.message for event in events_of(tmp_path) if event.event == "warning"]
    assert "groups = None: give a list with one Group per prompt" in warnings[0]
    assert "the groups have 1,026 responses each: give at most 1,024 to a prompt" in warnings[1]
    assert events_of(tmp_path)[-1].event == "finished"


def test_a_chat_of_one_message_is_the_prompt_of_its_text(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "1 + 1 = ?"}]
    with observe.run("mine", folder=tmp_path) as run:
        run.step(1, groups=[Group(chat, [1, 0])])
    assert steps_of(tmp_path)[0].prompts[0].prompt_id == prompt_identity("observed", "1 + 1 = ?")


class Image:
    """An image whose content cannot be read; where it lies in memory differs each time."""


def test_a_prompt_with_an_image_is_one_prompt_in_all_steps(tmp_path: Path) -> None:
    kept = []
    with observe.run("images", folder=tmp_path) as run:
        for step in (1, 2, 3):
            kept.append(Image())
            parts = [{"type": "image", "image": kept[-1]}, {"type": "text", "text": "How many cats?"}]
            run.step(step, groups=[Group([{"role": "user", "content": parts}], [1, 0], ["one", "two"])])
    found = {step.prompts[0].prompt_id for step in steps_of(tmp_path)}
    assert found == {prompt_identity("observed", "[image]\nHow many cats?")}


def test_kept_responses_say_whether_they_were_cut(tmp_path: Path) -> None:
    with observe.run("mine", folder=tmp_path) as run:
        run.step(1, groups=[Group("p", [1, 0], ["a", "b"], is_cut=[False, True]), Group("q", [1, 0], ["a", "b"])])
    samples = [group for group in read_stream(tmp_path).samples if group.step == 1]
    assert [[each.is_cut for each in group.responses] for group in samples] == [[False, True], [None, None]]


def test_responses_may_be_messages(tmp_path: Path) -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"name": "calc", "arguments": {"e": 1}}]}
    with observe.run("tools", folder=tmp_path) as run:
        run.step(1, groups=[Group("p", [1, 0], [[call], object()])])  # type: ignore[list-item]
    (sample,) = map(json.loads, (tmp_path / "attempt-1/samples.jsonl").read_text().splitlines())
    assert [response["text"] for response in sample["responses"]] == ['calc({"e": 1})', ""]
    assert run.rejections == {"text": 1}


@pytest.mark.parametrize(
    ("rewards", "shown"),
    [
        ([{"score": 1}, {"score": 0}], "rewards = [{'score': 1}, {'score': 0}]: give one number per response"),
        (np.array([[1.0], [0.0]]), "give one number per response"),
        (None, "rewards = None: give one number per response"),
        ("10", "rewards = 10: give one number per response"),
        ({0: 1.0, 1: 0.0}, "rewards = {0: 1.0, 1: 0.0}: give one number per response"),
    ],
)
def test_what_is_wrong_with_rewards_is_said_of_the_first_step(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, rewards: Any, shown: str
) -> None:
    with observe.run("shapes", folder=tmp_path) as run:
        run.step(1, groups=[Group("a", rewards)])
        run.evaluation(1, dataset="held out", groups=[Group("a", rewards)])
    assert run.rejections == {"reward": 1, "evaluation": 1}
    assert caplog.text.count(shown) == 2


@pytest.mark.parametrize(
    ("field", "value"), [("is_cut", ["stop", "perhaps"]), ("is_cut", [2, 0]), ("in_batch", "length"), ("in_batch", 2)]
)
def test_a_flag_that_is_none_costs_its_group_and_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, field: str, value: Any
) -> None:
    with observe.run("flags", folder=tmp_path) as run:
        run.step(1, groups=[Group("a", [1, 0], is_cut=["length", "stop"]), Group("b", [1, 0], **{field: value})])  # type: ignore[list-item]
    assert run.rejections == {field: 1}
    assert f"{field} has" in caplog.text
    assert steps_of(tmp_path)[0].response_clip_ratio == 1 / 2


@pytest.mark.parametrize("value", ["node-0", "-1", "1.5", "9" * 5_000])
def test_a_variable_rank_that_is_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("RANK", value)
    with pytest.raises(
        ConfigError, match=r"set the variable to a number from 0 on, or give the argument rank"
    ) as found:
        observe.run("mine", folder=tmp_path)
    assert [(problem.field, problem.value) for problem in found.value.problems] == [("RANK", value)]
    # With the argument, the variable does not count.
    observe.run("mine", folder=tmp_path, rank=0).finish()


@pytest.mark.parametrize("value", ["0", -1, 0.0, True])
def test_a_rank_that_is_none_is_refused_and_does_not_leave_the_run_unobserved(tmp_path: Path, value: Any) -> None:
    with pytest.raises(ConfigError, match="give the rank of this process"):
        observe.run("mine", folder=tmp_path, rank=value)


def test_a_second_observer_of_a_folder_is_refused(tmp_path: Path) -> None:
    with observe.run("mine", folder=tmp_path), pytest.raises(ConfigError, match="another trainer is using it"):
        observe.run("mine", folder=tmp_path)


def test_a_trainer_whose_forked_worker_lives_on_starts_again(tmp_path: Path) -> None:
    def trainer() -> None:
        run = observe.run("mine", folder=tmp_path)
        run.step(1, groups=two_groups())
        if os.fork() == 0:
            # A data loader's worker, which outlives it.
            (tmp_path / "worker").write_text(f"{os.getpid()}")
            signal.pause()
        wait_until((tmp_path / "worker").exists)
        os.kill(os.getpid(), signal.SIGKILL)

    with forked(trainer) as process:
        os.waitpid(process, 0)
    try:
        with observe.run("mine", folder=tmp_path) as run:
            run.step(2, groups=two_groups())
    finally:
        os.kill(int((tmp_path / "worker").read_text()), signal.SIGKILL)
    assert [(record.attempt, record.step) for record in steps_of(tmp_path)] == [(1, 1), (2, 2)]


def test_a_forked_process_records_nothing_and_ends_no_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with observe.run("mine", folder=tmp_path) as run:

        def leave() -> None:
            run.step(1, groups=two_groups())
            run.record_event("warning", "of the worker")
            run.__exit__(SystemExit, SystemExit(0), None)
            (tmp_path / "said").write_text(caplog.text)

        with forked(leave) as process:
            assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
        run.step(1, groups=two_groups())
    assert [event.event for event in events_of(tmp_path)] == ["started", "finished"]
    assert len(steps_of(tmp_path)) == 1
    assert f"process {os.getpid()} began to observe the run" in (tmp_path / "said").read_text()


def test_a_second_observer_hears_which_process_holds_the_folder(tmp_path: Path) -> None:
    with observe.run("mine", folder=tmp_path), pytest.raises(ConfigError, match=f"using it .process {os.getpid()}"):
        observe.run("mine", folder=tmp_path)


def test_a_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    with observe.run("mine", folder=tmp_path, reward_threshold=0.5) as run:
        run.step(1, groups=two_groups())
    with pytest.raises(ConfigError, match=r"method\.reward_threshold"):
        observe.run("mine", folder=tmp_path)


def test_a_trainer_that_starts_again_goes_on_with_its_run(tmp_path: Path) -> None:
    with observe.run("mine", folder=tmp_path) as run:
        for step in (1, 2, 3):
            run.step(step, groups=two_groups())
    with observe.run("mine", folder=tmp_path) as run:
        # From a checkpoint after step 2.
        run.step(3, groups=two_groups()[:1])
    steps = steps_of(tmp_path)
    assert [(step.step, step.attempt, len(step.prompts)) for step in steps] == [(1, 1, 2), (2, 1, 2), (3, 2, 1)]
    # 3 steps of 8 responses, and one of 4.
    assert steps[-1].cost.num_rollouts == 28


def test_runs_of_one_name_without_a_folder_are_two_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        with observe.run("my run") as run:
            run.step(1, groups=two_groups())
    assert sorted(path.name for path in (tmp_path / "observed-runs").iterdir()) == ["my-run", "my-run-2"]


def test_the_end_says_how_the_trainer_ended(tmp_path: Path) -> None:
    def train() -> None:
        with observe.run("mine", folder=tmp_path) as run:
            run.step(1, groups=two_groups())
            raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError):
        train()
    last = events_of(tmp_path)[-1]
    assert (last.event, last.message) == ("failed", "RuntimeError: out of memory")


def test_only_rank_0_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    with observe.run("mine", folder=tmp_path / "run") as run:
        run.step(1, groups=two_groups())
    assert not (tmp_path / "run").exists()
    with observe.run("mine", folder=tmp_path / "run", rank=0) as run:
        run.step(1, groups=two_groups())
    assert len(steps_of(tmp_path / "run")) == 1


def test_what_was_told_survives_a_kill(tmp_path: Path) -> None:
    loop = Loop(tmp_path / "run", 1, 100, pauses=(50,), given={"name": "killed"})
    process = loop.start()
    wait_until(lambda: loop.has_paused(50))
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert [step.step for step in steps_of(loop.folder)] == list(range(1, 51))
    # Its lock went with it.
    with observe.run("killed", folder=loop.folder) as run:
        run.step(51, groups=[Group("p", [1, 0])])
    assert len(steps_of(loop.folder)) == 51


def test_a_full_disk_loses_steps_says_so_once_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real_write, is_full = os.write, [False]

    def write(descriptor: int, content: Any) -> int:
        if is_full[0]:
            raise OSError(28, "No space left on device")
        return real_write(descriptor, content)

    monkeypatch.setattr(os, "write", write)
    with observe.run("mine", folder=tmp_path) as run, caplog.at_level(logging.ERROR):
        run.step(1, groups=two_groups())
        is_full[0] = True
        for step in (2, 3, 4):
            run.step(step, groups=two_groups())
        assert run.num_lost == 3
        assert len(caplog.records) == 1
        is_full[0] = False
        run.step(5, groups=two_groups())
    assert [step.step for step in steps_of(tmp_path)] == [1, 5]
    told = [event for event in events_of(tmp_path) if event.event == "warning"]
    assert [event.data["num_lost"] for event in told] == [3]


def test_training_prompts_of_a_held_out_set_are_found_though_their_sources_differ(tmp_path: Path) -> None:
    with observe.run("mine", folder=tmp_path) as run:
        run.step(1, groups=[Group(f"What is {index} + {index}?", [1, 0]) for index in range(60)], sources="sums")
        held_out = [Group(f"what is {index} +  {index}", [1, 0]) for index in range(55, 95)]
        run.evaluation(1, dataset="exam", groups=held_out)
        run.evaluation(2, dataset="exam", groups=held_out)

    lines = [json.loads(line) for line in (tmp_path / "attempt-1" / "samples.jsonl").read_bytes().splitlines()]
    assert [line["prompt_id"] for line in lines].count(prompt_identity("exam", "what is 94 +  94")) == 1
    listed = find(read_stream(tmp_path)).prompts["contamination"]
    assert [each.prompt_id for each in listed.items] == [
        prompt_identity("sums", f"What is {index} + {index}?") for index in range(55, 60)
    ]


def test_an_evaluation_has_its_intervals(tmp_path: Path) -> None:
    with observe.run("mine", folder=tmp_path) as run:
        run.step(1, groups=two_groups())
        run.evaluation(1, dataset="sums-test", groups=two_groups())
    (found,) = [record for record in merged_records(tmp_path) if isinstance(record, EvaluationRecord)]
    # (1/4 + 4/4) / 2
    assert found.avg_at_k.value == 0.625
    assert found.greedy is None
    assert "val-core/sums-test/acc/mean@4" in metrics(found)


def test_a_metric_that_diverged_is_recorded_as_what_it_is(tmp_path: Path) -> None:
    with observe.run("mine", folder=tmp_path) as run:
        run.step(1, groups=two_groups(), metrics={"loss": math.nan, "text": "no number"})
        assert run.rejections == {"metric": 1}
    (step,) = steps_of(tmp_path)
    assert math.isnan(step.metrics["loss"])
    assert "loss" not in metrics(step)


def test_a_line_of_an_unknown_schema_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="schema 5 is not known here, only 1 to 4: update bapo"):
        parse_record(
            json.dumps({"schema": 5, "type": "event", "attempt": 1, "step": 0, "event": "stop", "message": ""})
        )


def test_an_observed_config_cannot_be_trained() -> None:
    with pytest.raises(ConfigError, match=r"method\.type = 'observed'"):
        resolve({"method": {"type": "observed"}})


def test_observing_needs_the_base_installation_alone(tmp_path: Path) -> None:
    script = """
        import sys
        for name in ("torch", "pyarrow", "scipy", "psutil", "transformers", "plotly", "fastapi", "sqlalchemy"):
            sys.modules[name] = None
        from bapo import observe
        with observe.run("bare", folder=sys.argv[1]) as run:
            run.step(1, groups=[observe.Group("p", [1, 0])])
            run.evaluation(1, dataset="held-out", groups=[observe.Group("q", [1, 0])])
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert len(steps_of(tmp_path)) == 1


def test_the_end_says_what_was_left_out(tmp_path: Path) -> None:
    with observe.run("mine", folder=tmp_path) as run:
        run.step(1, groups=[*two_groups(), Group("p", [1, 0]), Group("q", [1, 0])])
    # Two groups of four set the size, and two of two responses do not fit.
    assert events_of(tmp_path)[-1].message == "recorded up to step 1; left out: 2 × group_size"


def test_a_disk_that_is_really_full_costs_steps_and_never_the_training(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk:
        with observe.run("mine", folder=disk / "run") as run:
            run.step(1, groups=two_groups())
            filler = fill(disk)
            # A page of the file may have room for some lines yet.
            for step in range(2, 40):
                run.step(step, groups=two_groups())
            lost = run.num_lost
            filler.unlink()
            run.step(40, groups=two_groups())
        steps = [record.step for record in steps_of(disk / "run")]
        told = [event.data for event in events_of(disk / "run") if event.event == "warning"]
    assert lost > 0
    assert (steps[0], steps[-1], len(steps)) == (1, 40, 40 - lost)
    assert {"num_lost": lost} in told
