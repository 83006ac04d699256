"""The files that a dump consists of."""

from __future__ import annotations

from typing import NamedTuple


class DumpFile(NamedTuple):
    """A file of a dump."""

    parts: tuple[str, ...]
    """Names of the folders that lead to it, and its own."""
    num_bytes: int
    step: int | None
    """Of all its rows, where its name says it."""

    @property
    def name(self) -> str:
        """Its path within the folder."""
        return "/".join(self.parts)
