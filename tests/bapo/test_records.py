from __future__ import annotations

import json
import math
from typing import Any

import pytest
from pydantic import ValidationError

from bapo.records import (
    RATIO_BIN_EDGES,
    AnyRecord,
    BoundTerms,
    BufferState,
    Cost,
    CriticStats,
    EvaluationRecord,
    EventRecord,
    Interval,
    LogprobGap,
    PromptVisit,
    Record,
    SampledResponse,
    SampleRecord,
    SourceCounts,
    Span,
    StepRecord,
    ThresholdValues,
    TrackingRecord,
    UpdateStats,
    comparable,
    dump_record,
    effective_sample_share,
    metrics,
    parse_record,
    recorded_spans,
)
from bapo.rollout import BatchSource


def update(**changes: Any) -> UpdateStats:
    values: dict[str, Any] = {
        "loss": 0.1, "entropy": 1.5, "grad_norm": 0.4, "kl": 0.01, "clip_fraction": 0.05, "ratio_mean": 1.0,
        "ratio_max": 2.5, "ratio_histogram": [0] * (len(RATIO_BIN_EDGES) + 1), "num_mini_batches": 1,
        "num_tokens": 100, "num_groups_skipped": 3, "learning_rate": 3e-4,
        "tv_tokens": {BatchSource.FRESH: 0.02}, "tv_sequences": {BatchSource.FRESH: 0.04},
        "bound": BoundTerms(
            improvement={BatchSource.FRESH: 0.01}, surrogate={BatchSource.FRESH: 0.06},
            tv_sequences={BatchSource.FRESH: 0.05},
        ),
    }  # fmt: skip
    return UpdateStats(**values | changes)


def buffer(size: int) -> BufferState:
    return BufferState(
        size=size, capacity=None, age_mean=1.5, age_max=2, entered=1, refreshed=0, left_improved=0, evicted=0, expired=0
    )


def step(**changes: Any) -> StepRecord:
    values: dict[str, Any] = {
        "attempt": 1, "step": 7, "num_steps": 20, "epoch": 0, "group_size": 2, "skipped": False,
        "rollout_version": 4, "trainer_version": 6,
        "counts": SourceCounts(
            fresh=2, x1=1, reevaluated=0, improved=0, x2=0, solved=0, still_difficult=0, surplus_stored=0,
            surplus_dropped=0, x3_candidates=0, x3=0, batch=1, batch_size=4, fill_rate=0.25,
        ),
        "fresh_histogram": [1, 1, 0], "reevaluated_histogram": [0, 0, 0], "batch_histogram": [0, 1, 0],
        "prompts": [
            PromptVisit("a", BatchSource.FRESH, 1, 4, in_batch=True),
            PromptVisit("b", BatchSource.FRESH, 0, 4, in_batch=False, reason="all_wrong"),
        ],
        "thresholds": ThresholdValues(
            c1=0.125, c2=0.2, c3=0.3, r_tot=0.1, difficult_max_count=0, reusable_min_count=1, reusable_max_count=0
        ),
        "difficult_buffer": buffer(5), "high_quality_buffer": buffer(6), "update": update(), "reward_mean": 0.25,
        "batch_reward_mean": 0.5, "response_length_mean": 9.5, "response_length_max": 12, "response_clip_ratio": 0.0,
        "cost": Cost(num_rollouts=28, num_tokens=260, num_tracking_rollouts=4, num_evaluation_rollouts=0),
        "timing": {"gen": 0.5, "step": 1.0}, "system": {"rss": 1e6},
    }  # fmt: skip
    return StepRecord(**values | changes)


def skipped_step() -> StepRecord:
    return step(skipped=True, update=None, batch_reward_mean=None, difficult_buffer=None, high_quality_buffer=None)


