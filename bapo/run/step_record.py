"""Makes a step's record from what the loop and the engine report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, zip_longest

from bapo.engines.base import BatchItem, Engine, Generation
from bapo.loop import StepOutcome
from bapo.methods.base import ComposedBatch, Method
from bapo.records import Cost, SampledResponse, SampleRecord, Span, StepRecord
from bapo.rollout import BatchSource, RolloutGroup
from bapo.tasks.base import Problem

NO_COST = Cost(num_rollouts=0, num_tokens=0, num_tracking_rollouts=0, num_evaluation_rollouts=0)


def cost_after(cost: Cost, outcome: StepOutcome) -> Cost:
    """Return the cost with a step's fresh and re-evaluated responses, trained on or not, and supervised step."""
    generations = [each for each in (outcome.fresh, outcome.reevaluated) if each is not None]
    num_rollouts = sum(group.group_size for generation in generations for group in generation.groups)
    supervised = {} if outcome.supervised is None else {"num_supervised_steps": 1}
    num_tokens = sum(each.stats.num_tokens for each in generations)
    return plus(cost, num_rollouts=num_rollouts, num_tokens=num_tokens, **supervised)


def plus(cost: Cost, **added: int) -> Cost:
    """Return the cost with these numbers added to its fields."""
    return cost.model_copy(update={name: (getattr(cost, name) or 0) + number for name, number in added.items()})


def accuracy_histogram(groups: Iterable[RolloutGroup], group_size: int) -> list[int]:
    """Return groups by number of correct responses, 0..G."""
    counts = [0] * (group_size + 1)
    for group in groups:
        counts[group.num_correct] += 1
    return counts


def step_record(
    outcome: StepOutcome,
    *,
    attempt: int,
    num_steps: int,
    epoch: int,
    group_size: int,
    method: Method,
    cost: Cost,
    timing: Mapping[str, float],
    system: Mapping[str, float],
    spans: Sequence[Span] = (),
) -> StepRecord:
    """Return the journal's line of one training step."""
    fresh, batch = outcome.fresh, outcome.batch
    difficult_buffer, high_quality_buffer = method.buffers(outcome.step)
    trained = [item.group for item in batch.items]
    return StepRecord(
        attempt=attempt,
        step=outcome.step,
        num_steps=num_steps,
        epoch=epoch,
        group_size=group_size,
        skipped=outcome.update is None,
        rollout_version=outcome.rollout_version,
        trainer_version=outcome.step - 1,
        num_rounds=outcome.num_rounds,
        counts=batch.counts,
        fresh_histogram=accuracy_histogram(fresh.groups, group_size),
        reevaluated_histogram=accuracy_histogram(outcome.reevaluated.groups if outcome.reevaluated else (), group_size),
        batch_histogram=accuracy_histogram(trained, group_size),
        prompts=batch.visits,
        thresholds=outcome.thresholds,
        difficult_buffer=difficult_buffer,
        high_quality_buffer=high_quality_buffer,
        update=outcome.update,
        supervised=outcome.supervised,
        reward_mean=_reward_mean(fresh.groups) if fresh.groups else None,
        batch_reward_mean=_trained_reward_mean(batch.items) if batch.items else None,
        response_length_mean=fresh.stats.response_length_mean if fresh.groups else None,
        response_length_max=fresh.stats.response_length_max if fresh.groups else None,
        response_clip_ratio=fresh.stats.response_clip_ratio if fresh.groups else None,
        response_repetition_ratio=fresh.stats.response_repetition_ratio,
        segments=fresh.stats.segments,
        cost=cost,
        timing=timing,
        spans=spans,
        system=system,
    )


def _reward_mean(groups: Sequence[RolloutGroup]) -> float:
    return sum(group.num_correct for group in groups) / sum(group.group_size for group in groups)


def _trained_reward_mean(items: Sequence[BatchItem]) -> float:
    num_correct = sum(
        item.group.num_correct if item.responses is None else sum(item.group.rewards[i] for i in item.responses)
        for item in items
    )
    return num_correct / sum(item.num_responses for item in items)


def sample_records(
    outcome: StepOutcome, *, attempt: int, limit: int, problems: Mapping[str, Problem], engine: Engine
) -> Iterable[SampleRecord]:
    """Return the responses of up to `limit` groups, in turn from X1, X2, X3 and from what was left out."""
    for group, source, in_batch in _spread(outcome.batch, outcome.fresh, outcome.reevaluated)[:limit]:
        problem = problems[group.prompt_id]
        yield SampleRecord(
            attempt=attempt,
            step=outcome.step,
            prompt_id=group.prompt_id,
            prompt=problem.prompt,
            answer=problem.answer,
            source=source,
            num_correct=group.num_correct,
            group_size=group.group_size,
            policy_version=group.policy_version,
            in_batch=in_batch,
            responses=[
                SampledResponse(
                    text=response.text,
                    reward=response.reward,
                    num_tokens=response.num_tokens,
                    logprob_sum=response.logprob_sum,
                )
                for response in engine.responses(group)
            ],
        )


def visited_prompts(outcome: StepOutcome) -> Iterable[str]:
    """Return the prompts of the step, also those of which no response is kept."""
    generations = (outcome.fresh, outcome.reevaluated)
    groups = [group for generation in generations if generation is not None for group in generation.groups]
    return dict.fromkeys(group.prompt_id for group in [*groups, *(item.group for item in outcome.batch.items)])


def _spread(
    batch: ComposedBatch, fresh: Generation, reevaluated: Generation | None
) -> list[tuple[RolloutGroup, BatchSource, bool]]:
    """Return all groups of the step, alternating between the kinds so that a short list shows each."""
    trained = {(item.group.prompt_id, item.source) for item in batch.items}
    left_out = [
        (group, source, False)
        for source, generation in ((BatchSource.FRESH, fresh), (BatchSource.REEVALUATED, reevaluated))
        for group in (generation.groups if generation else ())
        if (group.prompt_id, source) not in trained
    ]
    kinds = [
        [(item.group, item.source, True) for item in batch.items if item.source is source] for source in BatchSource
    ]
    return [entry for entry in chain.from_iterable(zip_longest(*kinds, left_out)) if entry is not None]
