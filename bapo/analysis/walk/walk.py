"""Walk of a recorded step: the method's lines, the groups behind each, and their outcome under other thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bapo.analysis.walk.answer import StepWalk, WalkGroup, WalkLine, WalkOutcome
from bapo.analysis.walk.other import Before, agrees, under
from bapo.analysis.walk.thresholds import ChosenThresholds, Wanted, chosen, recorded_thresholds
from bapo.config import ConfigError, ConfigProblem, RunConfig
from bapo.config.method import method_label
from bapo.methods import lines_of
from bapo.methods.lines import Answered, Line, Outcome, WalkedStep
from bapo.records import PromptVisit, StepRecord
from bapo.rollout import BatchSource, RolloutGroup

DEFAULT_GROUPS = 8
"""Groups listed per outcome, where the caller does not say."""
NOT_TOUCHED = "not touched"


class Places(NamedTuple):
    """Position of a step among those that were recorded."""

    first: int
    last: int
    previous: int | None
    next: int | None


class Listing(NamedTuple):
    """Selection of the listed groups; counts are always of all."""

    limit: int = DEFAULT_GROUPS
    """Largest number of groups listed per outcome."""
    offset: int = 0
    """Left out before, of each outcome."""
    line: str | None = None
    """Key of the only line whose groups are listed."""
    outcome: str | None = None
    """Name of the only outcome."""


class Known(NamedTuple):
    """Known state before a step."""

    stored: Sequence[RolloutGroup] | None = None
    earlier: Mapping[str, Answered] = {}
    before: Before | None = None
    """Both buffers; needed only for other thresholds."""


def can_change(config: RunConfig, record: StepRecord) -> bool:
    """Return whether a step can be walked under other c1, c2 and c3."""
    method = config.method
    return method.has_thresholds and method.is_replayable and record.thresholds is not None


def walk(
    record: StepRecord,
    config: RunConfig,
    places: Places,
    known: Known,
    wanted: Wanted | None = None,
    listing: Listing | None = None,
) -> StepWalk:
    """Return the step, line by line; `config` is what was in force in it.

    Under wanted thresholds, the same groups from the same buffers: exact, for BAPO's own code decides. Raises
    ConfigError where they are not legal or the method has none.
    """
    listing = listing or Listing()
    step = WalkedStep(record, config.method, known.stored, known.earlier)
    recorded = lines_of(config, step)
    shown = step
    cautions: list[str] = []
    if wanted is not None and not wanted.is_empty:
        shown, cautions = _changed(step, config, known, wanted)
    lines = recorded if shown is step else lines_of(config, shown)
    counts = shown.record.counts
    return StepWalk(
        step=record.step,
        first_step=places.first,
        last_step=places.last,
        previous_step=places.previous,
        next_step=places.next,
        method=method_label(config.method.model_dump(mode="json")),
        follows_algorithm_1=any(line.number for line in recorded),
        group_size=record.group_size,
        batch_size=counts.batch_size,
        x1=counts.x1,
        x2=counts.x2,
        x3=counts.x3,
        batch=counts.batch,
        recorded_batch=record.counts.batch,
        thresholds=shown.record.thresholds if config.method.has_thresholds else None,
        recorded_thresholds=record.thresholds if config.method.has_thresholds else None,
        can_change=can_change(config, record),
        lines=list(_lines(recorded, lines, shown, listing, is_changed=shown is not step)),
        not_recorded=_not_recorded(config, step),
        cautions=cautions,
    )


# ---------------------------------------------------------------- other thresholds


def _changed(step: WalkedStep, config: RunConfig, known: Known, wanted: Wanted) -> tuple[WalkedStep, list[str]]:
    """Return the step under other thresholds, and what to keep in mind."""
    record = step.record
    if not can_change(config, record) or record.thresholds is None:
        raise _refused(wanted, f"a step of {config.method.label} has no thresholds to change")
    if known.before is None:
        raise _refused(wanted, "the buffers before this step cannot be rebuilt from the record")
    own = recorded_thresholds(record.thresholds)
    other = under(record, config, known.before, chosen(own, wanted))
    cautions = [
        "This step alone: the groups that came and the buffers before it are as recorded. What the policy would have "
        "learned from another batch, and what later steps would have done, is not known; What-if replays all steps."
    ]
    if other.num_unanswered:
        number = f"{other.num_unanswered:,}"
        cautions.append(
            f"{number} other prompts would have been answered again in this step. The run did not ask them, so "
            f"up to {number} more groups could be in X2, and as many fewer in X3."
        )
    if not agrees(record, config, known.before, own):
        cautions.append(
            "From the recorded accuracies this version of BAPO makes another batch of this step even under its own "
            "thresholds: the comparison is off by that much."
        )
    changed = WalkedStep(other.record, step.section, step.stored, step.earlier, was_trained=other.is_same_batch)
    return changed, cautions


def _refused(wanted: Wanted, reason: str) -> ConfigError:
    name, value = next((name, value) for name, value in wanted._asdict().items() if value is not None)
    return ConfigError([ConfigProblem(name, value, f"{reason}: leave c1, c2 and c3 out")])


# ---------------------------------------------------------------- lines


def _lines(
    recorded: Sequence[Line], lines: Sequence[Line], step: WalkedStep, listing: Listing, *, is_changed: bool
) -> Iterator[WalkLine]:
    before = {line.key: line for line in recorded}
    stored = {(group.prompt_id, group.policy_version): group.step for group in step.stored or ()}
    for number, line in enumerate(lines, 1):
        fates = _Fates(before[line.key], line) if is_changed else None
        outcomes = line.outcomes if fates is None else fates.outcomes
        yield WalkLine(
            key=line.key,
            number=line.number or str(number),
            title=line.rule.title,
            why=line.rule.why,
            said=line.said,
            outcomes=[
                WalkOutcome(
                    name=outcome.name,
                    label=outcome.label,
                    why=outcome.why,
                    treatment=outcome.treatment,
                    count=len(outcome.visits),
                    recorded=len(outcome.visits) if fates is None else fates.recorded(outcome),
                    groups=[
                        _group(visit, step, stored, None if fates is None else fates.was(visit, outcome))
                        for visit in _listed(outcome, line.key, listing, fates)
                    ],
                )
                for outcome in outcomes
            ],
        )


_Key = tuple[str, BatchSource, int | None]


def _key(visit: PromptVisit) -> _Key:
    return visit.prompt_id, visit.source, visit.policy_version


class _Fates:
    """Outcomes of a line's groups in the recorded step, compared with another walk of it."""

    def __init__(self, recorded: Line, other: Line) -> None:
        self._labels = {_key(visit): outcome.label for outcome in recorded.outcomes for visit in outcome.visits}
        self._counts = {outcome.name: len(outcome.visits) for outcome in recorded.outcomes}
        now = {_key(visit) for outcome in other.outcomes for visit in outcome.visits}
        gone = [visit for outcome in recorded.outcomes for visit in outcome.visits if _key(visit) not in now]
        found = {outcome.name: outcome for outcome in other.outcomes}
        known = [found.pop(outcome.name, outcome._replace(visits=())) for outcome in recorded.outcomes]
        self.outcomes = [*known, *found.values()]
        if gone:
            self.outcomes.append(Outcome("gone", "No longer touched", other.gone, "left_out", gone))

    def recorded(self, outcome: Outcome) -> int:
        """Return groups with this outcome in the recorded step."""
        return self._counts.get(outcome.name, 0)

    def was(self, visit: PromptVisit, outcome: Outcome) -> str | None:
        """Return the recorded outcome's label, where it is another."""
        label = self._labels.get(_key(visit), NOT_TOUCHED)
        return None if label == outcome.label else label