EVALUATION = EvaluationRecord(
    attempt=1, step=0, dataset="CD-34", num_samples=8, num_correct=[0, 8], prompt_ids=["a", "b"],
    avg_at_k=Interval(value=0.5, low=0.4, high=0.6), greedy=Interval(value=0.55, low=0.4, high=0.7),
    pass_at={1: Interval(value=0.5, low=0.4, high=0.6), 8: Interval(value=0.8, low=0.7, high=0.9)},
    timing={"evaluation": 2.0},
)  # fmt: skip
TRACKING = TrackingRecord(
    attempt=1, step=5, replicate=0, group_size=4, prompt_ids=["a", "b"], num_correct=[1, 3], timing={}
)
EVENT = EventRecord(attempt=1, step=5, event="checkpoint", message="written", data={"bytes": 3, "id": "x"})
SAMPLE = SampleRecord(
    attempt=1, step=5, prompt_id="a", prompt="1 2=3", answer={"nums": [1, 2]}, source=BatchSource.REUSED,
    num_correct=1, group_size=1, policy_version=2, in_batch=True,
    responses=[SampledResponse(text="1+2\n\"é\"\u2028", reward=1, num_tokens=4, logprob_sum=-1.5)],
)  # fmt: skip


@pytest.mark.parametrize("record", [step(), skipped_step(), EVALUATION, TRACKING, EVENT], ids=lambda r: r.type)
def test_every_record_comes_back_from_its_line(record: AnyRecord) -> None:
    line = dump_record(record)
    assert parse_record(line) == record
    assert json.loads(line)["schema"] == 3


@pytest.mark.parametrize("record", [step(), EVALUATION, TRACKING, EVENT, SAMPLE], ids=lambda r: r.type)
def test_a_record_is_one_line_whatever_it_holds(record: Record) -> None:
    line = dump_record(record)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1


def test_samples_come_back_from_their_line() -> None:
    assert SampleRecord.model_validate_json(dump_record(SAMPLE)) == SAMPLE


def test_the_prompts_of_a_step_are_written_as_one_list_per_field() -> None:
    assert json.loads(dump_record(step()))["prompts"] == {
        "prompt_id": ["a", "b"],
        "source": ["fresh", "fresh"],
        "num_correct": [1, 0],
        "policy_version": [4, 4],
        "in_batch": [True, False],
        "reason": [None, "all_wrong"],
    }
    assert parse_record(dump_record(step(prompts=[]))) == step(prompts=[])


def test_a_line_with_one_object_for_each_prompt_is_read_as_up_to_version_0_2() -> None:
    content = json.loads(dump_record(step()))
    columns = content["prompts"].values()
    prompts = [dict(zip(content["prompts"], row, strict=True)) for row in zip(*columns, strict=True)]
    assert parse_record(json.dumps({**content, "schema": 1, "prompts": prompts})) == step(schema=1)


def test_prompts_whose_lists_differ_in_length_are_refused() -> None:
    content = json.loads(dump_record(step()))
    content["prompts"]["reason"] = [None]
    with pytest.raises(ValidationError, match=r"the lists differ in length: .*in_batch 2, reason 1"):
        parse_record(json.dumps(content))


def test_fields_of_a_newer_writer_are_passed_over() -> None:
    content = json.loads(dump_record(step()))
    content["novel"] = content["counts"]["novel"] = content["prompts"]["novel"] = 1
    assert parse_record(json.dumps(content)) == step()


@pytest.mark.parametrize("line", [b"", b"{}", b'{"type": "novel"}', b'{"type": "step"}', b"\xff", b'{"type": "step",'])
def test_a_line_that_is_no_record_is_refused(line: bytes) -> None:
    with pytest.raises(ValidationError):
        parse_record(line)


def test_a_diverged_run_can_be_written_and_read() -> None:
    diverged = step(update=update(loss=math.nan, grad_norm=math.inf, kl=-math.inf))
    line = dump_record(diverged)
    read = parse_record(line)
    assert isinstance(read, StepRecord)
    assert read.update is not None
    assert math.isnan(read.update.loss)
    assert (read.update.grad_norm, read.update.kl) == (math.inf, -math.inf)
    # Strict JSON: no bare NaN that other readers would stumble over.
    json.loads(line, parse_constant=pytest.fail)
    assert "actor/pg_loss" not in metrics(diverged)
    assert "actor/grad_norm" not in metrics(diverged)
    assert comparable(diverged) == comparable(read)


