"""Locks that go with their process."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from bapo.files.locks import HeldError, held, hold, release
from tests.support.forked import forked


def test_a_lock_is_held_by_one_and_names_its_process(tmp_path: Path) -> None:
    with held(tmp_path / "lock"), pytest.raises(HeldError, match=f"process {os.getpid()}"), held(tmp_path / "lock"):
        pass
    with held(tmp_path / "lock"):
        pass


def test_a_process_that_outlives_the_one_it_was_forked_from_holds_nothing(tmp_path: Path) -> None:
    file = hold(tmp_path / "lock")
    with forked(signal.pause):
        # Still the parent's while it lives.
        with pytest.raises(HeldError), held(tmp_path / "lock"):
            pass
        # As the kernel does for a process that is killed.
        release(file)
        with held(tmp_path / "lock"):
            pass


def test_a_forked_process_that_leaves_the_block_releases_nothing_of_its_parent(tmp_path: Path) -> None:
    file = hold(tmp_path / "lock")

    def leave() -> None:
        # Another file takes the number of the one that was closed.
        with (tmp_path / "other").open("w") as other:
            release(file)
            other.write("still open")

    with forked(leave) as process:
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert (tmp_path / "other").read_text() == "still open"
    with pytest.raises(HeldError), held(tmp_path / "lock"):
        pass
    release(file)


def test_a_file_that_holds_content_is_locked_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("a line\n")
    with held(tmp_path / "lines", is_marked=False):
        assert (tmp_path / "lines").read_text() == "a line\n"
