"""The course of a run, on the simulated engine: requests, what is lost or damaged, disks, methods that are resumed."""

from __future__ import annotations

import errno
import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bapo.config import ConfigError
from bapo.engines.base import BatchItem
from bapo.prompt_schedule import PromptSchedule
from bapo.records import AnyRecord, EvaluationRecord, StepRecord, UpdateStats
from bapo.rollout import BatchSource
from bapo.run import trainer
from bapo.run.checkpoint import CheckpointError, checkpoint_name
from bapo.run.control import ControlRequest, append_request
from bapo.run.journal import RECORDS_FILE, JournalError, merged_records
from bapo.run.trainer import (
    EXIT_BAD_INPUT,
    EXIT_CANNOT_WRITE,
    EXIT_FAILED,
    EXIT_SUCCEEDED,
    TrainingSummary,
    main,
)
from bapo.tasks import build_task
from tests.support.disks import mount_read_only, small_disk
from tests.support.simulated_engine import SimulatedEngine
from tests.support.simulated_trainer import train
from tests.support.simulated_training import ROOT, TRAINER
from tests.support.small_runs import OF_ANY_METHOD, config, config_of, events, lines, steps_of, train_until


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert train(folder, config()).status == "succeeded"
    return folder


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was stopped after step 5, with checkpoints of steps 3 and 5. Nobody writes to it."""
    folder = tmp_path_factory.mktemp("stopped") / "run"
    folder.mkdir()
    assert train_until(5, folder, config(), train).status == "stopped"
    return folder


@pytest.fixture
def stopped_run(stopped: Path, tmp_path: Path) -> Path:
    """A copy of it that goes on."""
    return shutil.copytree(stopped, tmp_path / "run")


def test_a_run_that_lost_its_last_steps_repeats_them_alike(undisturbed: Path, stopped_run: Path) -> None:
    # As after kill -9 in step 5: the journal is ahead of the checkpoint of step 3.
    shutil.rmtree(stopped_run / "checkpoints" / "step-000005")
    train(stopped_run, config())
    assert events(stopped_run, "resumed")[0].data["from_step"] == 3
    assert lines(stopped_run) == lines(undisturbed)


def test_a_damaged_newest_checkpoint_is_reported_and_the_one_before_it_used(
    undisturbed: Path, stopped_run: Path
) -> None:
    state = stopped_run / "checkpoints" / "step-000005" / "state.json"
    state.write_text(state.read_text().replace('"step": 5', '"step": 6'))
    train(stopped_run, config())
    assert events(stopped_run, "checkpoint_damaged")[0].data["checkpoint"] == "step-000005"
    assert events(stopped_run, "resumed")[0].data["from_step"] == 3
    assert lines(stopped_run) == lines(undisturbed)


def test_a_run_resumes_from_no_checkpoint_beyond_its_journal(undisturbed: Path, stopped_run: Path) -> None:
    journal = stopped_run / "attempt-1" / RECORDS_FILE
    # As in a backup that took the journal first: the checkpoint of step 5 is there, the record of step 4 is the last.
    kept = [line for line in journal.read_bytes().splitlines(keepends=True) if json.loads(line).get("step", 0) < 5]
    journal.write_bytes(b"".join(kept))
    train(stopped_run, config())
    damaged = events(stopped_run, "checkpoint_damaged")[0]
    assert damaged.message == "step-000005 is not used: the journal ends before it, at step 4"
    assert events(stopped_run, "resumed")[0].data["from_step"] == 3
    assert lines(stopped_run) == lines(undisturbed)


def test_a_torn_last_line_of_the_journal_is_cut_off(undisturbed: Path, stopped_run: Path) -> None:
    with (stopped_run / "attempt-1" / RECORDS_FILE).open("ab") as file:
        file.write(b'{"schema": 1, "type": "step", "st')
    train(stopped_run, config())
    assert lines(stopped_run) == lines(undisturbed)


def test_a_parameter_change_takes_effect_at_its_step_and_again_after_a_crash(tmp_path: Path) -> None:
    folders = [tmp_path / "straight", tmp_path / "crashed"]
    for folder in folders:
        folder.mkdir()
        append_request(folder, ControlRequest(id="1", author="ada", at_step=5, set={"method.c1": 0, "method.v": 1}))
    train(folders[0], config())
    train_until(6, folders[1], config(), train)
    shutil.rmtree(folders[1] / "checkpoints" / "step-000006")
    train(folders[1], config())
    assert lines(folders[0]) == lines(folders[1])
    thresholds = [record.thresholds and record.thresholds.c1 for record in steps_of(folders[0])]
    assert thresholds == [0.125] * 4 + [0.0] * 4
    change = events(folders[0], "parameter_change")[0]
    assert (change.data["author"], change.data["applied_step"]) == ("ada", 5)


def test_an_illegal_change_is_refused_with_the_reason_and_changes_nothing(undisturbed: Path, tmp_path: Path) -> None:
    append_request(tmp_path, ControlRequest(id="1", author="ada", set={"method.c2": [0.9, 0.9]}))
    append_request(tmp_path, ControlRequest(id="2", author="ada", set={"training.learning_rate": 1}))
    train(tmp_path, config())
    refused = events(tmp_path, "parameter_refused")
    assert [event.data["id"] for event in refused] == ["1", "2"]
    assert "c3" in refused[0].message
    assert "cannot change while the run is training" in refused[1].message
    assert lines(tmp_path) == lines(undisturbed)


def test_a_stop_request_ends_the_run_at_the_boundary_once(undisturbed: Path, tmp_path: Path) -> None:
    append_request(tmp_path, ControlRequest(id="1", author="ada", at_step=3, stop=True))
    assert train(tmp_path, config()).steps == 2
    assert events(tmp_path, "stop")[0].data == {"id": "1", "author": "ada"}
    assert train(tmp_path, config()).status == "succeeded"
    assert lines(tmp_path) == lines(undisturbed)


def test_another_config_on_the_same_folder_is_refused_field_by_field(undisturbed: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        train(undisturbed, config(training__learning_rate=0.01, method__v=2))
    assert [(problem.field, problem.value) for problem in caught.value.problems] == [
        ("method.v", 2), ("training.learning_rate", 0.01),
    ]  # fmt: skip
    assert caught.value.problems[0].remedy == f"the run in {undisturbed} has 3: use that, or another folder"


@pytest.mark.parametrize("method", ["dapo", "mopps"])
def test_a_resumed_method_that_chooses_its_prompts_equals_an_undisturbed_one(tmp_path: Path, method: str) -> None:
    own = {"dapo": {"method.overlong_buffer_tokens": 8}, "mopps": {"method.candidates": 2}}[method]
    settings = config_of(OF_ANY_METHOD, own, {"method.type": method, "training.steps": 5})
    train(tmp_path / "undisturbed", settings)
    # As after kill -9 in step 4 or 5: the journal is ahead of the checkpoint of step 3.
    train_until(4, tmp_path / "resumed", settings, train)
    shutil.rmtree(tmp_path / "resumed" / "checkpoints" / "step-000004")
    train(tmp_path / "resumed", settings)
    assert lines(tmp_path / "resumed") == lines(tmp_path / "undisturbed")
    steps = steps_of(tmp_path / "resumed")
    rounds = [record.num_rounds for record in steps]
    assert max(rounds) > 1 if method == "dapo" else rounds == [1] * 5
    assert [record.cost.num_rollouts for record in steps] == [
        4 * sum(record.counts.fresh for record in steps[:number]) for number in range(1, 6)
    ]


@pytest.mark.parametrize(
    "own",
    [
        {"method.type": "repo", "method.strategy": "variance", "method.retrieved_responses": 5},
        {"method.type": "remix", "method.reincarnation_step": 3},
        {"method.type": "arpo"},
        {"method.type": "dots"},
    ],
    ids=lambda own: own["method.type"],
)
def test_a_resumed_replay_method_equals_an_undisturbed_one(tmp_path: Path, own: dict[str, Any]) -> None:
    # Every prompt comes up every second step.
    few = {
        "task.num_train": 24, "training.steps": 4, "training.checkpoint_interval": 2, "tracking.num_prompts": 0,
        "evaluation.enabled": False,
    }  # fmt: skip
    settings = config_of(OF_ANY_METHOD, few, own)
    train(tmp_path / "undisturbed", settings)
    train_until(3, tmp_path / "resumed", settings, train)
    shutil.rmtree(tmp_path / "resumed" / "checkpoints" / "step-000003")
    train(tmp_path / "resumed", settings)
    assert lines(tmp_path / "resumed") == lines(tmp_path / "undisturbed")
    steps = steps_of(tmp_path / "resumed")
    assert sum((record.counts.x3 or 0) for record in steps) > 0
    assert sum(record.update.num_mini_batches for record in steps if record.update) > 4
    assert all(record.high_quality_buffer is not None for record in steps)


def test_the_log_has_a_line_per_step_and_the_best_checkpoint_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = config(training__checkpoint_interval=1, training__keep_checkpoints=1, evaluation__interval=1)
    (tmp_path / "config.json").write_text(settings.model_dump_json())
    # Where another attempt goes on, what the first one saw is still known.
    train_until(5, tmp_path, settings, train)
    assert main([str(tmp_path)], train) == 0
    told = capsys.readouterr().out.splitlines()
    steps = [line for line in told if "/8: reward" in line]
    assert len(steps) == 3
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ  step 6/8: reward \d\.\d\d  batch \d+/12: X1 \d+, X2 \d+, X3 \d+  "
        r"loss -?\d\.\d{4}  KL \S+  \d+\.\d\d s",
        steps[0],
    )
    assert any("step 8: CD-34 avg@2" in line and "95 % interval" in line for line in told)
    assert any("step 5: resumed: from the checkpoint of step 5" in line for line in told)
    assert told[-1].startswith("succeeded after 8 steps and ")

    found = [r for r in merged_records(tmp_path) if isinstance(r, EvaluationRecord) and r.dataset == "CD-34" and r.step]
    best = max(found, key=lambda record: (record.avg_at_k.value, -record.step)).step
    on_disk = sorted(path.name for path in (tmp_path / "checkpoints").iterdir())
    assert on_disk == sorted({checkpoint_name(best), checkpoint_name(8)})
    assert [event.data["best"] for event in events(tmp_path, "checkpoint")][-1] == best


def test_bad_input_ends_the_process_with_a_message_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model": {"path": "no/such/folder"}}))
    assert main([str(tmp_path)]) == EXIT_BAD_INPUT
    assert "model.path = 'no/such/folder'" in capsys.readouterr().err
    assert events(tmp_path, "failed")[0].data == {"bad_input": True, "cannot_write": False}


def test_a_trainer_process_of_a_folder_without_a_config_says_so(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bapo.run.trainer", str(tmp_path), "--attempt", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == EXIT_BAD_INPUT
    assert "it holds no config.json" in done.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (JournalError("cannot append"), EXIT_CANNOT_WRITE),
        (CheckpointError("cannot write the checkpoint"), EXIT_CANNOT_WRITE),
        (OSError(errno.ENOSPC, "no space left on device"), EXIT_CANNOT_WRITE),
        (OSError(errno.EROFS, "read-only file system"), EXIT_CANNOT_WRITE),
        (OSError(errno.EIO, "input/output error"), EXIT_CANNOT_WRITE),
        (OSError(errno.EMFILE, "too many open files"), EXIT_CANNOT_WRITE),
        (OSError(errno.EACCES, "permission denied"), EXIT_CANNOT_WRITE),
        # Of a data set, say: no later try finds another permission.
        (OSError(errno.EACCES, "permission denied", "/data/train.jsonl"), EXIT_FAILED),
        (OSError(errno.ENOENT, "no such file or directory"), EXIT_FAILED),
        (RuntimeError("no"), EXIT_FAILED),
    ],
)
def test_a_full_disk_has_an_exit_code_of_its_own(tmp_path: Path, error: Exception, code: int) -> None:
    def fail(*_: object, **__: object) -> TrainingSummary:
        raise error

    (tmp_path / "config.json").write_text("{}")
    assert main([str(tmp_path)], fail) == code


def test_a_folder_that_becomes_read_only_under_a_run_is_written_again_later(
    tmp_path: Path, undisturbed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with small_disk(tmp_path / "run", "64m") as folder:
        (folder / "config.json").write_bytes((undisturbed / "config.json").read_bytes())

        class Remounter:
            def on_record(self, record: AnyRecord) -> None:
                if isinstance(record, StepRecord) and record.step == 1:
                    # What is open stays open, and nothing new can be made.
                    assert mount_read_only(folder)

        def train_and_remount(*run: Any, **options: Any) -> TrainingSummary:
            return train(*run, **{**options, "observer": Remounter()})

        assert main([str(folder), "--attempt", "1"], train_and_remount) == EXIT_CANNOT_WRITE
        # The journal went on until the first checkpoint.
        assert [record.step for record in steps_of(folder)] == [1, 2, 3]
        # Nor does an attempt begin.
        assert main([str(folder), "--attempt", "2"], train) == EXIT_CANNOT_WRITE
        assert capsys.readouterr().err.splitlines()[-1].startswith("OSError: [Errno 30] Read-only file system")
        subprocess.run(["umount", str(folder)], check=True)
        assert main([str(folder), "--attempt", "2"], train) == EXIT_SUCCEEDED
        assert lines(folder) == lines(undisturbed)


def test_a_run_whose_folder_is_moved_ends_instead_of_training_for_nobody(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "run", tmp_path / "elsewhere"

    class Mover:
        def on_record(self, record: AnyRecord) -> None:
            if isinstance(record, StepRecord) and record.step == 2:
                folder.rename(elsewhere)

    with pytest.raises(JournalError, match="was deleted or moved"):
        train(folder, config(), observer=Mover())
    # Nor does the checkpoint after step 3 make it anew.
    assert not folder.exists()
    assert [record.step for record in steps_of(elsewhere)] == [1, 2]


@pytest.mark.usefixtures("simulated_engine")
def test_a_run_goes_on_when_there_is_room_again(tmp_path: Path, undisturbed: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "config.json").write_bytes((undisturbed / "config.json").read_bytes())
    command = [sys.executable, *TRAINER, str(folder), "--attempt"]
    # No file may grow beyond this, which is less than a checkpoint.
    full = ["prlimit", "--fsize=200000:"]
    assert subprocess.run([*full, *command, "1"], capture_output=True, check=False).returncode == EXIT_CANNOT_WRITE
    assert main([str(folder), "--attempt", "2"], train) == EXIT_SUCCEEDED
    assert lines(folder) == lines(undisturbed)


def test_a_stop_after_the_next_checkpoint_writes_none_of_its_own(undisturbed: Path, tmp_path: Path) -> None:
    append_request(tmp_path, ControlRequest(id="1", author="ada", stop=True, when="checkpoint"))
    # The interval is 3.
    assert train(tmp_path, config()).steps == 3
    assert [event.step for event in events(tmp_path, "checkpoint")] == [3]
    assert train(tmp_path, config()).status == "succeeded"
    assert lines(tmp_path) == lines(undisturbed)


def test_a_withdrawn_change_is_answered_and_changes_nothing(undisturbed: Path, tmp_path: Path) -> None:
    append_request(tmp_path, ControlRequest(id="1", author="ada", at_step=4, set={"method.c1": 0}))
    append_request(tmp_path, ControlRequest(id="2", author="bob", withdraws="1"))
    train(tmp_path, config())
    (withdrawn,) = events(tmp_path, "request_withdrawn")
    assert withdrawn.data == {"id": "1", "author": "bob", "applied_step": 1}
    assert lines(tmp_path) == lines(undisturbed)


def test_prompts_left_out_are_never_trained_on_and_heavy_ones_come_more_often(
    undisturbed: Path, tmp_path: Path
) -> None:
    visited = sorted({visit.prompt_id for step in steps_of(undisturbed) for visit in step.prompts})
    excluded, heavy = visited[:20], visited[20]
    weights = [*(f"{prompt_id}=0" for prompt_id in excluded[10:]), f"{heavy}=50"]
    changed = config(task__exclude_prompts=excluded[:10], task__prompt_weights=weights)
    assert train(tmp_path, changed).status == "succeeded"
    steps = steps_of(tmp_path)
    assert len(steps) == 8
    fresh = [visit.prompt_id for step in steps for visit in step.prompts if visit.source is BatchSource.FRESH]
    assert not set(fresh) & set(excluded)
    schedule = PromptSchedule(
        build_task(changed.task).train,
        batch_size=changed.rollout.batch_size,
        seed=changed.training.seed,
        weights={heavy: 50.0},
    )
    assert fresh == [problem.prompt_id for step in range(1, 9) for problem in schedule.batch(step)]
    assert fresh.count(heavy) > 1


@pytest.mark.parametrize("field", ["loss", "grad_norm"])
def test_a_step_that_is_not_finite_ends_the_run_and_is_not_recorded(tmp_path: Path, field: str) -> None:
    """Stop with every engine: verl skips such a step and continues."""

    class Diverging(SimulatedEngine):
        def update(self, batch: Sequence[BatchItem], *, step: int, passes: int = 1) -> UpdateStats:
            stats = super().update(batch, step=step, passes=passes)
            if step != 5:
                return stats
            return stats.model_copy(update={field: math.nan})

    with pytest.raises(ConfigError, match=r"training\.learning_rate = .*: in step 5, .* is nan"):
        trainer.train(tmp_path, config(), build=Diverging)
    assert [step.step for step in steps_of(tmp_path)] == [1, 2, 3, 4]
    (failed,) = events(tmp_path, "failed")
    assert "look at" in failed.message.lower()
