"""Whole runs of the local engine on the shipped model: resumed equals undisturbed, requests, damaged checkpoints."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from bapo.config import ConfigError, RunConfig, apply_changes, resolve
from bapo.config.method import METHODS
from bapo.records import AnyRecord, EvaluationRecord, EventRecord, StepRecord, TrackingRecord, comparable
from bapo.rollout import BatchSource
from bapo.run.checkpoint import CheckpointError
from bapo.run.control import ControlRequest, append_request
from bapo.run.journal import RECORDS_FILE, JournalError, attempt_folders, merged_records, read_records
from bapo.run.trainer import EXIT_BAD_INPUT, EXIT_CANNOT_WRITE, EXIT_FAILED, TrainingSummary, main, train

SMALL = {
    "method.type": "bapo",
    "method.v": 3,
    "method.m": 2,
    "task.num_train": 48,
    "task.num_test": 8,
    "rollout.batch_size": 12,
    "rollout.group_size": 4,
    "method.c2": ["0", "0"],
    "method.c3": ["1/2", "3/4"],
    "training.batch_size": 12,
    "training.steps": 8,
    "training.mini_batch_size": 5,
    "training.checkpoint_interval": 3,
    "tracking.num_prompts": 8,
    "tracking.interval": 4,
    "evaluation.interval": 4,
    "evaluation.num_samples": 2,
}


def config(**changes: Any) -> RunConfig:
    settings = SMALL | {name.replace("__", "."): value for name, value in changes.items()}
    return resolve(apply_changes({}, settings)).config


class StopAfter:
    """Asks for a stop once a step has been recorded."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.stop = threading.Event()

    def on_record(self, record: AnyRecord) -> None:
        if isinstance(record, StepRecord) and record.step >= self.step:
            self.stop.set()


def lines(run_folder: Path) -> list[dict[str, Any]]:
    """What must be equal between equal runs."""
    return [comparable(record) for record in merged_records(run_folder) if not isinstance(record, EventRecord)]


def events(run_folder: Path, kind: str) -> list[EventRecord]:
    return [
        record
        for folder in attempt_folders(run_folder)
        for record in read_records(folder / RECORDS_FILE)
        if isinstance(record, EventRecord) and record.event == kind
    ]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert train(folder, config()).status == "succeeded"
    return folder


def test_a_run_records_every_step_evaluation_and_tracking(undisturbed: Path) -> None:
    records = merged_records(undisturbed)
    steps = [record for record in records if isinstance(record, StepRecord)]
    assert [record.step for record in steps] == list(range(1, 9))
    # 48 prompts, 12 a step: four steps make an epoch.
    assert [record.epoch for record in steps] == [0, 0, 0, 0, 1, 1, 1, 1]
    # v = 3: α is θ0 in steps 1 and 2, and the weights after step t - 1 from t = 3 and t = 6 on.
    assert [record.rollout_version for record in steps] == [0, 0, 2, 2, 2, 5, 5, 5]
    evaluated = {(r.step, r.dataset) for r in records if isinstance(r, EvaluationRecord)}
    assert evaluated == {(step, name) for step in (0, 4, 8) for name in ("CD-34", "CD-4")}
    tracked = [(r.step, r.replicate) for r in records if isinstance(r, TrackingRecord)]
    assert tracked == [(0, 0), (0, 1), (4, 0), (8, 0)]


def test_the_composition_adds_up_in_every_step(undisturbed: Path) -> None:
    for record in merged_records(undisturbed):
        if not isinstance(record, StepRecord):
            continue
        counts = record.counts
        assert counts.x1 + counts.x2 + counts.x3 == counts.batch == sum(record.batch_histogram) <= counts.batch_size
        assert sum(record.fresh_histogram) == counts.fresh == 12
        assert counts.reevaluated == counts.improved + counts.solved + counts.still_difficult
        assert counts.reevaluated == 0 or record.step % 2 == 0
        for visit in record.prompts:
            if visit.source is BatchSource.FRESH:
                assert visit.policy_version == record.rollout_version
            elif visit.source is BatchSource.REEVALUATED:
                # Answered by the weights after step t - 1, never by α.
                assert visit.policy_version == record.step - 1


def test_re_evaluated_and_reused_groups_do_occur(undisturbed: Path) -> None:
    steps = [record for record in merged_records(undisturbed) if isinstance(record, StepRecord)]
    assert sum(record.counts.reevaluated for record in steps) > 0
    assert sum(record.counts.x3 for record in steps) > 0


