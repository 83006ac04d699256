"""Unpacks the archives in tests/data."""

from __future__ import annotations

import tarfile
from pathlib import Path


def unpack(archive: Path, folder: Path) -> None:
    """Write the archive's files into the folder, which it makes."""
    with tarfile.open(archive) as opened:
        # One by one: Python before 3.11.4 knows no filter, and later versions want one.
        for member in filter(tarfile.TarInfo.isfile, opened):
            content = opened.extractfile(member)
            assert content is not None
            (folder / member.name).parent.mkdir(parents=True, exist_ok=True)
            (folder / member.name).write_bytes(content.read())
