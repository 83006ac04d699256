"""The compute that a run took, as text."""

from __future__ import annotations

from bapo.api.runs import RunSummary
from bapo.figures import formatting


def compute_text(run: RunSummary) -> str:
    """Return GPU-hours; slot-hours for a run without a GPU."""
    if not run.compute_hours:
        return formatting.MISSING
    return f"{formatting.hours(run.compute_hours)} {'GPU-h' if run.num_gpus else 'slot-h'}"
