"""Measurements with their verdicts, and the table that shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from bapo.run import nvidia_smi
from benchmarks.report import table

MIB = 2**20


@dataclass(frozen=True, slots=True)
class Check:
    """A measurement with its verdict; without a bound it is reported and not judged."""

    name: str
    value: float
    unit: str
    bound: float | None = None
    rule: Literal["at most", "at least"] = "at most"

    @property
    def passed(self) -> bool:
        """True if the value keeps the bound; NaN keeps none."""
        if self.bound is None:
            return True
        return self.value <= self.bound if self.rule == "at most" else self.value >= self.bound

    def cells(self) -> tuple[str, str, str, str]:
        """Return the row of the table."""
        number = f"{self.value:,.0f}" if abs(self.value) >= 1000 else f"{self.value:.4g}"
        value = f"{number} {self.unit}".rstrip()
        if self.bound is None:
            return self.name, value, "", "measured"
        return self.name, value, f"{self.rule} {self.bound:.4g}", "pass" if self.passed else "FAIL"


def as_table(checks: Sequence[Check]) -> str:
    """Return all checks in Markdown, in the order in which they were made."""
    return table(("check", "measured", "threshold", "verdict"), [check.cells() for check in checks])


def reported(checks: Iterator[Check], report: Callable[[str], None] = print) -> list[Check]:
    """Make the checks, and report each as soon as it is made: what follows may be what breaks."""
    made = []
    for check in checks:
        report(": ".join(filter(None, (check.cells()[3], check.name, check.cells()[1]))))
        made.append(check)
    return made


def gpu_memory_used() -> float:
    """Return the bytes in use on all GPUs of this machine, by any process; 0 without GPUs."""
    return sum(nvidia_smi.number(used) or 0.0 for (used,) in nvidia_smi.query("memory.used")) * MIB
