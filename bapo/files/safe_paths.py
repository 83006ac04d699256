"""Reads files beneath a folder and nowhere else: no name leads out of it, and no link is followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple


class OutsideError(OSError):
    """A name leads out of its folder, through a link, or to something that is not a regular file."""


class FoundFile(NamedTuple):
    """A plain file beneath a folder."""

    parts: tuple[str, ...]
    """Names of the folders that lead to it, and its own."""
    num_bytes: int


def open_inside(folder: Path, parts: Sequence[str]) -> BinaryIO:
    """Return a plain file for reading. Raises OutsideError, and FileNotFoundError where there is none."""
    with _opened(folder, parts[:-1]) as parent:
        return _open_file(parent, parts[-1])


def files_inside(folder: Path, parts: Sequence[str] = ()) -> Iterator[FoundFile]:
    """Yield the plain files beneath, by name; what is a link or no plain file is left out.

    Raises OutsideError where `parts` themselves lead out, and FileNotFoundError where they lead nowhere.
    """
    with _opened(folder, parts) as descriptor:
        found = [(name, _status(descriptor, name)) for name in _names(descriptor)]
    for name, status in found:
        if status is None:
            continue
        if stat.S_ISDIR(status.st_mode):
            yield from _files_of_folder(folder, (*parts, name))
        elif stat.S_ISREG(status.st_mode):
            yield FoundFile((*parts, name), status.st_size)


def names_inside(folder: Path, parts: Sequence[str] = ()) -> list[str]:
    """Return the names directly in a folder, sorted. Raises OutsideError and FileNotFoundError."""
    with _opened(folder, parts) as descriptor:
        return _names(descriptor)


def checked_parts(name: str) -> tuple[str, ...]:
    """Return the parts of a relative name with forward slashes. Raises OutsideError where it is anything else."""
    parts = tuple(name.split("/"))
    for part in parts:
        _check(part)
    return parts


def _names(descriptor: int) -> list[str]:
    with os.scandir(descriptor) as entries:
        return sorted(entry.name for entry in entries)


def _files_of_folder(folder: Path, parts: tuple[str, ...]) -> Iterator[FoundFile]:
    try:
        yield from files_inside(folder, parts)
    except (FileNotFoundError, OutsideError):
        # Gone, or replaced by a link, since its parent was listed.
        return


def _status(descriptor: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=descriptor, follow_symlinks=False)
    except FileNotFoundError:
        return None


@contextmanager
def _opened(folder: Path, parts: Sequence[str]) -> Iterator[int]:
    # The folder itself is ours; from it on, every step is taken on a descriptor, so that nothing can be exchanged
    # between the check and the use.
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts:
            _check(part)
            try:
                inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor)
            except (FileNotFoundError, PermissionError):
                raise
            except OSError as error:
                raise OutsideError(f"{PurePosixPath(*parts)} is not opened: {error.strerror}") from None
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _open_file(parent: int, name: str) -> BinaryIO:
    _check(name)
    try:
        # Without O_NONBLOCK, opening a pipe would wait for its other end.
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=parent)
    except (FileNotFoundError, PermissionError):
        raise
    except OSError as error:
        raise OutsideError(f"{name!r} is not opened: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OutsideError(f"{name!r} is not a regular file")
    return os.fdopen(descriptor, "rb")


def _check(part: str) -> None:
    if part in ("", ".", "..") or "/" in part or "\\" in part or "\x00" in part:
        raise OutsideError(f"{part!r} is not a valid file or folder name")
