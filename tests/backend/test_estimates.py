"""What a config will take, from runs that really ended."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from bapo.api.configs import ConfigDraft
from bapo.client import Client
from bapo.records import StepRecord
from bapo.run.journal import merged_records
from bapo.run.run_folder import read_config
from tests.support.recorded import NUM_STEPS, import_folder
from tests.support.refusals import refuses


@pytest.fixture(scope="module")
def server_settings() -> Mapping[str, object]:
    """Of a server that knows prices."""
    return {"cpu_hour_price": 0.5, "currency": "EUR", "resource_roots": "/other"}


DRAFT = ConfigDraft(
    recipe="countdown-demo", changes={"rollout.batch_size": 16, "training.batch_size": 16, "training.steps": 48}
)


def test_without_a_similar_run_only_the_arithmetic_is_known(admin: Client) -> None:
    found = admin.estimate(DRAFT)
    # 48 steps of 16 prompts, 8 responses each; every 5 steps, 9 times, at most 16 prompts again.
    assert (found.steps, found.fresh, found.reevaluated_at_most) == (48, 48 * 16 * 8, 9 * 16 * 8)
    assert (found.rollouts, found.tokens, found.seconds, found.cost, found.similar_runs) == (None,) * 4 + ([],)


def test_similar_runs_give_tokens_duration_and_cost(admin: Client, recorded_folders: Mapping[str, Path]) -> None:
    name = "bapo-seed-1"
    run_id = import_folder(admin, recorded_folders[name])
    found = admin.estimate(DRAFT)
    records = [each for each in merged_records(recorded_folders[name]) if isinstance(each, StepRecord)]
    last = records[-1].cost
    assert [(each.id, each.name, each.steps, each.differs) for each in found.similar_runs] == [
        (run_id, name, NUM_STEPS, [])
    ]
    assert found.fresh is not None
    assert found.reevaluated_at_most is not None
    assert found.rollouts is not None
    assert found.tokens is not None
    assert found.seconds is not None
    assert found.cost is not None
    # Fresh ones follow from the config; of those that may be re-evaluated, the share that the similar run had:
    # it may ask 4 times, each time at most B = 16 prompts.
    config = read_config(recorded_folders[name])
    fresh = NUM_STEPS * 16 * config.rollout.group_size
    share = (last.num_rollouts - fresh) / (4 * 16 * 8)
    assert found.rollouts.value == pytest.approx(found.fresh + share * found.reevaluated_at_most)
    assert found.tokens.value == pytest.approx(found.rollouts.value * (last.num_tokens or 0) / last.num_rollouts)
    run_seconds = (admin.run(run_id).compute_hours or 0) * 3600
    assert found.seconds.value > 0
    if run_seconds:
        assert found.seconds.value == pytest.approx(found.rollouts.value * run_seconds / last.num_rollouts)
    # One run has no range; on the CPU an hour counts once, at 0.50 EUR.
    assert found.seconds.low == found.seconds.value == found.seconds.high
    assert (found.num_gpus, found.currency) == (0, "EUR")
    assert found.cost.value == pytest.approx(found.seconds.value / 3600 * 0.5)


def test_several_runs_give_a_range_and_the_most_similar_comes_first(
    admin: Client, recorded_folders: Mapping[str, Path]
) -> None:
    for name in ("bapo-seed-1", "bapo-seed-2", "grpo-seed-1"):
        import_folder(admin, recorded_folders[name])
    found = admin.estimate(DRAFT)
    assert [each.name for each in found.similar_runs][2:] == ["grpo-seed-1"]
    assert found.similar_runs[2].differs == ["type grpo"]
    assert found.tokens is not None
    assert found.tokens.low <= found.tokens.value <= found.tokens.high
    assert found.tokens.low < found.tokens.high


@pytest.mark.parametrize("changes", [{"rollout.group_size": 16}, {"rollout.batch_size": 65}, {"model.path": "/other"}])
def test_runs_of_another_group_size_model_or_scale_say_nothing(
    admin: Client, recorded_folders: Mapping[str, Path], changes: dict[str, object]
) -> None:
    import_folder(admin, recorded_folders["bapo-seed-1"])
    # 65 fresh prompts are more than four times 16.
    found = admin.estimate(DRAFT.model_copy(update={"changes": {**DRAFT.changes, **changes}}))
    assert (found.similar_runs, found.seconds) == ([], None)


def test_a_config_that_cannot_run_is_refused_by_field(admin: Client) -> None:
    with refuses(422, field="method.c1"):
        admin.estimate(ConfigDraft(recipe="countdown-demo", changes={"method.c1": 3}))
