"""What a trainer does with the control file, an attempt at a time; the journal is written here as the trainer does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bapo.config import ConfigError, resolve
from bapo.methods.bapo import Bapo, BapoConfig
from bapo.records import EventRecord, dump_record
from bapo.run.control import CONTROL_FILE, ControlRequest, append_request
from bapo.run.journal import RECORDS_FILE, append_line
from bapo.run.steering import Steering


def ask(run_folder: Path, request_id: str, **fields: Any) -> None:
    if not fields.get("stop"):
        fields = {"set": {"method.c1": 0.25}, **fields}
    append_request(run_folder, ControlRequest.model_validate({"id": request_id, "author": "ada", **fields}))


def answer(run_folder: Path, attempt: int, request_id: str, *, event: str = "parameter_change", step: int = 1) -> None:
    data: dict[str, object] = {"id": request_id, "author": "ada"}
    if event != "stop":
        data |= {"set": {}, "applied_step": step}
    record = EventRecord.model_validate(
        {"attempt": attempt, "step": step - 1, "event": event, "message": "", "data": data}
    )
    append_line(run_folder / f"attempt-{attempt}" / RECORDS_FILE, dump_record(record))


def due(steering: Steering, step: int) -> list[str]:
    return [request.id for request in steering.due(step)]


def test_a_request_is_due_at_the_next_boundary_once(tmp_path: Path) -> None:
    steering = Steering(tmp_path)
    assert due(steering, 1) == []
    ask(tmp_path, "now")
    assert due(steering, 2) == ["now"]
    assert due(steering, 3) == []


@pytest.mark.parametrize(("step", "expected"), [(4, []), (5, ["later"]), (6, ["later"])])
def test_at_step_is_the_first_step_that_it_holds_for(tmp_path: Path, step: int, expected: list[str]) -> None:
    ask(tmp_path, "later", at_step=5)
    assert due(Steering(tmp_path), step) == expected


def test_requests_are_due_in_the_order_of_the_file(tmp_path: Path) -> None:
    ask(tmp_path, "b", at_step=2)
    ask(tmp_path, "a")
    ask(tmp_path, "halt", stop=True)
    assert due(Steering(tmp_path), 2) == ["b", "a", "halt"]


def test_a_request_written_twice_is_answered_once(tmp_path: Path) -> None:
    # A worker that lost the reply may append the same request again.
    ask(tmp_path, "a")
    ask(tmp_path, "a")
    assert due(Steering(tmp_path), 1) == ["a"]


def test_bad_lines_are_reported_once(tmp_path: Path) -> None:
    steering = Steering(tmp_path)
    assert steering.rejected() == ()
    append_line(tmp_path / CONTROL_FILE, b"no request\n")
    steering.due(1)
    assert len(steering.rejected()) == 1
    steering.due(2)
    assert steering.rejected() == []
    append_line(tmp_path / CONTROL_FILE, b"nor this\n")
    steering.due(3)
    (message,) = steering.rejected()
    assert message.startswith(f"{CONTROL_FILE} line 2:")


def test_after_a_crash_an_answer_is_repeated_at_its_step(tmp_path: Path) -> None:
    # Asked without a step, applied at step 7; the checkpoint is of step 5.
    ask(tmp_path, "a")
    answer(tmp_path, 1, "a", step=7)
    steering = Steering(tmp_path)
    steering.resume_after(5)
    assert [due(steering, step) for step in (6, 7, 8)] == [[], ["a"], []]


@pytest.mark.parametrize(("completed", "repeated"), [(6, ["a"]), (7, []), (8, [])])
def test_what_the_checkpoint_contains_is_not_repeated(tmp_path: Path, completed: int, repeated: list[str]) -> None:
    # Applied before step 7: a checkpoint of 7 completed steps has it, one of 6 has not.
    ask(tmp_path, "a")
    answer(tmp_path, 1, "a", step=7)
    steering = Steering(tmp_path)
    steering.resume_after(completed)
    assert due(steering, completed + 1) == repeated


def test_a_refused_request_is_refused_again_at_its_step(tmp_path: Path) -> None:
    ask(tmp_path, "a")
    answer(tmp_path, 1, "a", event="parameter_refused", step=3)
    steering = Steering(tmp_path)
    steering.resume_after(0)
    assert [due(steering, step) for step in (1, 2, 3, 4)] == [[], [], ["a"], []]


def test_a_stop_is_never_repeated(tmp_path: Path) -> None:
    ask(tmp_path, "halt", stop=True)
    answer(tmp_path, 1, "halt", event="stop", step=4)
    steering = Steering(tmp_path)
    steering.resume_after(0)
    assert [due(steering, step) for step in (1, 4, 9)] == [[], [], []]


def test_a_stop_without_an_answer_still_stands(tmp_path: Path) -> None:
    # The trainer died before it could write the answer.
    ask(tmp_path, "halt", stop=True)
    assert due(Steering(tmp_path), 1) == ["halt"]


def test_a_stop_by_a_signal_has_no_id_and_answers_nothing(tmp_path: Path) -> None:
    record = EventRecord(attempt=1, step=2, event="stop", message="requested by a signal")
    append_line(tmp_path / "attempt-1" / RECORDS_FILE, dump_record(record))
    ask(tmp_path, "a")
    assert due(Steering(tmp_path), 3) == ["a"]


def test_a_second_crash_repeats_at_the_same_step_again(tmp_path: Path) -> None:
    ask(tmp_path, "a")
    answer(tmp_path, 1, "a", step=7)
    answer(tmp_path, 2, "a", step=7)
    steering = Steering(tmp_path)
    steering.resume_after(5)
    assert [due(steering, step) for step in (6, 7, 8)] == [[], ["a"], []]


def test_a_new_request_during_the_repeated_steps_is_due_at_once(tmp_path: Path) -> None:
    ask(tmp_path, "a")
    answer(tmp_path, 1, "a", step=7)
    ask(tmp_path, "b")
    steering = Steering(tmp_path)
    steering.resume_after(5)
    assert [due(steering, step) for step in (6, 7)] == [["b"], ["a"]]


def test_a_change_reaches_the_method(tmp_path: Path) -> None:
    config = resolve({"training": {"steps": 9}}).config
    method = Bapo(config)
    ask(tmp_path, "a", set={"method.c1": "3/8"})
    (request,) = Steering(tmp_path).due(1)
    changed = Steering.change(config, request, method)
    assert isinstance(changed.method, BapoConfig)
    assert float(changed.method.c1) == 0.375
    assert method.thresholds().difficult_max_count == 3


def test_an_illegal_change_changes_nothing(tmp_path: Path) -> None:
    config = resolve({"training": {"steps": 9}}).config
    method = Bapo(config)
    ask(tmp_path, "a", set={"method.c1": 1})
    (request,) = Steering(tmp_path).due(1)
    with pytest.raises(ConfigError, match="at least 0 and less than 1"):
        Steering.change(config, request, method)
    assert method.thresholds().difficult_max_count == 1


def test_a_stop_that_waits_for_a_checkpoint_is_due_at_one(tmp_path: Path) -> None:
    ask(tmp_path, "patient", stop=True, when="checkpoint")
    steering = Steering(tmp_path)
    assert due(steering, 3) == []
    assert [request.id for request in steering.due(4, at_checkpoint=True)] == ["patient"]
    assert [request.id for request in steering.due(5, at_checkpoint=True)] == []


def test_a_sooner_stop_fulfils_the_patient_ones(tmp_path: Path) -> None:
    ask(tmp_path, "patient", stop=True, when="checkpoint")
    ask(tmp_path, "planned", stop=True, at_step=9)
    ask(tmp_path, "impatient", stop=True)
    steering = Steering(tmp_path)
    assert due(steering, 3) == ["impatient"]
    # The planned one was for a later step, and stands.
    assert [request.id for request in steering.fulfilled_stops(3)] == ["patient"]
    assert due(steering, 9) == ["planned"]


def test_a_withdrawn_request_is_never_due(tmp_path: Path) -> None:
    ask(tmp_path, "a", at_step=5)
    steering = Steering(tmp_path)
    assert due(steering, 2) == []
    append_request(tmp_path, ControlRequest(id="w", author="bob", withdraws="a"))
    (answered,) = steering.due(3)
    assert (answered.withdraws, answered.author) == ("a", "bob")
    assert [due(steering, step) for step in (4, 5, 6)] == [[], [], []]


def test_a_withdrawal_that_comes_with_its_request_wins(tmp_path: Path) -> None:
    ask(tmp_path, "a")
    append_request(tmp_path, ControlRequest(id="w", author="bob", withdraws="a"))
    assert due(Steering(tmp_path), 1) == ["w"]


def test_what_took_effect_cannot_be_withdrawn_also_after_a_crash(tmp_path: Path) -> None:
    ask(tmp_path, "a")
    answer(tmp_path, 1, "a", step=7)
    append_request(tmp_path, ControlRequest(id="w", author="bob", withdraws="a"))
    append_request(tmp_path, ControlRequest(id="w2", author="bob", withdraws="nothing"))
    steering = Steering(tmp_path)
    steering.resume_after(5)
    assert [due(steering, step) for step in (6, 7, 8)] == [[], ["a"], []]


def test_an_answered_withdrawal_holds_after_a_crash(tmp_path: Path) -> None:
    ask(tmp_path, "a", at_step=5)
    answer(tmp_path, 1, "a", event="request_withdrawn", step=3)
    steering = Steering(tmp_path)
    steering.resume_after(1)
    assert [due(steering, step) for step in (2, 3, 5)] == [[], [], []]