def test_what_may_differ_between_equal_runs_is_left_out() -> None:
    other = step(attempt=3, timing={"gen": 9.0}, spans=[Span(phase="gen", begin=1, seconds=9)], system={})
    assert comparable(step()) == comparable(other)
    assert set(comparable(step())) == {*json.loads(dump_record(step()))} - {"attempt", "timing", "spans", "system"}


@pytest.mark.parametrize("change", [{"reward_mean": 0.26}, {"rollout_version": 5}, {"prompts": []}, {"num_steps": 21}])
def test_anything_else_makes_a_difference(change: dict[str, Any]) -> None:
    assert comparable(step()) != comparable(step(**change))


def test_step_metrics_use_verls_names_where_it_has_one() -> None:
    values = metrics(step())
    expected = {
        "training/global_step": 7, "training/epoch": 0, "critic/rewards/mean": 0.25, "response_length/mean": 9.5,
        "response_length/max": 12, "response_length/clip_ratio": 0, "actor/pg_loss": 0.1, "actor/entropy": 1.5,
        "actor/grad_norm": 0.4, "actor/ppo_kl": 0.01, "actor/pg_clipfrac": 0.05, "timing_s/gen": 0.5,
        "timing_s/step": 1.0,
    }  # fmt: skip
    assert {name: values[name] for name in expected} == expected


def test_of_two_figures_of_one_name_ours_counts_and_what_is_not_finite_is_left_out() -> None:
    told = {
        "actor/grad_norm": 77.0,
        "mine": 1.5,
        "huge": 1e308,
        "huger": 1e308,
        "broken": math.nan,
        "endless": math.inf,
    }
    values = metrics(step(metrics=told))
    assert values["actor/grad_norm"] == 0.4
    # Their sum is infinite, and they are not.
    assert (values["mine"], values["huge"], values["huger"]) == (1.5, 1e308, 1e308)
    assert not {"broken", "endless"} & values.keys()
    assert all(type(value) is float for value in values.values())


def test_names_that_a_trainer_makes_up_without_end_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[Any, Any] = {}
    monkeypatch.setattr("bapo.records.metric_names._known_names", kept)
    for number in range(600):
        assert metrics(step(metrics={f"made up {number}": 2.0}))[f"made up {number}"] == 2.0
    assert 0 < len(kept) <= 256
    kept.clear()
    assert metrics(step(metrics={"long" * 20_000: 2.0}))["long" * 20_000] == 2.0
    assert not kept


def test_our_own_metrics_start_with_bapo() -> None:
    values = metrics(step())
    expected = {
        "bapo/batch/x1": 1, "bapo/batch/fill_rate": 0.25, "bapo/batch/reward_mean": 0.5,
        "bapo/thresholds/r_tot": 0.1, "bapo/thresholds/reusable_max_count": 0, "bapo/buffer/difficult/size": 5,
        "bapo/buffer/high_quality/age_mean": 1.5, "bapo/cost/num_rollouts": 28, "bapo/ratio/max": 2.5,
        "bapo/tv/tokens/fresh": 0.02, "bapo/tv/sequences/fresh": 0.04, "bapo/bound/improvement/fresh": 0.01,
        "bapo/bound/surrogate/fresh": 0.06, "bapo/bound/tv/fresh": 0.05, "bapo/policy/rollout_version": 4,
        # Trainer version 6 minus rollout version 4.
        "bapo/policy/rollout_staleness": 2, "bapo/system/rss": 1e6, "bapo/update/num_groups_skipped": 3,
    }  # fmt: skip
    assert {name: values[name] for name in expected} == expected


def test_metric_names_hold_a_slash_and_values_are_finite() -> None:
    for record in (step(), skipped_step(), EVALUATION, TRACKING):
        values = metrics(record)
        assert all("/" in name and math.isfinite(value) for name, value in values.items())


