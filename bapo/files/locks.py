"""Locks that go with the process that holds them, however it ends, and not with the processes that it forks."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

_held: set[FileIO] = set()


class HeldError(Exception):
    """Another process holds the lock; the message names it where it is known."""


def hold(path: Path, *, waits: bool = False, is_marked: bool = True) -> FileIO:
    """Lock a file until it is released, or this process ends.

    A forked process shares the lock of an open file, so that a data loader's worker that outlives its trainer would
    keep the trainer out of its folder: a forked process closes the file, which stays locked for its parent.
    `waits`: until another process releases it. `is_marked`: the file says whose it is. Raises HeldError and OSError.
    """
    # Unbuffered, so that nothing is left to be written by a forked process. It is not emptied before it is ours.
    file = FileIO(path, "a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except BlockingIOError:
        holder = _holder(file, path)
        file.close()
        raise HeldError(holder) from None
    except OSError:
        file.close()
        raise
    _held.add(file)
    if is_marked:
        # For the message to others alone; a full disk must not hinder the holder.
        with suppress(OSError):
            file.truncate(0)
            file.write(f"{os.getpid()} {os.uname().nodename}\n".encode())
    return file


def release(file: FileIO) -> None:
    """Unlock a file; once more does nothing."""
    _held.discard(file)
    file.close()


@contextmanager
def held(path: Path, *, waits: bool = False, is_marked: bool = True) -> Iterator[None]:
    """Hold a file locked, as `hold`. Raises HeldError and OSError."""
    file = hold(path, waits=waits, is_marked=is_marked)
    try:
        yield
    finally:
        release(file)


def _holder(file: FileIO, path: Path) -> str:
    # A process that was forked past Python's hooks holds the lock of one that may have ended.
    if others := _processes_with(path):
        return f"process {', '.join(map(str, others))}"
    file.seek(0)
    process, _, machine = file.read(300).decode("ascii", "replace").strip().partition(" ")
    if not process.isdigit():
        return "a process that is not known"
    return f"process {process}" if machine == os.uname().nodename else f"process {process} on {machine}"


def _processes_with(path: Path) -> list[int]:
    """Find the other processes of this machine that have a file open, as far as they may be seen."""
    found = set()
    inode = path.stat()
    for opened in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if os.path.samestat(opened.stat(), inode):
                found.add(int(opened.parts[2]))
    return sorted(found - {os.getpid()})


def _let_go() -> None:
    for file in _held:
        file.close()
    _held.clear()


os.register_at_fork(after_in_child=_let_go)
