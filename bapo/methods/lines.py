"""A recorded step explained line by line: the effect of each line of a method's rule, and on which groups.

Each method words its own rule; the code that sorts and counts the groups is shared, so that a method without words is
explained as well. Records are only read here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bapo.config.method import MethodSection
from bapo.records import PromptVisit, StepRecord
from bapo.rollout import BatchSource, RolloutGroup, Treatment


class Rule(NamedTuple):
    """A line of a method's rule in words."""

    title: str
    """The line's action, in a sentence."""
    why: str
    """The line's purpose, in a sentence."""


class Answered(NamedTuple):
    """A prompt's evaluation in an earlier step."""

    num_correct: int
    step: int


@dataclass(frozen=True, slots=True)
class WalkedStep:
    """A step, and what is known of the time before it."""

    record: StepRecord
    section: MethodSection
    """The method's config in this step."""
    stored: Sequence[RolloutGroup] | None = None
    """Groups in the buffer for reuse before the step; None where they are not known by name."""
    earlier: Mapping[str, Answered] = field(default_factory=dict)
    """Latest earlier evaluations of prompts, as far as they were looked up."""
    was_trained: bool = True
    """False if the batch is hypothetical and was not trained on."""

    def visits(self, source: BatchSource) -> list[PromptVisit]:
        """Return the step's groups of a source, in their order."""
        return [visit for visit in self.record.prompts if visit.source == source]


class Outcome(NamedTuple):
    """Groups that a line treated the same way."""

    name: str
    label: str
    why: str
    """The property that the groups share."""
    treatment: Treatment
    visits: Sequence[PromptVisit]


class Line(NamedTuple):
    """A line of a method's rule in one step."""

    key: str
    """Stable name, for links."""
    number: str
    """Number in the source's listing; empty if it has none."""
    rule: Rule
    said: str
    """The line's effect in this step."""
    outcomes: Sequence[Outcome]
    gone: str = "The line touched them in the recorded step, and would not have."
    """Description of the groups that the line would not have touched under other thresholds."""


class Reason(NamedTuple):
    """A recorded reason for leaving a group out, in words."""

    label: str
    why: str
    treatment: Treatment = "left_out"


REASONS: Mapping[str, Reason] = {
    "all_wrong": Reason("All wrong", "No response is right: equal rewards, so every advantage is 0."),
    "all_correct": Reason("All correct", "Every response is right: equal rewards, so every advantage is 0."),
    "filtered": Reason("Filtered out", "The online filter drew against the group."),
    "no_room": Reason("No room", "The batch held B groups already."),
    "solved": Reason("Solved", "Every response is right now: no gradient, and the prompt is no longer difficult."),
    "still_difficult": Reason(
        "Still difficult", "The accuracy is still too low: the prompt stays remembered.", "stored"
    ),
    "probed": Reason("Answered only", "A probe trains in its last step alone."),
    "surplus_stored": Reason(
        "Improved, kept for later", "The batch was full, and the accuracy is in [c2, c3]: it can be reused.", "stored"
    ),
    "surplus_dropped": Reason("Improved, dropped", "The batch was full, and the accuracy is outside [c2, c3]."),
}

ROLL_OUT = Rule(
    "The rollout policy α answers each prompt of the step G times; a verifier marks every answer.",
    "The share of right answers, k/G, is all that the later lines decide by.",
)
CHOOSE = Rule(
    "Choose the fresh groups to train on.",
    "What a group can teach depends on its rewards, and a batch has room for B groups.",
)
STORE = Rule(
    "Store groups of this step for later ones.",
    "An answer that cost a rollout may teach more than once.",
)
REUSE = Rule(
    "Train again on groups or responses that earlier steps stored.",
    "They cost no new rollout; the importance ratio corrects for the age of the policy that generated them.",
)
SYNC = Rule(
    "Every v steps, the rollout policy α takes the trained weights.",
    "Rollouts need not wait for each update; the price is that α is up to v - 1 steps old.",
)
UPDATE = Rule(
    "Compute the advantages within each group and update the policy.",
    "A response better than its group's mean becomes more likely, a worse one less.",
)


# ---------------------------------------------------------------- words


def groups(count: int) -> str:
    """Return a number of groups in words."""
    return "1 group" if count == 1 else f"{count:,} groups"


def by_reason(visits: Iterable[PromptVisit], trained: Outcome) -> list[Outcome]:
    """Return the groups by what became of them: those trained on as `trained` words it, then one outcome per reason."""
    in_batch: list[PromptVisit] = []
    left_out: dict[str, list[PromptVisit]] = {}
    for visit in visits:
        (in_batch if visit.in_batch else left_out.setdefault(visit.reason or "", [])).append(visit)
    known = [name for name in REASONS if name in left_out]
    others = [name for name in left_out if name not in REASONS]
    outcomes = [trained._replace(visits=in_batch)] if in_batch else []
    return outcomes + [_left_out(name, left_out[name]) for name in [*known, *others]]


def _left_out(name: str, visits: Sequence[PromptVisit]) -> Outcome:
    if not name:
        return Outcome("left_out", "Not trained on", "The record does not say why.", "left_out", visits)
    reason = REASONS.get(name) or Reason(name.replace("_", " ").capitalize(), "The method's own reason.")
    return Outcome(name, reason.label, reason.why, reason.treatment, visits)


