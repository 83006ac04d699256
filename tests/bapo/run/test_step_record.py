from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bapo.config import resolve
from bapo.engines.base import BatchItem, Engine, Generation, GenerationStats, ResponseSample
from bapo.loop import StepOutcome
from bapo.methods.bapo import Bapo
from bapo.methods.base import ComposedBatch
from bapo.records import Cost, LogprobGap, StepRecord, UpdateStats
from bapo.rollout import BatchSource, RolloutGroup
from bapo.run.step_record import NO_COST, accuracy_histogram, cost_after, sample_records, step_record
from bapo.tasks.base import Problem
from benchmarks.simulation import DrawnEngine
from tests.bapo.methods import replaying

UPDATE = UpdateStats(
    loss=0.5, entropy=1.0, grad_norm=2.0, kl=0.1, clip_fraction=0.2, ratio_mean=1.0, ratio_max=1.5,
    ratio_histogram=[0] * 13, num_mini_batches=2, num_tokens=64, num_groups_skipped=1,
    tv_tokens={BatchSource.FRESH: 0.25}, learning_rate=0.001,
    logprob_gap=LogprobGap(mean=0.001, max=0.02, outside_clip_range=0.0, num_tokens=12),
)  # fmt: skip


class Texts(DrawnEngine):
    """An engine that only knows responses."""

    def responses(self, group: RolloutGroup) -> Sequence[ResponseSample]:
        rewards = [1] * group.num_correct + [0] * (group.group_size - group.num_correct)
        return [ResponseSample(f"answer {i}", reward, 3, -1.0) for i, reward in enumerate(rewards)]


def group(prompt_id: str, num_correct: int, *, step: int = 2) -> RolloutGroup:
    return RolloutGroup(prompt_id, num_correct, 4, step - 1, step)


def generation(*groups: RolloutGroup, num_tokens: int) -> Generation:
    return Generation(groups, GenerationStats(num_tokens, 2.5, 4, 0.125))


def second_step() -> tuple[StepOutcome, Bapo]:
    """Step 2 of a run with G = 4, B = 4: one group of each source, and one of each left out."""
    explicit = {
        "method": {"type": "bapo", "m": 2, "c1": 0, "c2": ["1/4", "1/4"], "c3": ["1/2", "1/2"]},
        "rollout": {"group_size": 4},
        "training": {"steps": 9, "batch_size": 4},
    }
    method = Bapo(resolve(explicit).config)
    method.observe_fresh(1, [group("r", 2, step=1), group("h", 0, step=1), group("d", 0, step=1)])
    method.compose(1, ())
    method.finish_step(1)
    thresholds = method.thresholds()
    fresh = [group("f", 3), group("w", 0)]
    method.observe_fresh(2, fresh)
    answers = [group(prompt_id, k) for prompt_id, k in zip(method.prompts_to_reevaluate(2), (0, 1), strict=True)]
    batch = method.compose(2, answers)
    method.finish_step(2)
    outcome = StepOutcome(
        step=2, rollout_version=1, fresh=generation(*fresh, num_tokens=20), num_rounds=1,
        reevaluated=generation(*answers, num_tokens=12), batch=batch, update=UPDATE, thresholds=thresholds,
        timing={"gen": 0.5},
    )  # fmt: skip
    return outcome, method


def record(outcome: StepOutcome, method: Bapo) -> StepRecord:
    return step_record(
        outcome, attempt=3, num_steps=9, epoch=1, group_size=4, method=method,
        cost=cost_after(NO_COST, outcome), timing={"gen": 0.5}, system={},
    )  # fmt: skip


def test_histograms_count_groups_by_number_correct() -> None:
    assert accuracy_histogram([group("a", 0), group("b", 4), group("c", 4)], 4) == [1, 0, 0, 0, 2]
    assert accuracy_histogram([], 2) == [0, 0, 0]


def test_the_reward_of_the_batch_is_that_of_the_responses_trained_on() -> None:
    outcome, method = second_step()
    # Three of four right, and of a stored group the two responses that are right.
    whole = BatchItem(group("f", 3), BatchSource.FRESH)
    part = BatchItem(replaying.group("s", "0110", 1), BatchSource.REUSED, responses=(1, 2), advantages=(0.0, 0.0))
    outcome.batch = replace(outcome.batch, items=[whole, part])
    assert record(outcome, method).batch_reward_mean == 5 / 6


