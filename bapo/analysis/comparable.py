"""Runs that a comparison of accuracies can use, and those that it leaves out, each with the reason.

A forgotten clone of three steps must not cut a comparison of long runs down to its own length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bapo.analysis.number_format import counted
from bapo.analysis.result import LeftOutRun

SHORT_SHARE = 0.5
"""Share of the steps reached by the runs of two groups, below which the last evaluation of a run is too early."""
MOST_NAMED = 3
"""Runs that the sentence on those left out names."""


class Candidate(NamedTuple):
    """A run, and how far it was evaluated on the held-out set of the comparison."""

    run_id: str
    name: str
    label: str
    """Label of the run's group."""
    status: str
    is_over: bool
    """True if nothing more will be recorded."""
    step: int
    """Last completed step."""
    last_evaluated: int | None
    """Step of its last evaluation; 0 before training, `None` without one."""


def left_out_of(candidates: Sequence[Candidate]) -> list[LeftOutRun]:
    """Return the runs that cannot be compared with the others, in their order; none where no run was evaluated.

    Left out is a run that has ended without an evaluation; one of which only the base model was evaluated, where others
    have trained; and one whose last evaluation lies before half of the steps that two groups, or the only one, reached.
    A run that has yet to be evaluated for the first time is kept.
    """
    trained = [each for each in candidates if each.last_evaluated]
    reached = _reached(trained)
    found = []
    for each in candidates:
        if each.last_evaluated is None:
            is_known = any(other.last_evaluated is not None for other in candidates)
            reason = "never_evaluated" if each.is_over and is_known else None
        elif each.last_evaluated == 0:
            reason = "untrained" if trained else None
        else:
            reason = "too_short" if each.last_evaluated < SHORT_SHARE * reached else None
        if reason is not None:
            found.append(
                LeftOutRun.model_validate(
                    {
                        "run_id": each.run_id,
                        "name": each.name,
                        "reason": reason,
                        "status": each.status,
                        "step": each.step,
                        "last_evaluated": each.last_evaluated,
                    }
                )
            )
    return found


def _reached(trained: Sequence[Candidate]) -> int:
    """Return the latest step up to which runs of two groups were evaluated; of one group if there is no other."""
    by_label: dict[str, int] = {}
    for each in trained:
        by_label[each.label] = max(by_label.get(each.label, 0), each.last_evaluated or 0)
    return sorted(by_label.values(), reverse=True)[:2][-1] if by_label else 0


def left_out_text(left_out: Sequence[LeftOutRun]) -> str:
    """Say "Left out: clone (3 steps, never evaluated).", for example; empty if no run is left out."""
    if not left_out:
        return ""
    more = len(left_out) - MOST_NAMED
    named = [f"{each.name} ({_reason(each)})" for each in left_out[:MOST_NAMED]]
    return f"Left out: {', '.join(named)}" + (f" and {counted(more, 'other run')}." if more > 0 else ".")


def _reason(each: LeftOutRun) -> str:
    length = counted(each.step, "step")
    if each.status in ("failed", "cancelled"):
        length = f"{each.status} at step {each.step:,}"
    match each.reason:
        case "never_evaluated":
            return f"{length}, never evaluated"
        case "untrained":
            return f"{length}, evaluated before the first only"
        case "too_short":
            return f"{length}, last evaluated at step {each.last_evaluated:,}"