@pytest.mark.parametrize("after", [1, 4, 6])
def test_a_resumed_run_equals_an_undisturbed_one(undisturbed: Path, tmp_path: Path, after: int) -> None:
    stopping = StopAfter(after)
    summary = train(tmp_path, config(), observer=stopping, stop=stopping.stop)
    assert (summary.status, summary.steps) == ("stopped", after)
    summary = train(tmp_path, config())
    assert (summary.status, summary.steps) == ("succeeded", 8)
    assert lines(tmp_path) == lines(undisturbed)


def test_a_run_that_lost_its_last_steps_repeats_them_alike(undisturbed: Path, tmp_path: Path) -> None:
    # As after kill -9 in step 5: the journal is ahead of the checkpoint of step 3.
    stopping = StopAfter(5)
    train(tmp_path, config(), observer=stopping, stop=stopping.stop)
    shutil.rmtree(tmp_path / "checkpoints" / "step-000005")
    train(tmp_path, config())
    assert events(tmp_path, "resumed")[0].data["from_step"] == 3
    assert lines(tmp_path) == lines(undisturbed)


def test_a_damaged_newest_checkpoint_is_reported_and_the_one_before_it_used(undisturbed: Path, tmp_path: Path) -> None:
    stopping = StopAfter(5)
    train(tmp_path, config(), observer=stopping, stop=stopping.stop)
    state = tmp_path / "checkpoints" / "step-000005" / "state.json"
    state.write_text(state.read_text().replace('"step": 5', '"step": 6'))
    train(tmp_path, config())
    assert events(tmp_path, "checkpoint_damaged")[0].data["checkpoint"] == "step-000005"
    assert events(tmp_path, "resumed")[0].data["from_step"] == 3
    assert lines(tmp_path) == lines(undisturbed)


def test_a_run_resumes_from_no_checkpoint_beyond_its_journal(undisturbed: Path, tmp_path: Path) -> None:
    stopping = StopAfter(5)
    train(tmp_path, config(), observer=stopping, stop=stopping.stop)
    journal = tmp_path / "attempt-1" / RECORDS_FILE
    # As in a backup that took the journal first: the checkpoint of step 5 is there, the record of step 4 is the last.
    kept = [line for line in journal.read_bytes().splitlines(keepends=True) if json.loads(line).get("step", 0) < 5]
    journal.write_bytes(b"".join(kept))
    train(tmp_path, config())
    damaged = events(tmp_path, "checkpoint_damaged")[0]
    assert damaged.message == "step-000005 is not used: the journal ends before it, at step 4"
    assert events(tmp_path, "resumed")[0].data["from_step"] == 3
    assert lines(tmp_path) == lines(undisturbed)


def test_a_torn_last_line_of_the_journal_is_cut_off(undisturbed: Path, tmp_path: Path) -> None:
    stopping = StopAfter(4)
    train(tmp_path, config(), observer=stopping, stop=stopping.stop)
    with (tmp_path / "attempt-1" / RECORDS_FILE).open("ab") as file:
        file.write(b'{"schema": 1, "type": "step", "st')
    train(tmp_path, config())
    assert lines(tmp_path) == lines(undisturbed)


def test_a_parameter_change_takes_effect_at_its_step_and_again_after_a_crash(tmp_path: Path) -> None:
    folders = [tmp_path / "straight", tmp_path / "crashed"]
    for folder in folders:
        folder.mkdir()
        append_request(folder, ControlRequest(id="1", author="ada", at_step=5, set={"method.c1": 0, "method.v": 1}))
    train(folders[0], config())
    stopping = StopAfter(6)
    train(folders[1], config(), observer=stopping, stop=stopping.stop)
    shutil.rmtree(folders[1] / "checkpoints" / "step-000006")
    train(folders[1], config())
    assert lines(folders[0]) == lines(folders[1])
    thresholds = [r.thresholds.c1 for r in merged_records(folders[0]) if isinstance(r, StepRecord)]
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


@pytest.mark.parametrize("method", sorted(METHODS.classes))
def test_every_method_trains(tmp_path: Path, method: str) -> None:
    changes = {name: value for name, value in SMALL.items() if not name.startswith("method.")}
    explicit = apply_changes({}, changes | {"method.type": method, "training.steps": 3})
    assert train(tmp_path, resolve(explicit).config).steps == 3


