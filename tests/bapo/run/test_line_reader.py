"""Reading growing files by byte offset."""

from __future__ import annotations

from pathlib import Path

import pytest

from bapo.run.line_reader import Lines, LineTooLongError, read_lines


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "records.jsonl"


def test_a_file_that_is_not_there_yet_has_no_lines(path: Path) -> None:
    assert read_lines(path, 0) is None


def test_offsets_count_bytes_not_characters(path: Path) -> None:
    # "α" is two bytes: the first line ends at 2 + 1 = 3, the second at 3 + 1 + 1 = 5.
    path.write_text("α\nb\n")
    assert read_lines(path, 0) == Lines(0, 5, ["α", "b"])
    assert read_lines(path, 3) == Lines(3, 5, ["b"])


def test_an_unfinished_line_waits_for_its_newline(path: Path) -> None:
    path.write_text("one\ntw")
    assert read_lines(path, 0) == Lines(0, 4, ["one"])
    assert read_lines(path, 4) is None
    path.write_text("one\ntwo\n")
    assert read_lines(path, 4) == Lines(4, 8, ["two"])


def test_nothing_new_at_the_end(path: Path) -> None:
    path.write_text("one\n")
    assert read_lines(path, 4) is None


def test_a_chunk_ends_at_its_last_whole_line(path: Path) -> None:
    path.write_text("aaa\nbbb\nccc\n")
    # Six bytes reach into the second line.
    assert read_lines(path, 0, chunk_bytes=6) == Lines(0, 4, ["aaa"])


def test_a_line_longer_than_the_chunk_is_read_whole(path: Path) -> None:
    path.write_text("a" * 25 + "\nb\n")
    found = read_lines(path, 0, chunk_bytes=10)
    # 26 bytes with its newline; three chunks of ten reach past it to the second line's end, byte 28.
    assert found == Lines(0, 28, ["a" * 25, "b"])


def test_a_line_that_no_server_takes_is_named(path: Path) -> None:
    path.write_bytes(b"one\n" + b"x" * 70_000_000 + b"\n")
    with pytest.raises(LineTooLongError, match=r"the line at byte 4 is longer than 30 MB, which no server takes"):
        read_lines(path, 4)


def test_bytes_that_are_no_text_do_not_shift_offsets(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\nok\n")
    assert read_lines(path, 0) == Lines(0, 6, ["\ufffd\ufffd", "ok"])


def test_separators_of_other_alphabets_split_nothing(path: Path) -> None:
    path.write_text("a\u2028b\x85c\n", newline="\n")
    found = read_lines(path, 0)
    assert found is not None
    assert found.lines == ["a\u2028b\x85c"]
