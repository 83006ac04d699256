"""Algorithm 1 of arXiv:2602.20722, explained line by line for one recorded step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bapo.methods.lines import (
    SYNC,
    UPDATE,
    Line,
    Outcome,
    Rule,
    WalkedStep,
    by_reason,
    groups,
    roll_out_line,
    sync_line,
    update_line,
)
from bapo.records import PromptVisit, ThresholdValues
from bapo.rollout import BatchSource, RolloutGroup

if TYPE_CHECKING:
    from bapo.methods.bapo import BapoConfig

_STORE_DIFFICULT = Rule(
    "Remember the prompts whose accuracy is at most c1, in the difficult buffer.",
    "A prompt that fails today may be within reach of a better policy soon: line 14 asks again.",
)
_STORE_GOOD = Rule(
    "Store the groups whose accuracy is in [c2, c3], in the high-quality buffer.",
    "Half-solved groups teach most, and can be trained on again for some steps without a new rollout.",
)
_FILTER = Rule(
    "X1: keep the fresh groups with mixed rewards.",
    "Where all rewards are equal, every advantage is 0: such groups only take up room.",
)
_FILTER_BY_CHANCE = Rule(
    "X1: keep the fresh groups that the online filter draws.",
    "Another filter than that of mixed rewards chooses which accuracies the batch favours.",
)
_REEVALUATE = Rule(
    "X2: every m steps, the current policy answers difficult prompts again; those now above c1 are trained on.",
    "This is how unsolved prompts come back as soon as there is something to learn from them.",
)
REEVALUATE_RELEASED = Rule(
    "X2: every m steps, the current policy answers some difficult prompts again; those that improved are trained on.",
    "The released code draws them at random, compares with the stored accuracy and lets no prompt leave.",
)
_REUSE = Rule(
    "X3: draw stored groups in today's [c2, c3] for the room that is left.",
    "A batch that X1 and X2 do not fill would waste an update; good groups of the last steps fill it.",
)
_BATCH = Rule(
    "The training batch is X1 ∪ X2 ∪ X3, at most B groups, no prompt twice.",
    "Fresh, recovered and reused groups together keep the batch full of groups that have a gradient.",
)
_ADAPT = Rule(
    "Move c2 and c3 with r_tot, the mean accuracy of the last ten steps (Eq. 8).",
    "What counts as a good group to reuse follows what the policy can do.",
)


def bapo_lines(step: WalkedStep, method: BapoConfig, *, reevaluate: Rule = _REEVALUATE) -> list[Line]:
    """Return all lines that touch groups or weights, under their numbers in Algorithm 1; `method` as in force in the
    step."""
    thresholds = step.record.thresholds
    assert thresholds is not None, "a trainer of ours records them"
    return [
        _sync(step, method),
        roll_out_line(step, number="6–7"),
        _stored_difficult(step, thresholds),
        _stored_good(step, thresholds),
        _filtered(step, method),
        _reevaluated(step, method, reevaluate),
        _reused(step, method, thresholds),
        _batch(step),
        update_line(step, UPDATE, "18"),
        *([_adapted(step, thresholds)] if step.section.has_thresholds else []),
    ]


def _sync(step: WalkedStep, method: BapoConfig) -> Line:
    line = sync_line(step, SYNC, "3–5")
    number, v = step.record.step, method.v
    due = f"{number:,} is a multiple of v = {v}" if number % v == 0 else f"v = {v}, next at step {_next(number, v):,}"
    return line._replace(said=f"{line.said[:-1]} ({due}).")


def _next(step: int, every: int) -> int:
    return (step // every + 1) * every


def _stored_difficult(step: WalkedStep, thresholds: ThresholdValues) -> Line:
    fresh, size = step.visits(BatchSource.FRESH), step.record.group_size
    most = thresholds.difficult_max_count or 0
    buffer = step.record.difficult_buffer
    said = ""
    if buffer is not None:
        said = (
            f"In the whole step: {buffer.entered:,} entered, {buffer.refreshed:,} refreshed, {buffer.left_improved:,} "
            f"left above c1, {buffer.evicted:,} made room for others. Remembered now: {buffer.size:,}."
        )
    outcomes = _sorted(
        (
            Outcome("difficult", "Remembered", f"At most {most}/{size} right, which is c1 or less.", "stored", ()),
            [visit for visit in fresh if visit.num_correct <= most],
        ),
        (
            Outcome("above", "Above c1", "Not difficult; a prompt that was remembered leaves.", "seen", ()),
            [visit for visit in fresh if visit.num_correct > most],
        ),
    )
    return Line("store-difficult", "8", _STORE_DIFFICULT, said, outcomes)


def _stored_good(step: WalkedStep, thresholds: ThresholdValues) -> Line:
    fresh, size = step.visits(BatchSource.FRESH), step.record.group_size
    low, high = thresholds.reusable_min_count or 0, thresholds.reusable_max_count or 0
    if low > high:
        said = f"No accuracy k/{size} lies in today's [c2, c3]: nothing can be stored."
    else:
        said = f"Today's [c2, c3] admits {_range(low, high, size)}."
    if (buffer := step.record.high_quality_buffer) is not None:
        said += f" {groups(buffer.size)} stored after the step."
    outcomes = _sorted(
        (
            Outcome("stored", "Stored", "The accuracy is in [c2, c3].", "stored", ()),
            [visit for visit in fresh if low <= visit.num_correct <= high],
        ),
        (
            Outcome("below", "Below c2", "Too few right answers.", "seen", ()),
            [visit for visit in fresh if visit.num_correct < low],
        ),
        (
            Outcome("over", "Above c3", "Too many right answers.", "seen", ()),
            [visit for visit in fresh if visit.num_correct > high and visit.num_correct >= low],
        ),
    )
    return Line("store-good", "9", _STORE_GOOD, said, outcomes)


def _range(low: int, high: int, size: int) -> str:
    return f"{low}/{size}" if low == high else f"{low}/{size} to {high}/{size}"


def _filtered(step: WalkedStep, method: BapoConfig) -> Line:
    fresh = step.visits(BatchSource.FRESH)
    by_chance = method.filter.type != "range"
    why = "The filter kept the group." if by_chance else "Some right and some wrong: advantages differ from 0."
    outcomes = by_reason(fresh, Outcome("x1", "X1: trained on", why, "trained", ()))
    said = f"{step.record.counts.x1:,} of {groups(len(fresh))} kept (filter: {method.filter.type})."
    return Line("filter", "11", _FILTER_BY_CHANCE if by_chance else _FILTER, said, outcomes)


def _reevaluated(step: WalkedStep, method: BapoConfig, rule: Rule) -> Line:
    number, m = step.record.step, method.m
    asked = step.visits(BatchSource.REEVALUATED)
    trained = Outcome("x2", "X2: trained on", "Remembered as difficult, and improved when asked again.", "trained", ())
    if asked:
        improved = sum(visit.in_batch for visit in asked)
        said = (
            f"{number:,} is a multiple of m = {m}: {len(asked):,} prompts answered again by the current policy, "
            f"{improved:,} trained on."
        )
    elif "reevaluated" in method.without:
        said = "Left out in this run (method.without)."
    elif number % m:
        said = f"No prompt is re-evaluated in this step: m = {m}, next at step {_next(number, m):,}."
    else:
        said = f"{number:,} is a multiple of m = {m}, but there was no prompt to ask."
    gone = "Answered again in the recorded step; they would not have been in the difficult buffer any more."
    return Line("reevaluate", "13–15", rule, said, by_reason(asked, trained), gone)


def _reused(step: WalkedStep, method: BapoConfig, thresholds: ThresholdValues) -> Line:
    counts, reused = step.record.counts, step.visits(BatchSource.REUSED)
    room = counts.batch_size - counts.x1 - (counts.x2 or 0)
    if "reused" in method.without:
        said = f"Left out in this run (method.without); {groups(counts.x3_candidates or 0)} could have been drawn."
    else:
        said = f"Room for {room:,}, {counts.x3_candidates or 0:,} candidates: {counts.x3 or 0:,} drawn."
    trained = Outcome("x3", "X3: trained on", "Drawn from the candidates.", "trained", ())
    outcomes = by_reason(reused, trained)
    if step.stored is not None:
        outcomes += _left_stored(step, step.stored, thresholds)
    return Line("reuse", "16", _REUSE, said, outcomes)


def _left_stored(step: WalkedStep, stored: Sequence[RolloutGroup], thresholds: ThresholdValues) -> list[Outcome]:
    """Return the stored groups that were not drawn, by reason."""
    in_batch = {visit.prompt_id: visit.source for visit in step.record.prompts if visit.in_batch}
    low, high = thresholds.reusable_min_count or 0, thresholds.reusable_max_count or 0
    left = [group for group in stored if in_batch.get(group.prompt_id) != BatchSource.REUSED]
    outside = [group for group in left if not low <= group.num_correct <= high]
    inside = [group for group in left if low <= group.num_correct <= high]
    return _sorted(
        (
            Outcome("not_drawn", "Candidates, not drawn", "In [c2, c3], but the batch had no more room.", "seen", ()),
            [_visit(group) for group in inside if group.prompt_id not in in_batch],
        ),
        (
            Outcome("taken", "Prompt in the batch already", "One prompt, one group: X1 and X2 go first.", "seen", ()),
            [_visit(group) for group in inside if group.prompt_id in in_batch],
        ),
        (
            Outcome("outside", "Outside today's [c2, c3]", "The thresholds moved since it was stored.", "seen", ()),
            [_visit(group) for group in outside],
        ),
    )


def _visit(group: RolloutGroup) -> PromptVisit:
    return PromptVisit(group.prompt_id, BatchSource.REUSED, group.num_correct, group.policy_version, False)


def _batch(step: WalkedStep) -> Line:
    counts = step.record.counts
    parts = (
        (BatchSource.FRESH, "x1", "X1 fresh", "Rolled out in this step by α."),
        (BatchSource.REEVALUATED, "x2", "X2 re-evaluated", "Difficult before, answered again by the current policy."),
        (BatchSource.REUSED, "x3", "X3 reused", "Stored in one of the last steps."),
    )
    outcomes = _sorted(
        *(
            (
                Outcome(name, label, why, "trained", ()),
                [visit for visit in step.visits(source) if visit.in_batch],
            )
            for source, name, label, why in parts
        )
    )
    said = (
        f"{counts.x1:,} + {counts.x2 or 0:,} + {counts.x3 or 0:,} = {counts.batch:,} of B = {counts.batch_size:,} "
        f"({counts.fill_rate:.0%})."
    )
    return Line("batch", "17", _BATCH, said, outcomes, "In the recorded batch, and would not have been.")


def _adapted(step: WalkedStep, thresholds: ThresholdValues) -> Line:
    own = step.record.reward_mean
    said = (
        f"r_tot was {thresholds.r_tot:.3f} in this step; "
        f"{'no group was completed, so nothing' if own is None else f'its own mean accuracy of {own:.3f}'} joins "
        "the window of ten steps that the next step's c2 and c3 follow."
    )
    return Line("thresholds", "Eq. 8", _ADAPT, said, [])


def _sorted(*sorts: tuple[Outcome, Sequence[PromptVisit]]) -> list[Outcome]:
    """Return the outcomes that some group had."""
    return [outcome._replace(visits=visits) for outcome, visits in sorts if visits]
