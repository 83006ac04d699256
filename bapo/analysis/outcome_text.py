"""Outcome of a comparison as one sentence, for pages, the terminal and the API."""

from __future__ import annotations

from bapo.analysis.comparable import left_out_text
from bapo.analysis.comparison import shown_name
from bapo.analysis.number_format import counted, percent, points_text, share_interval
from bapo.analysis.result import MeanEstimate, Outcome, OutcomeSide, Verdict

MOST_NAMED = 3
"""Groups without an evaluation that are named."""


def outcome_text(found: Outcome) -> str:
    """Say "BAPO 44.8 % [41.2, 48.4], GRPO 42.5 % [38.9, 46.1] on CD-34: the intervals overlap; …".

    Never "better": it says what the paired difference over seeds shows, that one seed shows nothing, and which runs
    were left out.
    """
    parts = (_compared(found), found.other_sets, left_out_text(found.left_out))
    return " ".join(part for part in parts if part)


def unsaid_note(note: str | None, found: Outcome | None) -> str:
    """Return what a note on the held-out sets says beyond the outcome's sentence; empty if it says no more."""
    said = None if found is None else found.other_sets
    return (note or "").replace(said, "").strip() if said else note or ""


def _compared(found: Outcome) -> str:
    if found.verdict is Verdict.NOT_EVALUATED or found.best is None:
        if found.is_running:
            return "No run has been evaluated yet."
        return "None of the runs was evaluated: there is no accuracy to compare."
    if found.verdict is Verdict.UNTRAINED:
        so_far, yet = (" so far", " yet") if found.is_running else ("", "")
        return f"In every run only the base model has been evaluated{so_far}: there is nothing to compare{yet}."
    if found.other is None:
        return f"{_where(found)}{_side(found.best)} on {found.dataset}; {_no_other(found)}."
    sides = f"{_side(found.best)}, {_side(found.other)} on {found.dataset}"
    return f"{_where(found)}{sides}: {_evidence(found, found.best, found.other)}.{_many(found)}"


def _side(side: OutcomeSide) -> str:
    name = shown_name(side.label)
    # A setting's own number would run into that of its accuracy.
    colon = ":" if name[-1:].isdigit() else ""
    interval = share_interval(side.accuracy)
    n = "" if interval or side.num_runs == 1 else f" (n = {side.accuracy.n})"
    return f"{name}{colon} {percent(side.accuracy.value)}{interval}{n}"


def _where(found: Outcome) -> str:
    """Return where the accuracies are taken, unless all runs are at their end."""
    start = "So far, " if found.is_running else ""
    if found.position is None:
        first, last = found.final_steps or (0, 0)
        if first != last:
            where = f"each run at its last evaluation, after {first:,} to {last:,} steps, "
        else:
            where = f"at step {last:,}{_of(found)}, " if found.is_running else ""
    elif found.is_running or found.is_cut:
        shared = f"the last {'up to' if found.is_interpolated else 'at'} which all were evaluated, "
        where = f"at {_position(found)}, {'' if found.is_running else shared}"
    else:
        return ""
    return start + where if start else where[:1].upper() + where[1:]


def _position(found: Outcome) -> str:
    position = found.position or 0.0
    if found.axis == "step":
        return f"step {position:,.0f}{_of(found)}"
    return f"{position:,.0f} rollouts" if found.axis == "rollouts" else f"{position:,.0f} s of training steps"


def _of(found: Outcome) -> str:
    return f" of {found.num_steps:,}" if found.num_steps and found.is_running else ""


def _no_other(found: Outcome) -> str:
    if not found.unevaluated:
        return (
            "no other group was evaluated on this set"
            if found.other_sets
            else "there is no other group to compare it with"
        )
    have = "have" if len(found.unevaluated) > 1 else "has"
    return f"{_named(found)} {have} not been evaluated{' yet' if found.is_running else ''}"


def _named(found: Outcome) -> str:
    names = [shown_name(label) for label in found.unevaluated]
    more = len(names) - MOST_NAMED
    if more > 0:
        return ", ".join(names[:MOST_NAMED]) + f" and {counted(more, 'other group')}"
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"


def _evidence(found: Outcome, best: OutcomeSide, other: OutcomeSide) -> str:
    if found.difference is None or (found.difference.low is None and found.difference.n == 1):
        return _intervals(found, best, other)
    unit = found.paired_over
    paired = f"over {counted(found.difference.n, unit)} the paired difference is {points_text(found.difference)}"
    if found.verdict is Verdict.NO_SPREAD:
        return f"{paired} each time, which gives no interval"
    if found.verdict is Verdict.DIFFERENCE:
        return f"{paired}, which excludes 0"
    if found.verdict is Verdict.ONE_SEED:
        return f"{paired}, which excludes 0: the policies differ, but one run of each cannot tell a setting from chance"
    if found.disagreement is None:
        return f"{paired}, which includes 0: no evidence of a difference"
    needed = found.disagreement.seeds_needed
    many = f"more than 1,000 {unit}s" if needed is None else f"about {counted(needed, unit)}"
    return f"{paired}: the {unit}s disagree by more than that, and {many} would be needed to show it"


def _intervals(found: Outcome, best: OutcomeSide, other: OutcomeSide) -> str:
    """Return the two intervals, for want of a paired difference, which needs at least two seeds."""
    overlap = _overlap(best.accuracy, other.accuracy)
    met = "overlap" if overlap else "do not overlap"
    if found.verdict is Verdict.UNPAIRED:
        why = _no_interval(best, other) if overlap is None else f"the intervals over seeds {met}"
        return f"{why}; no seed is in common, so that no paired difference can be given"
    few = _few(found, best, other)
    if overlap is None:
        return f"{_no_interval(best, other)}; {few} shows no difference"
    over = " over problems" if best.num_runs == other.num_runs == 1 else ""
    shown = f"; {few} shows no difference" if overlap else f", but {few} cannot tell a method from chance"
    return f"the intervals{over} {met}{shown}"


def _no_interval(best: OutcomeSide, other: OutcomeSide) -> str:
    """Return why a side has no interval."""
    several = [side for side in (best, other) if side.accuracy.low is None and side.num_runs > 1]
    if not several:
        return "between two evaluations there is no interval"
    which = "runs of one seed" if several[0].accuracy.n == 1 else "seeds without any spread"
    return f"{which} have no interval"


def _few(found: Outcome, best: OutcomeSide, other: OutcomeSide) -> str:
    """Return what there is instead of seeds on both sides."""
    if best.num_runs == other.num_runs == 1:
        return "one seed" if found.difference is not None else "one run of each"
    return "one seed in common" if found.difference is not None else "a single seed"


def _overlap(first: MeanEstimate, second: MeanEstimate) -> bool | None:
    """Return whether two intervals have a point in common; None where one of them is not known."""
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return None
    return first.low <= second.high and second.low <= first.high


def _many(found: Outcome) -> str:
    left_out = f" Not evaluated: {_named(found)}." if found.unevaluated else ""
    if found.num_groups < 3:
        return left_out
    return f" Chance favours the best of {found.num_groups} groups.{left_out}"