def test_cost_counts_every_response_dropped_ones_included() -> None:
    outcome, _ = second_step()
    cost = cost_after(NO_COST, outcome)
    # Two fresh and two re-evaluated groups of 4; 20 + 12 tokens.
    assert cost == Cost(num_rollouts=16, num_tokens=32, num_tracking_rollouts=0, num_evaluation_rollouts=0)
    cost = cost_after(cost, replace(outcome, reevaluated=None))
    assert (cost.num_rollouts, cost.num_tokens) == (24, 52)


def test_a_step_record_holds_the_whole_step() -> None:
    made = record(*second_step())
    assert (made.attempt, made.step, made.num_steps, made.epoch, made.trainer_version) == (3, 2, 9, 1, 1)
    # f (3/4) is X1; d was answered 0/4 and h 1/4, so h is X2; r (2/4) is X3.
    assert (made.counts.x1, made.counts.x2, made.counts.x3, made.counts.batch) == (1, 1, 1, 3)
    assert list(made.fresh_histogram) == [1, 0, 0, 1, 0]
    assert list(made.reevaluated_histogram) == [1, 1, 0, 0, 0]
    assert list(made.batch_histogram) == [0, 1, 1, 1, 0]
    # Fresh rewards 3 of 8; trained on 3 + 1 + 2 of 12.
    assert (made.reward_mean, made.batch_reward_mean) == (3 / 8, 6 / 12)
    assert {visit.prompt_id: visit.reason for visit in made.prompts} == {
        "f": None, "w": "all_wrong", "d": "still_difficult", "h": None, "r": None,
    }  # fmt: skip
    assert made.update is not None
    gap = made.update.logprob_gap
    assert gap is not None
    assert (gap.mean, gap.max, gap.num_tokens) == (0.001, 0.02, 12)
    assert (made.update.loss, made.update.learning_rate, made.update.tv_tokens) == (
        0.5,
        0.001,
        {BatchSource.FRESH: 0.25},
    )
    assert not made.skipped
    # Step 1: 2 of 12 right.
    assert made.thresholds is not None
    assert made.thresholds.r_tot == 2 / 12
    assert made.difficult_buffer is not None
    assert (made.difficult_buffer.size, made.difficult_buffer.left_improved) == (2, 1)


def test_an_empty_batch_is_recorded_as_skipped() -> None:
    outcome, method = second_step()
    nothing = ComposedBatch([], outcome.batch.counts.model_copy(update={"batch": 0}), [])
    made = record(replace(outcome, batch=nothing, update=None, reevaluated=None), method)
    assert made.skipped
    assert made.update is None
    assert made.batch_reward_mean is None
    assert list(made.reevaluated_histogram) == list(made.batch_histogram) == [0, 0, 0, 0, 0]


def samples(limit: int) -> list[tuple[str, BatchSource, bool]]:
    outcome, _ = second_step()
    problems = {name: Problem(name, "source", f"prompt {name}", {"target": 1}) for name in "frhdw"}
    engine: Engine = Texts(seed=0)
    found = list(sample_records(outcome, attempt=3, limit=limit, problems=problems, engine=engine))
    for each in found:
        assert each.prompt == f"prompt {each.prompt_id}"
        assert each.answer == {"target": 1}
        assert sum(response.reward for response in each.responses) == each.num_correct
        assert len(each.responses) == each.group_size == 4
    return [(each.prompt_id, each.source, each.in_batch) for each in found]


def test_few_samples_show_each_kind_of_group() -> None:
    assert samples(4) == [
        ("f", BatchSource.FRESH, True),
        ("h", BatchSource.REEVALUATED, True),
        ("r", BatchSource.REUSED, True),
        ("w", BatchSource.FRESH, False),
    ]


def test_many_samples_show_every_group_once() -> None:
    everything = samples(99)
    assert len(everything) == len(set(everything)) == 5
    assert everything[4] == ("d", BatchSource.REEVALUATED, False)


def test_no_samples_are_kept_where_none_are_asked_for() -> None:
    assert samples(0) == []
