"""Does what a server does grow with its work, or faster? Each curve is one quantity at several sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from benchmarks.deployment import deployment
from benchmarks.growth.batches import batches
from benchmarks.growth.curves import Curves, exponent
from benchmarks.growth.lengths import history, run_length
from benchmarks.growth.viewers import viewers
from benchmarks.growth.workers import workers
from benchmarks.report import table

PARTS: Mapping[str, Callable[..., Curves]] = MappingProxyType(
    {"history": history, "steps": run_length, "batches": batches, "viewers": viewers, "workers": workers}
)


def measure(parts: Sequence[str], *, quick: bool) -> dict[str, Curves]:
    """Measure the parts, and return the curves of each."""
    found = {}
    for part in parts:
        with deployment() as server:
            found[part] = PARTS[part](server, quick=quick)
    return found


def markdown(found: Mapping[str, Curves]) -> str:
    """Return a table for each part, in Markdown."""
    tables = []
    for part, curves in found.items():
        sizes = list(next(iter(curves.values())))
        rows = [
            [name, *(f"{curve[size]:,.1f}" for size in sizes), f"{exponent(curve):.2f}"]
            for name, curve in curves.items()
        ]
        tables.append(table([f"{part}, ms", *(f"{size:,}" for size in sizes), "exponent"], rows))
    return "\n\n".join(tables)
