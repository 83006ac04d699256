"""Prints how much of the code the tests ran: the total, and the modules of which they ran least.

Reads what `coverage run` wrote; pyproject.toml says where that is and what is measured.
"""

from __future__ import annotations

from pathlib import Path

from coverage import Coverage

NUM_LEAST = 10
FEWEST_STATEMENTS = 20
"""A share of fewer says little."""


def report(coverage: Coverage) -> str:
    """Returns the total and the least covered modules as text."""
    coverage.combine(keep=True)
    counts = {}
    for file in coverage.get_data().measured_files():
        _, statements, _, missing, _ = coverage.analysis2(file)
        counts[Path(file)] = (len(statements) - len(missing), len(statements))
    covered, total = (sum(column) for column in zip(*counts.values(), strict=True))
    shares = sorted((share[0] / share[1], file) for file, share in counts.items() if share[1] >= FEWEST_STATEMENTS)
    lines = [f"{covered / total:.1%} of {total:,} statements ran; least of all:"]
    return "\n".join([*lines, *(f"{share:8.1%}  {_name(file)}" for share, file in shares[:NUM_LEAST])])


def _name(file: Path) -> Path:
    return file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file


if __name__ == "__main__":
    print(report(Coverage()))
