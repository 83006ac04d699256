"""Prints which share of lines and branches the tests ran: of each package, in all, and of the least covered modules.

Reads what `coverage run` wrote; pyproject.toml says where that is and what is measured.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from coverage import Coverage

LOGS = Path(".test-logs")
NUM_LEAST = 10
FEWEST_STATEMENTS = 20
"""A share of fewer says little."""


class Counts(NamedTuple):
    """Counts of statements and branches, and of those that ran."""

    statements: int = 0
    statements_run: int = 0
    branches: int = 0
    branches_run: int = 0

    def plus(self, other: Counts) -> Counts:
        """Return the sum."""
        return Counts(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    @property
    def line(self) -> str:
        """Shares as text."""
        branches = f"{self.branches_run / self.branches:6.1%}" if self.branches else "     –"
        lines = f"{self.statements_run / max(self.statements, 1):6.1%}"
        return f"{lines} of {self.statements:6,} lines, {branches} of branches"


def counts_of(coverage: Coverage, folder: Path) -> Mapping[Path, Counts]:
    """Return the counts of each measured file; `folder` takes coverage's own report."""
    written = folder / "coverage.json"
    coverage.json_report(outfile=str(written))
    counts = {}
    for name, file in json.loads(written.read_text(encoding="utf-8"))["files"].items():
        found = file["summary"]
        counts[Path(name)] = Counts(
            found["num_statements"], found["covered_lines"], found["num_branches"], found["covered_branches"]
        )
    return counts


def room_of(file: Path) -> str:
    """Return the package that a file belongs to: `bapo/run`, `backend/runs`, `bapo` for a module of its root."""
    parts = file.parts
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def report(counts: Mapping[Path, Counts]) -> str:
    """Return the shares as text."""
    rooms: dict[str, Counts] = {}
    for file, each in counts.items():
        rooms[room_of(file)] = rooms.get(room_of(file), Counts()).plus(each)
    total = Counts()
    for each in rooms.values():
        total = total.plus(each)
    large = {file: each for file, each in counts.items() if each.statements >= FEWEST_STATEMENTS}
    least = sorted((each.statements_run / each.statements, file) for file, each in large.items())
    return "\n".join(
        [
            *(f"{each.line}  {room}" for room, each in sorted(rooms.items())),
            f"{total.line}  in all; least of all:",
            *(f"{share:6.1%}  {file}" for share, file in least[:NUM_LEAST]),
        ]
    )


if __name__ == "__main__":
    measured = Coverage()
    measured.combine(keep=True)
    print(report(counts_of(measured, LOGS)))