def test_metrics_of_a_critic_have_verls_names_and_are_only_there_with_one() -> None:
    values: dict[str, float | None] = {
        "loss": 0.125, "explained_variance": 0.25, "value_mean": 0.375, "return_mean": 0.5, "grad_norm": 1.5,
        "clip_fraction": 0.0625, "learning_rate": 1e-3,
    }  # fmt: skip
    expected = {
        "critic/vf_loss": 0.125, "critic/vf_explained_var": 0.25, "critic/values/mean": 0.375,
        "critic/returns/mean": 0.5, "critic/grad_norm": 1.5, "critic/vf_clipfrac": 0.0625, "critic/lr": 1e-3,
    }  # fmt: skip

    def critic_metrics(**changes: Any) -> dict[str, float]:
        record = step(update=update(**changes))
        assert parse_record(dump_record(record)) == record
        return {name: value for name, value in metrics(record).items() if name.startswith("critic/")}

    rewards = {"critic/rewards/mean": 0.25}
    assert critic_metrics() == rewards
    assert critic_metrics(critic=CriticStats.model_validate(values)) == expected | rewards
    # All rewards equal: nothing to explain.
    del expected["critic/vf_explained_var"]
    without = CriticStats.model_validate(values | {"explained_variance": None})
    assert critic_metrics(critic=without) == expected | rewards


def test_the_gap_between_implementations_is_only_there_where_it_was_measured() -> None:
    gap = LogprobGap(mean=0.002, max=0.05, outside_clip_range=0.0, num_tokens=40)
    values = metrics(step(update=update(logprob_gap=gap)))
    assert {name: value for name, value in values.items() if "gap" in name} == {
        "bapo/logprob_gap/mean": 0.002,
        "bapo/logprob_gap/max": 0.05,
        "bapo/logprob_gap/outside_clip_range": 0,
        "bapo/logprob_gap/num_tokens": 40,
    }
    assert not any("gap" in name for name in metrics(step()))


def test_the_effective_sample_size_falls_where_few_tokens_outweigh_the_others() -> None:
    # Ratios 1, 1, 1, 1: 16 / (4·4). Ratios 3, 1, 0, 0: 16 / (4·10).
    assert effective_sample_share(4, 4.0, 4.0) == 1.0
    assert effective_sample_share(4, 4.0, 10.0) == 0.4
    assert effective_sample_share(0, 0.0, 0.0) == 1.0
    values = metrics(step(update=update(effective_sample_share=0.4)))
    assert values["bapo/ratio/effective_sample_share"] == 0.4


def test_a_skipped_step_has_no_figures_of_an_update() -> None:
    values = metrics(skipped_step())
    assert not any(name.startswith(("actor/", "bapo/ratio", "bapo/tv", "bapo/buffer")) for name in values)
    assert "bapo/batch/reward_mean" not in values
    assert values["critic/rewards/mean"] == 0.25


def test_spans_are_recorded_from_a_beginning_without_those_that_no_timeline_can_show() -> None:
    spans = [Span(phase="batch", begin=100.0, seconds=0.0009), Span(phase="update", begin=102.00004, seconds=0.25)]
    assert recorded_spans(spans, origin=100.0) == [Span(phase="update", begin=2.0, seconds=0.25)]


def test_evaluation_metrics_name_data_set_and_samples() -> None:
    assert metrics(EVALUATION) == {
        "val-core/CD-34/acc/mean@8": 0.5,
        "val-core/CD-34/acc/mean@8/low": 0.4,
        "val-core/CD-34/acc/mean@8/high": 0.6,
        "val-core/CD-34/acc/greedy": 0.55,
        "val-core/CD-34/acc/pass@1": 0.5,
        "val-core/CD-34/acc/pass@8": 0.8,
    }


def test_tracking_counts_the_first_replicate_only() -> None:
    # 1 + 3 of 2 × 4 responses.
    assert metrics(TRACKING) == {"bapo/tracking/accuracy": 0.5}
    assert metrics(TRACKING.model_copy(update={"replicate": 1})) == {}


def test_events_have_no_metrics() -> None:
    assert metrics(EVENT) == {}
