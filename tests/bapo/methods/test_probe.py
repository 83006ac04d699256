"""The probe answers as many problems as it was asked to."""

from __future__ import annotations

import pytest

from bapo.config import apply_changes, resolve
from bapo.methods.probe import Probe, probe_changes
from bapo.prompt_schedule import PromptSchedule
from bapo.tasks.base import Problem

PROBLEMS = [Problem(f"p:{index}", "p", str(index), {}) for index in range(100)]


@pytest.mark.parametrize(("wanted", "per_step"), [(24, [24]), (32, [32]), (70, [32, 32, 6]), (96, [32, 32, 32])])
def test_the_last_step_answers_what_the_others_leave(wanted: int, per_step: list[int]) -> None:
    planned = resolve({"rollout": {"batch_size": 32}}).config.model_dump(mode="json")
    config = resolve(apply_changes({"rollout": {"batch_size": 32}}, probe_changes(planned, wanted))).config
    schedule = PromptSchedule(PROBLEMS, batch_size=32, seed=0)
    probe = Probe(config)
    assert config.training.steps == len(per_step)
    chosen = [probe.choose_prompts(step, schedule.batch(step), PROBLEMS) for step in range(1, len(per_step) + 1)]
    assert [len(each) for each in chosen] == per_step


def test_a_probe_from_before_it_counted_problems_answers_whole_batches() -> None:
    config = resolve({"method": {"type": "probe"}, "training": {"steps": 1}}).config
    assert len(Probe(config).choose_prompts(1, PROBLEMS[:32], PROBLEMS)) == 32
