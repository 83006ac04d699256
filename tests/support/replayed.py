"""Runs to replay whose prompts are answered with fixed chances, whatever the policy."""

from __future__ import annotations

from typing import Any

from bapo.analysis.what_if.recording import Recording, recording_of
from bapo.config import RunConfig, apply_changes, resolve
from bapo.draws import generator
from bapo.methods import Method, build_method
from bapo.records import Cost, StepRecord
from bapo.rollout import RolloutGroup
from bapo.run.step_record import accuracy_histogram

NUM_PROMPTS = 40
BATCH = 10


def config(**changes: Any) -> RunConfig:
    """Return the config of 12 steps of BAPO with these changes."""
    settings = {"method.m": 2, "training.batch_size": BATCH, "rollout.batch_size": BATCH, "training.steps": 12}
    return resolve(apply_changes({"method": {"type": "bapo"}}, settings | dict(changes))).config


def recorded(run_config: RunConfig, num_steps: int = 12) -> list[StepRecord]:
    """Record a run whose prompt i is answered with a fixed chance of i / NUM_PROMPTS, whatever the policy."""
    method = build_method(run_config)
    return [next_record(method, step, num_steps) for step in range(1, num_steps + 1)]


def answer_of(prompt: int, step: int, purpose: str) -> RolloutGroup:
    """Answer a prompt as its chance has it; the draw depends on prompt, step and purpose alone."""
    draw = generator(1, step, f"{purpose}:{prompt}")
    num_correct = sum(draw.random() < prompt / NUM_PROMPTS for _ in range(8))
    return RolloutGroup(f"p{prompt:02}", num_correct, 8, step - 1, step)


def next_record(method: Method, step: int, num_steps: int) -> StepRecord:
    """Take the method one step further and record the step."""
    fresh = [answer_of((step * BATCH + i) % NUM_PROMPTS, step, "fresh") for i in range(BATCH)]
    thresholds = method.thresholds()
    method.observe_fresh(step, fresh)
    reevaluated = [answer_of(int(p[1:]), step, "again") for p in method.prompts_to_reevaluate(step)]
    batch = method.compose(step, reevaluated)
    method.finish_step(step)
    difficult, high_quality = method.buffers(step)
    return StepRecord(
        attempt=1, step=step, num_steps=num_steps, epoch=0, group_size=8, skipped=False,
        rollout_version=step - 1, trainer_version=step - 1, counts=batch.counts,
        fresh_histogram=accuracy_histogram(fresh, 8),
        reevaluated_histogram=accuracy_histogram(reevaluated, 8),
        batch_histogram=accuracy_histogram([item.group for item in batch.items], 8),
        prompts=batch.visits, thresholds=thresholds, difficult_buffer=difficult,
        high_quality_buffer=high_quality, update=None, reward_mean=0.5, batch_reward_mean=None,
        response_length_mean=1, response_length_max=1, response_clip_ratio=0,
        cost=Cost(num_rollouts=0, num_tokens=0, num_tracking_rollouts=0, num_evaluation_rollouts=0),
        timing={}, system={},
    )  # fmt: skip


def recording(run_config: RunConfig, num_steps: int = 12) -> Recording:
    """Record a run and return what a replay reads of it."""
    return recording_of(run_config, recorded(run_config, num_steps))