@pytest.mark.parametrize("method", ["dapo", "mopps"])
def test_a_resumed_method_that_chooses_its_prompts_equals_an_undisturbed_one(tmp_path: Path, method: str) -> None:
    changes = {name: value for name, value in SMALL.items() if not name.startswith("method.")}
    own = {"dapo": {"method.overlong_buffer_tokens": 8}, "mopps": {"method.candidates": 2}}[method]
    explicit = apply_changes({}, changes | own | {"method.type": method, "training.steps": 5})
    settings = resolve(explicit).config
    train(tmp_path / "undisturbed", settings)
    # As after kill -9 in step 4 or 5: the journal is ahead of the checkpoint of step 3.
    stopping = StopAfter(4)
    train(tmp_path / "resumed", settings, observer=stopping, stop=stopping.stop)
    shutil.rmtree(tmp_path / "resumed" / "checkpoints" / "step-000004")
    train(tmp_path / "resumed", settings)
    assert lines(tmp_path / "resumed") == lines(tmp_path / "undisturbed")
    steps = [record for record in merged_records(tmp_path / "resumed") if isinstance(record, StepRecord)]
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
        {"method.type": "arpo", "method.replaces": "response"},
        {"method.type": "dots"},
    ],
    ids=lambda own: own["method.type"],
)
def test_a_resumed_replay_method_equals_an_undisturbed_one(tmp_path: Path, own: dict[str, Any]) -> None:
    changes = {name: value for name, value in SMALL.items() if not name.startswith("method.")}
    # Every prompt comes up every second step.
    few = {
        "task.num_train": 24, "training.steps": 4, "training.checkpoint_interval": 2, "tracking.num_prompts": 0,
        "evaluation.enabled": False,
    }  # fmt: skip
    settings = resolve(apply_changes({}, changes | few | own)).config
    train(tmp_path / "undisturbed", settings)
    stopping = StopAfter(3)
    train(tmp_path / "resumed", settings, observer=stopping, stop=stopping.stop)
    shutil.rmtree(tmp_path / "resumed" / "checkpoints" / "step-000003")
    train(tmp_path / "resumed", settings)
    assert lines(tmp_path / "resumed") == lines(tmp_path / "undisturbed")
    steps = [record for record in merged_records(tmp_path / "resumed") if isinstance(record, StepRecord)]
    assert sum(record.counts.x3 for record in steps) > 0
    assert sum(record.update.num_mini_batches for record in steps if record.update) > 4
    assert all(record.high_quality_buffer is not None for record in steps)


def test_bad_input_ends_the_process_with_a_message_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model": {"path": "no/such/folder"}}))
    assert main([str(tmp_path)]) == EXIT_BAD_INPUT
    assert "model.path = 'no/such/folder'" in capsys.readouterr().err
    assert events(tmp_path, "failed")[0].data == {"bad_input": True, "cannot_write": False}


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (JournalError("cannot append"), EXIT_CANNOT_WRITE),
        (CheckpointError("cannot write the checkpoint"), EXIT_CANNOT_WRITE),
        (OSError(errno.ENOSPC, "no space left on device"), EXIT_CANNOT_WRITE),
        (OSError(errno.EACCES, "permission denied"), EXIT_FAILED),
        (RuntimeError("no"), EXIT_FAILED),
    ],
)
def test_a_full_disk_has_an_exit_code_of_its_own(tmp_path: Path, error: Exception, code: int) -> None:
    def fail(*_: object, **__: object) -> TrainingSummary:
        raise error

    (tmp_path / "config.json").write_text("{}")
    assert main([str(tmp_path)], fail) == code


def test_a_run_goes_on_when_there_is_room_again(tmp_path: Path, undisturbed: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "config.json").write_bytes((undisturbed / "config.json").read_bytes())
    command = [sys.executable, "-m", "bapo.run.trainer", str(folder), "--attempt"]
    # No file may grow beyond this, which is less than a checkpoint.
    full = ["prlimit", "--fsize=1000000:"]
    assert subprocess.run([*full, *command, "1"], capture_output=True, check=False).returncode == EXIT_CANNOT_WRITE
    assert subprocess.run([*command, "2"], capture_output=True, check=False).returncode == 0
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