def _listed(outcome: Outcome, line: str, listing: Listing, fates: _Fates | None) -> Sequence[PromptVisit]:
    if listing.line not in (None, line) or listing.outcome not in (None, outcome.name):
        return ()
    visits = outcome.visits
    if fates is not None:
        visits = sorted(visits, key=lambda visit: fates.was(visit, outcome) is None)
    return visits[listing.offset : listing.offset + listing.limit]


def _group(visit: PromptVisit, step: WalkedStep, stored: Mapping[tuple[str, int], int], was: str | None) -> WalkGroup:
    earlier: Answered | None = None
    generated: int | None = None
    if visit.source == BatchSource.REEVALUATED:
        earlier = step.earlier.get(visit.prompt_id)
    elif visit.source == BatchSource.REUSED and visit.policy_version is not None:
        generated = stored.get((visit.prompt_id, visit.policy_version))
    return WalkGroup(
        prompt_id=visit.prompt_id,
        source=visit.source,
        num_correct=visit.num_correct,
        policy_version=visit.policy_version,
        earlier_correct=None if earlier is None else earlier.num_correct,
        earlier_step=generated if earlier is None else earlier.step,
        was=was,
    )


def _not_recorded(config: RunConfig, step: WalkedStep) -> list[str]:
    """Return what the record does not tell."""
    if not config.method.is_trainable:
        return [
            "This run was trained elsewhere: its trainer's rule, buffers and thresholds are not recorded, only its "
            "groups and which of them it trained on. Re-evaluated and reused groups cannot be distinguished from fresh "
            "ones."
        ]
    if config.method.reuses_groups and config.method.as_bapo() is not None and step.stored is None:
        return ["Which stored groups were not drawn is not recorded, only how many there were."]
    return []


__all__ = ["ChosenThresholds", "Known", "Listing", "Places", "can_change", "walk"]
