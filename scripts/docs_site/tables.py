"""Markdown of the generated references."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_CODE = re.compile(r"(`[^`]+`)")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose cells are Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def plain(text: str) -> str:
    """Escape text for a cell or a paragraph; only code between backticks keeps its meaning."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(part if index % 2 else _escaped(part) for index, part in enumerate(parts))


def _escaped(text: str) -> str:
    for character in "\\*_[]|":
        text = text.replace(character, f"\\{character}")
    return text.replace("&", "&amp;").replace("<", "&lt;")
