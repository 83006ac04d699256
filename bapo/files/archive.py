"""Zip archives: written so that the same files make the same bytes, and read without trusting them."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from bapo.files.safe_paths import OutsideError, checked_parts

CHUNK_BYTES = 1 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Earliest time that a zip archive can hold: its files have no times of their own."""
_MODE = (stat.S_IFREG | 0o644) << 16
_UNIX = 3
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
_COMPRESSIONS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})


class ArchiveError(ValueError):
    """An archive is not taken: it is damaged, too large, or names what it may not."""


class ArchiveWriter:
    """Writes an archive that depends on names and contents only. Use it as a context manager."""

    def __init__(self, path: Path) -> None:
        self._zip = zipfile.ZipFile(path, "w", allowZip64=True)

    def add(self, name: str, content: BinaryIO, num_bytes: int | None = None, *, compress: bool = True) -> str:
        """Add a file, or its first bytes, in constant memory; the SHA-256 of what was added."""
        checked_parts(name)
        info = zipfile.ZipInfo(name, _EPOCH)
        info.create_system = _UNIX
        info.external_attr = _MODE
        info.compress_type = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
        digest = hashlib.sha256()
        with self._zip.open(info, "w", force_zip64=True) as target:
            for chunk in chunks(content, num_bytes):
                digest.update(chunk)
                target.write(chunk)
        return digest.hexdigest()

    def __enter__(self) -> ArchiveWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()


def chunks(content: BinaryIO, num_bytes: int | None = None) -> Iterator[bytes]:
    """Yield a file piece by piece, to its end or for so many bytes."""
    left = num_bytes
    while left is None or left > 0:
        chunk = content.read(CHUNK_BYTES if left is None else min(left, CHUNK_BYTES))
        if not chunk:
            return
        if left is not None:
            left -= len(chunk)
        yield chunk


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """Limits on the content of an archive from outside."""

    num_files: int = 10_000
    num_bytes: int = 20_000_000_000
    """Bytes of all files together, unpacked."""
    ratio: float = 200.0
    """Unpacked to packed bytes of one file; text of a journal packs to a twentieth."""
    small_bytes: int = 1_000_000
    """A file of so few bytes may be packed as tightly as it likes."""
    depth: int = 8
    name_bytes: int = 500


def unpack(path: Path, folder: Path, limits: ArchiveLimits | None = None) -> None:
    """Unpack an archive into an empty folder.

    Raises ArchiveError before anything is written where a name leads out of the folder, is not a regular file, or comes
    twice (in whatever case), or more is announced than the limits allow; and while unpacking, where more comes out of a
    file than it announced.
    """
    limits = limits or ArchiveLimits()
    try:
        with zipfile.ZipFile(path) as archive:
            files = [info for info in archive.infolist() if not info.is_dir()]
            _check_all(archive, limits)
            for info in files:
                _unpack_file(archive, info, folder)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise ArchiveError(f"this is not a valid zip archive: {error}") from None


def _check_all(archive: zipfile.ZipFile, limits: ArchiveLimits) -> None:
    entries = archive.infolist()
    if len(entries) > limits.num_files:
        raise ArchiveError(f"the archive holds {len(entries)} files: at most {limits.num_files} are unpacked")
    total = sum(info.file_size for info in entries)
    if total > limits.num_bytes:
        raise ArchiveError(f"the archive unpacks to {total} bytes: at most {limits.num_bytes} are unpacked")
    seen: set[str] = set()
    for info in entries:
        _check_entry(info, limits)
        folded = info.filename.rstrip("/").casefold()
        if folded in seen:
            raise ArchiveError(f"the archive names {info.filename!r} twice")
        seen.add(folded)


def _check_entry(info: zipfile.ZipInfo, limits: ArchiveLimits) -> None:
    # `filename` has been cut at a NUL and had the system's separator replaced; the archive's own name is judged.
    name = info.orig_filename.removesuffix("/")
    try:
        parts = checked_parts(name)
    except OutsideError as error:
        raise ArchiveError(f"the archive names {name[:200]!r}: {error}") from None
    if len(parts) > limits.depth or len(name.encode("utf-8", "surrogateescape")) > limits.name_bytes:
        raise ArchiveError(f"the archive names {name[:200]!r}, which is too long or too deep")
    if any(_RESERVED.fullmatch(part) or part != part.lstrip(" ").rstrip(" .") or ":" in part for part in parts):
        raise ArchiveError(f"the archive names {name[:200]!r}, which is not a valid file name on every system")
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind and kind != (stat.S_IFDIR if info.is_dir() else stat.S_IFREG):
        raise ArchiveError(f"{name!r} in the archive is a link or device: only regular files are unpacked")
    if info.flag_bits & 0x1:
        raise ArchiveError(f"{name!r} in the archive is encrypted: pack it without a password")
    if info.compress_type not in _COMPRESSIONS:
        raise ArchiveError(f"{name!r} in the archive is packed in an unknown way: pack it with deflate")
    if info.file_size > limits.small_bytes and info.file_size > limits.ratio * max(1, info.compress_size):
        raise ArchiveError(f"{name!r} in the archive unpacks to {info.file_size} bytes from {info.compress_size}")


def _unpack_file(archive: zipfile.ZipFile, info: zipfile.ZipInfo, folder: Path) -> None:
    target = folder.joinpath(*checked_parts(info.orig_filename))
    target.parent.mkdir(parents=True, exist_ok=True)
    # The folder is ours and was empty: whatever is there already came out of this archive.
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    with os.fdopen(descriptor, "wb") as output, archive.open(info) as content:
        written = 0
        for chunk in chunks(content):  # type: ignore[arg-type]
            written += len(chunk)
            if written > info.file_size:
                raise ArchiveError(f"{info.filename!r} in the archive is longer than declared")
            output.write(chunk)