# ---------------------------------------------------------------- lines that methods share


def sync_line(step: WalkedStep, rule: Rule = SYNC, number: str = "") -> Line:
    """Return the line that syncs α, with the version of its weights."""
    record = step.record
    rollout, trainer = record.rollout_version, record.trainer_version
    if rollout is None or trainer is None:
        said = "The versions of the policies are not recorded."
    elif rollout == trainer:
        said = f"α holds the newest weights, version {rollout:,}."
    else:
        age = trainer - rollout
        said = (
            f"α holds version {rollout:,}: {age:,} {'step' if age == 1 else 'steps'} older than the trained weights, "
            f"version {trainer:,}."
        )
    return Line("sync", number, rule, said, [])


def roll_out_line(step: WalkedStep, rule: Rule = ROLL_OUT, number: str = "") -> Line:
    """Return all fresh groups, by whether their rewards are mixed."""
    record = step.record
    fresh, size = step.visits(BatchSource.FRESH), record.group_size
    sorts = (
        ("none", f"0/{size} right", "No response solves it yet.", [v for v in fresh if v.num_correct == 0]),
        ("some", "Mixed", "Some right, some wrong.", [v for v in fresh if 0 < v.num_correct < size]),
        ("all", f"{size}/{size} right", "Solved.", [v for v in fresh if v.num_correct == size]),
    )
    rounds = f" in {record.num_rounds} rounds" if record.num_rounds > 1 else ""
    said = (
        f"{len(fresh):,} prompts{rounds}, {len(fresh) * size:,} responses; mean accuracy "
        f"{_percent(sum(visit.num_correct for visit in fresh), len(fresh) * size)}."
    )
    return Line("roll-out", number, rule, said, [Outcome(*sort[:3], "seen", sort[3]) for sort in sorts if sort[3]])


def chosen_line(step: WalkedStep, rule: Rule = CHOOSE, number: str = "") -> Line:
    """Return the fresh groups by whether they were trained on, and why not."""
    fresh, size = step.visits(BatchSource.FRESH), step.record.group_size
    # The rewards of another trainer need not be 0 and 1: that all are right, or none, says nothing of its gradient.
    homogeneous = (0, size) if step.section.is_trainable else ()
    mixed = [visit for visit in fresh if not visit.in_batch or visit.num_correct not in homogeneous]
    equal = [visit for visit in fresh if visit.in_batch and visit.num_correct in homogeneous]
    outcomes = by_reason(mixed, Outcome("trained", "Trained on", "In the batch, as fresh groups.", "trained", ()))
    if equal:
        why = (
            "All rewards are equal; the critic still gives the responses advantages."
            if step.section.has_critic
            else "All rewards are equal, so every advantage is 0: they fill the batch and teach nothing."
        )
        outcomes.append(Outcome("trained_equal", "Trained on, equal rewards", why, "trained", equal))
    num_trained = sum(visit.in_batch for visit in fresh)
    return Line("choose", number, rule, f"{num_trained:,} of {groups(len(fresh))} trained on.", outcomes)


def reused_line(step: WalkedStep, rule: Rule = REUSE, number: str = "") -> Line:
    """Return the stored groups that were trained on again."""
    reused, candidates = step.visits(BatchSource.REUSED), step.record.counts.x3_candidates
    of = "" if candidates is None else f" of {candidates:,} that could have been"
    trained = Outcome("reused", "Trained on again", "Stored in an earlier step.", "trained", ())
    return Line("reuse", number, rule, f"{groups(len(reused))}{of}.", by_reason(reused, trained))


def stored_line(step: WalkedStep, rule: Rule = STORE, number: str = "") -> Line:
    """Return the buffer of stored groups after the step."""
    buffer = step.record.high_quality_buffer
    if buffer is None:
        said = "The buffer is not recorded."
    else:
        said = (
            f"{buffer.entered:,} entered, {buffer.refreshed:,} replaced an older group of their prompt, "
            f"{buffer.evicted:,} made room, {buffer.expired:,} became too old; {groups(buffer.size)} stored now."
        )
    return Line("store", number, rule, said, [])


def update_line(step: WalkedStep, rule: Rule = UPDATE, number: str = "") -> Line:
    """Return what the batch did to the policy."""
    record, update = step.record, step.record.update
    batch = record.counts.batch
    if record.skipped or not batch:
        said = "The batch was empty: no update, but the step counts."
    elif not step.was_trained:
        said = "Not known: this batch was not trained on."
    elif update is None:
        said = f"Trained on {groups(batch)}; the figures of the update are not recorded."
    else:
        skipped = update.num_groups_skipped
        said = (
            f"Trained on {groups(batch)} in {update.num_mini_batches:,} "
            f"{'update' if update.num_mini_batches == 1 else 'updates'}"
            + (f"; {groups(skipped)} needed no computation, as their gradient is 0" if skipped else "")
            + f". Loss {update.loss:.3g}, clipped tokens {update.clip_fraction:.1%}."
        )
    return Line("update", number, rule, said, [])


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "unknown"
