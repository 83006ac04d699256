"""The files that a dump consists of."""

from __future__ import annotations

from typing import NamedTuple


class DumpFile(NamedTuple):
    """A file of a dump."""

    parts: tuple[str, ...]
    """Names of the folders that lead to it, and its own."""
    num_bytes: int
    step: int | None
    """Step of all its rows; `None` if the file's name does not contain it."""

    @property
    def name(self) -> str:
        """Path within the folder."""
        return "/".join(self.parts)
