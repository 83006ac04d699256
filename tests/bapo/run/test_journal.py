from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bapo.records import AnyRecord, EventRecord, TrackingRecord, dump_record
from bapo.run.journal import (
    RECORDS_FILE,
    SAMPLES_FILE,
    Journal,
    JournalError,
    LineWriter,
    append_line,
    attempt_folders,
    complete_lines,
    merged_records,
    read_records,
)
from tests.support.journals import tracking


def event(step: int, *, attempt: int = 1, name: str = "checkpoint") -> EventRecord:
    return EventRecord.model_validate({"attempt": attempt, "step": step, "event": name, "message": ""})


def write(run_folder: Path, attempt: int, *records: AnyRecord) -> None:
    journal = Journal(run_folder / f"attempt-{attempt}")
    for record in records:
        journal.write(record)
    journal.close()


@contextmanager
def files_no_larger_than(num_bytes: int) -> Iterator[None]:
    """A disk that is full at this size; Python itself ignores the signal that comes with it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_records_come_back_in_order(tmp_path: Path) -> None:
    write(tmp_path, 1, tracking(0), event(1), tracking(5))
    assert list(read_records(tmp_path / "attempt-1" / RECORDS_FILE)) == [tracking(0), event(1), tracking(5)]
    assert (tmp_path / "attempt-1" / SAMPLES_FILE).read_bytes() == b""


def test_a_line_is_on_its_way_to_disk_when_write_returns(tmp_path: Path) -> None:
    with LineWriter(tmp_path / "file") as writer:
        writer.write(b"one\n")
        assert (tmp_path / "file").read_bytes() == b"one\n"


def test_a_torn_last_line_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / RECORDS_FILE
    path.write_bytes(dump_record(tracking(1)) + dump_record(tracking(2))[:-1])
    assert list(read_records(path)) == [tracking(1)]


@pytest.mark.parametrize("torn", [b"x", b'{"schema":1,"ty', b"y" * 65_536, b"y" * 200_000])
@pytest.mark.parametrize("before", [b"", b"one\n", b"one\ntwo\n"])
def test_a_torn_last_line_is_cut_before_the_next_is_written(tmp_path: Path, before: bytes, torn: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(before + torn)
    append_line(path, b"next\n")
    assert path.read_bytes() == before + b"next\n"


def test_whole_lines_are_left_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one\n\ntwo\n")
    LineWriter(path).close()
    assert path.read_bytes() == b"one\n\ntwo\n"
    assert list(complete_lines(path)) == [b"one", b"", b"two"]


def test_no_file_has_no_lines(tmp_path: Path) -> None:
    assert list(complete_lines(tmp_path / "nothing")) == []
    assert list(read_records(tmp_path / "nothing")) == []


def test_a_disk_full_within_a_line_leaves_no_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "attempt-1" / RECORDS_FILE
    journal = Journal(tmp_path / "attempt-1")
    journal.write(tracking(1))
    whole = path.read_bytes()
    # Room for ten bytes of the next line.
    with files_no_larger_than(len(whole) + 10), pytest.raises(JournalError) as caught:
        journal.write(tracking(2))
    assert str(path) in str(caught.value)
    assert "free some space, then start the run again" in str(caught.value)
    assert path.read_bytes() == whole
    # With space again, the same writer goes on.
    journal.write(tracking(2))
    journal.close()
    assert list(read_records(path)) == [tracking(1), tracking(2)]


def test_a_disk_full_before_a_line_is_reported_alike(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with LineWriter(path) as writer:
        writer.write(b"one\n")
        with files_no_larger_than(4), pytest.raises(JournalError, match=r"cannot append to .*file: .*free some space"):
            writer.write(b"two\n")
    assert path.read_bytes() == b"one\n"


def test_a_full_device_is_named_with_the_remedy() -> None:
    with LineWriter(Path("/dev/full")) as writer, pytest.raises(JournalError) as caught:
        writer.write(b"one\n")
    assert str(caught.value) == (
        "cannot append to /dev/full: No space left on device; free some space, then start the run again"
    )


def test_a_file_that_lost_its_name_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "run" / "file"
    with LineWriter(path) as writer:
        writer.write(b"one\n")
        path.parent.rename(tmp_path / "elsewhere")
        with pytest.raises(JournalError, match=r"run/file was deleted or moved .*: clone the run"):
            writer.write(b"two\n")
        # Another file of that name is not ours either.
        path.parent.mkdir()
        path.write_bytes(b"")
        with pytest.raises(JournalError, match="deleted or moved"):
            writer.write(b"two\n")
    assert (tmp_path / "elsewhere" / "file").read_bytes() == b"one\n"


def test_attempts_are_ordered_by_number(tmp_path: Path) -> None:
    for name in ("attempt-10", "attempt-2", "attempt-1", "attempt-x", "checkpoints"):
        (tmp_path / name).mkdir()
    assert [folder.name for folder in attempt_folders(tmp_path)] == ["attempt-1", "attempt-2", "attempt-10"]


def test_a_later_attempt_replaces_the_steps_that_it_repeats(tmp_path: Path) -> None:
    write(tmp_path, 1, tracking(1), tracking(2), tracking(3, [5]))
    write(tmp_path, 2, tracking(3, [6], attempt=2), tracking(4, attempt=2))
    merged = merged_records(tmp_path)
    assert [(record.step, record.attempt) for record in merged] == [(1, 1), (2, 1), (3, 2), (4, 2)]


def test_replicates_at_one_step_are_apart(tmp_path: Path) -> None:
    write(tmp_path, 1, tracking(0), tracking(0, replicate=1))
    assert merged_records(tmp_path) == [tracking(0), tracking(0, replicate=1)]


def test_events_of_all_attempts_are_kept(tmp_path: Path) -> None:
    write(tmp_path, 1, event(0, name="started"), tracking(1), event(1))
    write(tmp_path, 2, event(1, attempt=2, name="resumed"), tracking(1, attempt=2))
    merged = merged_records(tmp_path)
    assert [record.event for record in merged if isinstance(record, EventRecord)] == [
        "started",
        "checkpoint",
        "resumed",
    ]
    assert [record.attempt for record in merged if isinstance(record, TrackingRecord)] == [2]
    assert [record.step for record in merged] == sorted(record.step for record in merged)


def test_a_torn_line_of_an_earlier_attempt_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path, 1, tracking(1))
    with (tmp_path / "attempt-1" / RECORDS_FILE).open("ab") as file:
        file.write(b'{"schema":1,')
    write(tmp_path, 2, tracking(2, attempt=2))
    assert [record.step for record in merged_records(tmp_path)] == [1, 2]
