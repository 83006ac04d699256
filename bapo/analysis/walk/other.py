"""A recorded step under other thresholds: its own groups, through BAPO's own code, from the buffers as they were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bapo.analysis.walk.before import DifficultEntry, fresh_groups
from bapo.analysis.walk.thresholds import ChosenThresholds
from bapo.config import RunConfig
from bapo.methods.bapo import Bapo, bapo_config
from bapo.records import PromptVisit, StepRecord, ThresholdValues
from bapo.rollout import BatchSource, RolloutGroup


class Before(NamedTuple):
    """Both buffers before the step."""

    difficult: Sequence[DifficultEntry]
    stored: Sequence[RolloutGroup]


class OtherStep(NamedTuple):
    """The step as it would have been."""

    record: StepRecord
    """The recorded one with other groups' fates, counts, thresholds and buffers."""
    is_same_batch: bool
    """True if the batch is the one that was trained on."""
    num_unanswered: int
    """Prompts that would have been asked again and were not: their answers are not known, and they are left out."""


def under(record: StepRecord, config: RunConfig, before: Before, thresholds: ChosenThresholds) -> OtherStep:
    """Return the step with these thresholds, as if they had been changed at its beginning.

    That is what a change of parameters does in a running run, so that prompts above a lower c1 leave the difficult
    buffer before anybody is asked again.
    """
    method = Bapo(_with(config, thresholds))
    method.load_state_dict(
        {
            "mean_accuracy": {"steps": []},
            "difficult_buffer": {"prompts": [list(entry) for entry in before.difficult]},
            "high_quality_buffer": {"groups": [group.without_payload() for group in before.stored]},
        },
        [None] * len(before.stored),
    )
    method.reconfigure(_with(config, thresholds))
    step = record.step
    answers = {group.prompt_id: group for group in fresh_groups(record, BatchSource.REEVALUATED)}
    method.observe_fresh(step, fresh_groups(record))
    asked = method.prompts_to_reevaluate(step)
    batch = method.compose(step, [answers[prompt_id] for prompt_id in asked if prompt_id in answers])
    difficult, stored = method.buffers(step)
    assert record.thresholds is not None, "asked for by the caller"
    changed = record.model_copy(
        update={
            "prompts": batch.visits,
            "counts": batch.counts,
            "thresholds": _values(method.thresholds(), record.thresholds.r_tot),
            "difficult_buffer": difficult,
            "high_quality_buffer": stored,
            "skipped": not batch.items,
        }
    )
    is_same_batch = _trained(batch.visits) == _trained(record.prompts)
    return OtherStep(changed, is_same_batch, sum(prompt_id not in answers for prompt_id in asked))


def agrees(record: StepRecord, config: RunConfig, before: Before, own: ChosenThresholds) -> bool:
    """Return whether the step's own thresholds give what it recorded, group by group."""
    again = under(record, config, before, own)
    return again.num_unanswered == 0 and _fates(again.record.prompts) == _fates(record.prompts)


def _fates(visits: Sequence[PromptVisit]) -> list[tuple[str, str, int, bool, str | None]]:
    return sorted(
        (visit.prompt_id, visit.source.value, visit.num_correct, visit.in_batch, visit.reason or "") for visit in visits
    )


def _trained(visits: Sequence[PromptVisit]) -> set[tuple[str, str, int | None]]:
    return {(visit.prompt_id, visit.source.value, visit.policy_version) for visit in visits if visit.in_batch}


def _with(config: RunConfig, thresholds: ChosenThresholds) -> RunConfig:
    """Return the config with thresholds that do not move."""
    c1, c2, c3 = thresholds
    method = bapo_config(config).model_copy(update={"c1": c1, "c2": (c2, c2), "c3": (c3, c3)})
    return config.model_copy(update={"method": method})


def _values(values: ThresholdValues, r_tot: float) -> ThresholdValues:
    # The mean accuracy of the time before does not matter to thresholds that do not move with it.
    return values.model_copy(update={"r_tot": r_tot})
