"""A recorded run replayed: exactly itself under its own config, exact or with an interval under another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bapo import observe
from bapo.analysis.what_if.answer import Band, WhatIfTotal
from bapo.analysis.what_if.forecast import REPLAYABLE_FIELDS, what_if
from bapo.analysis.what_if.recording import Recording, read_recording, recording_of
from bapo.analysis.what_if.totals import interval
from bapo.config import ConfigError, RunConfig, resolve
from bapo.methods import build_method
from bapo.observe import Group
from bapo.records import AnyRecord, EventRecord
from tests.support.recorded import NUM_STEPS
from tests.support.replayed import BATCH, config, next_record, recorded, recording


def is_without_width(band: Band) -> bool:
    return list(band.low) == list(band.mean) == list(band.high)


def test_under_its_own_config_a_run_is_replayed_exactly() -> None:
    records = recorded(config())
    assert sum((record.counts.x2 or 0) for record in records) > 0
    assert sum((record.counts.x3 or 0) for record in records) > 0
    answer = what_if(recording_of(config(), records), {})
    assert (answer.num_draws, answer.num_estimated, answer.num_disagreeing) == (1, 0, 0)
    assert (answer.exact_through, answer.steps) == (12, list(range(1, 13)))
    assert answer.changes == {}
    for index, record in enumerate(records):
        assert record.difficult_buffer is not None
        assert record.high_quality_buffer is not None
        counts, forecast = record.counts, answer.forecast
        assert (answer.recorded.x1[index], forecast.x1.mean[index]) == (counts.x1, counts.x1)
        assert (answer.recorded.x2[index], forecast.x2.mean[index]) == (counts.x2, counts.x2)
        assert (answer.recorded.x3[index], forecast.x3.mean[index]) == (counts.x3, counts.x3)
        assert forecast.fill_rate.mean[index] == pytest.approx(counts.fill_rate)
        assert forecast.difficult_size.mean[index] == record.difficult_buffer.size
        assert forecast.high_quality_size.mean[index] == record.high_quality_buffer.size
        assert answer.recorded.difficult_size[index] == record.difficult_buffer.size
    assert answer.totals.rollouts.recorded == answer.totals.rollouts.forecast == answer.totals.rollouts.high


def increase(total: WhatIfTotal) -> float:
    assert total.recorded is not None
    return total.forecast - total.recorded


def test_other_reuse_thresholds_need_no_estimate_while_nothing_else_is_asked_again() -> None:
    answer = what_if(recording(config()), {"method.c2": [0, 0], "method.c3": [0.75, 0.75]})
    # c2 and c3 decide what is stored and reused; which prompts are difficult, and so asked again, stays.
    assert answer.num_draws == 1
    assert all(answer.forecast.x3.is_exact)
    assert increase(answer.totals.x3_share) > 0
    assert answer.changes["method.c2"] == ([0.125, 0.5], [0.0, 0.0])


def test_more_frequent_re_evaluation_is_estimated_with_an_interval() -> None:
    answer = what_if(recording(config()), {"method.m": 1})
    # Step 1 has nothing to ask; step 3 asks for prompts that the recorded run did not ask for.
    x2, batch = answer.forecast.x2, answer.forecast.fill_rate
    assert answer.num_draws == 20
    assert answer.num_estimated > 0
    first = answer.exact_through
    assert first < 12
    assert x2.is_exact[: first + 1] == [True] * first + [False]
    assert any(low < high for low, high in zip(x2.low, x2.high, strict=True))
    assert all(low <= mean <= high for low, mean, high in zip(x2.low, x2.mean, x2.high, strict=True))
    # Fresh groups were what they were, however often the buffer is asked again.
    assert answer.forecast.x1.mean == answer.recorded.x1
    assert max(batch.high) <= 1
    extra = increase(answer.totals.reevaluated)
    assert extra > 0
    # 8 responses each.
    assert increase(answer.totals.rollouts) == pytest.approx(8 * extra)


def test_between_re_evaluations_the_batches_stay_exact() -> None:
    answer = what_if(recording(config(**{"method.m": 2})), {"method.m": 4, "method.c1": 0.25})
    estimated = [not exact for exact in answer.forecast.x2.is_exact]
    assert estimated == [step % 4 == 0 and step > answer.exact_through for step in answer.steps]
    # Nothing found too little room, so the high-quality buffer rests on fresh groups alone.
    assert all(answer.forecast.high_quality_size.is_exact)
    assert answer.forecast.x3.is_exact == answer.forecast.x2.is_exact


def test_a_replay_draws_the_same_every_time() -> None:
    run = recording(config())
    assert what_if(run, {"method.m": 1}) == what_if(run, {"method.m": 1})


def test_without_re_evaluation_nothing_is_estimated() -> None:
    answer = what_if(recording(config()), {"method.without": ["reevaluated"]})
    assert answer.num_draws == 1
    assert set(answer.forecast.x2.mean) == {0}
    assert answer.totals.reevaluated.forecast == 0
    assert is_without_width(answer.forecast.fill_rate)


def test_another_batch_size_takes_the_difficult_buffer_along() -> None:
    # Without a capacity of its own the difficult buffer holds B prompts.
    answer = what_if(recording(config()), {"training.batch_size": 4})
    assert (answer.batch_size_recorded, answer.batch_size) == (10, 4)
    assert max(answer.forecast.difficult_size.high) <= 4 < max(size or 0 for size in answer.recorded.difficult_size)
    assert max(answer.forecast.x1.mean) <= 4


def test_a_grpo_run_shows_what_bapo_would_have_made_of_its_groups() -> None:
    sizes = {"batch_size": BATCH}
    run = recording(resolve({"method": {"type": "grpo"}, "training": sizes, "rollout": sizes}).config)
    assert set(run.sizes.difficult) == {None}
    same = what_if(run, {})
    assert same.forecast.x1.mean == same.recorded.x1 == [BATCH] * 12
    answer = what_if(run, {"method.type": "bapo", "method.m": 2})
    # Grpo asked nothing again, so every re-evaluation is an estimate.
    assert answer.num_known == 0 < answer.num_estimated
    assert answer.changes["method.type"] == ("grpo", "bapo")
    assert sum(answer.forecast.x1.mean) < sum(answer.recorded.x1)


@pytest.mark.parametrize(("with_critic", "without"), [("ba_ppo", "bapo"), ("ppo", "grpo")])
def test_a_critic_changes_nothing_about_the_batches(with_critic: str, without: str) -> None:
    sizes = {"batch_size": BATCH}
    run = recording(resolve({"method": {"type": with_critic}, "training": sizes, "rollout": sizes}).config)
    same, other = what_if(run, {}), what_if(run, {"method.type": without})
    assert same.forecast == other.forecast
    assert same.changes == {}
    if with_critic == "ba_ppo":
        wider = {"method.c2": [0, 0], "method.c3": [0.75, 0.75]}
        assert increase(what_if(run, wider).totals.x3_share) > 0


def test_a_bapo_run_shows_what_grpo_would_have_made_of_its_groups() -> None:
    answer = what_if(recording(config()), {"method.type": "grpo"})
    assert answer.forecast.x1.mean == [BATCH] * 12
    assert set(answer.forecast.x2.mean) == set(answer.forecast.difficult_size.mean) == {0}
    assert answer.totals.fill_rate.forecast == 1


def changed_at_step_7(run_config: RunConfig) -> Recording:
    """A run whose c1 and m were changed while it trained."""
    changes = {"method.c1": 0.5, "method.m": 3}
    later = config(**changes)
    method = build_method(run_config)
    records: list[AnyRecord] = []
    for step in range(1, 13):
        if step == 7:
            method.reconfigure(later)
            records.append(
                EventRecord(
                    attempt=1, step=6, event="parameter_change", message="c1 and m",
                    data={"id": "a", "author": "me", "set": changes, "applied_step": 7},
                )
            )  # fmt: skip
        records.append(next_record(method, step, 12))
    return recording_of(run_config, records)


def test_the_baseline_follows_what_was_changed_during_the_run() -> None:
    answer = what_if(changed_at_step_7(config()), {})
    assert (answer.num_draws, answer.num_disagreeing) == (1, 0)
    assert answer.forecast.x2.mean == list(answer.recorded.x2)
    assert answer.forecast.difficult_size.mean == list(answer.recorded.difficult_size)
    assert [(each.first_step, each.changes) for each in answer.run_changes] == [(7, {"method.c1": 0.5, "method.m": 3})]


def test_what_is_not_moved_keeps_the_values_that_were_in_force() -> None:
    run = changed_at_step_7(config())
    # c1 = 1/2 from the beginning: then only the six first steps differ.
    answer = what_if(run, {"method.c1": 0.5})
    assert answer.changes == {"method.c1": (0.125, 0.5)}
    assert answer.num_draws > 1
    # m stayed 2 until step 6 and 3 from then on.
    asked = [step for step, high in zip(answer.steps, answer.forecast.reevaluated.high, strict=True) if high]
    assert {2, 9} <= set(asked) <= {2, 4, 6, 9, 12}


def test_a_record_that_no_replay_gives_is_reported() -> None:
    records = recorded(config())
    spoiled = records[5].prompts
    next(visit for visit in spoiled if visit.in_batch).in_batch = False
    assert what_if(recording_of(config(), records), {}).num_disagreeing == 1


def test_thresholds_that_admit_nothing_at_the_recorded_accuracies_are_named() -> None:
    changes = {"method.c2": ["0.125", "0.9"], "method.c3": ["0.125", "0.9"]}
    warnings = what_if(recording(config()), changes).warnings
    assert [warning.field for warning in warnings] == ["method.c2", "method.c2"]
    assert "while r_tot is in" in warnings[0].remedy
    # At step 1, where r_tot = 0, [1/8, 1/8] holds 1/8.
    assert warnings[1].remedy.startswith("at the r_tot of 11 of the 12 steps no accuracy k/8 lay in [c2, c3]")


@pytest.mark.parametrize(
    ("changes", "field", "remedy"),
    [
        ({"rollout.group_size": 1}, "rollout.group_size", "at least 2"),
        ({"method.max_rounds": 2}, "method.max_rounds", "dapo"),
        ({"rollout.batch_size": 4}, "rollout.batch_size", "others cannot be added"),
        ({"task.num_train": 4}, "task.num_train", "other data"),
        ({"method.v": 1}, "method.v", "which policy answers"),
        ({"training.learning_rate": 0.1}, "training.learning_rate", "does not affect how batches are built"),
        ({"method.c1": 2}, "method.c1", "less than 1"),
        ({"method.m": 0}, "method.m", "at least 1"),
        ({"method.cl": 0.5}, "method.cl", "did you mean method.c1"),
        ({"method.c2": [0.9, 0.9]}, "method.c2", "above c3"),
        ({"method.type": "repo"}, "method.type", "cannot be replayed, only those of bapo"),
        ({"method.type": "dots"}, "method.type", "submit a run with it instead"),
        ({"method.type": "probe"}, "method.type", "give one of bapo, ba_ppo, bapo_mini, dapo, grpo"),
        ({"method.type": "observed"}, "method.type", "give one of bapo, ba_ppo, bapo_mini, dapo, grpo"),
    ],
)
def test_what_cannot_be_replayed_is_refused_by_field(changes: dict[str, Any], field: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as raised:
        what_if(recording(config()), changes)
    (problem,) = raised.value.problems
    assert problem.field == field
    assert remedy in problem.remedy


def test_a_run_without_steps_has_an_empty_answer() -> None:
    answer = what_if(recording_of(config(), []), {"method.m": 1})
    assert (answer.num_steps, answer.steps, answer.totals.rollouts.forecast) == (0, [], 0)


def test_a_prediction_interval_worked_out_by_hand() -> None:
    # Draws 1, 2, 3: mean 2, s = 1, t(0.95, 2) = 2.920: 2 ± 2.920·1·sqrt(4/3) = 2 ± 3.372, cut at 0 and at 5.
    mean, low, high = interval(np.array([[1], [2], [3]]), largest=5)
    assert (mean[0], low[0], high[0]) == (2, 0, 5)
    # 2 + 3.372 without the upper cut.
    assert interval(np.array([[1], [2], [3]]))[2][0] == pytest.approx(5.372, abs=1e-3)


def test_really_recorded_runs_are_replayed_exactly(recorded_folders: Mapping[str, Path]) -> None:
    for name, folder in recorded_folders.items():
        run = read_recording(folder)
        answer = what_if(run, {})
        assert (answer.num_steps, answer.num_disagreeing, answer.num_draws) == (NUM_STEPS, 0, 1), name
        assert answer.forecast.x1.mean == answer.recorded.x1
        assert answer.forecast.x2.mean == list(answer.recorded.x2)
        assert answer.forecast.x3.mean == list(answer.recorded.x3)
        assert answer.forecast.reevaluated.mean == list(answer.recorded.reevaluated)
        if name.startswith("bapo"):
            assert answer.forecast.difficult_size.mean == list(answer.recorded.difficult_size)
            assert answer.forecast.high_quality_size.mean == list(answer.recorded.high_quality_size)
            assert sum(answer.recorded.x2) > 0
            assert sum(answer.recorded.x3) > 0


def observed_recording(folder: Path) -> Recording:
    """Record steps of 4, 6 and 5 groups, of which the last is not trained on."""
    with observe.run("theirs", folder=folder) as run:
        for step, size in enumerate((4, 6, 5), 1):
            groups = [Group(f"p{place}", [1, 0], in_batch=(step, place) != (3, 4)) for place in range(size)]
            run.step(step, groups=groups)
    return read_recording(folder)


def test_a_run_of_another_trainer_is_itself_where_nothing_is_changed(tmp_path: Path) -> None:
    answer = what_if(observed_recording(tmp_path), {})
    assert answer.recorded.x1 == answer.forecast.x1.mean == [4, 6, 4]
    # 14 groups of 3 · 4.
    assert answer.totals.fill_rate.recorded == answer.totals.fill_rate.forecast == pytest.approx(14 / 12)
    assert (answer.changes, answer.num_disagreeing) == ({}, 0)


def test_changes_of_a_run_of_another_trainer_are_those_that_a_replay_depends_on(tmp_path: Path) -> None:
    answer = what_if(observed_recording(tmp_path), {"method.type": "bapo", "method.c1": 0.5})
    assert answer.changes["method.type"] == ("observed", "bapo")
    assert answer.changes["method.c1"] == (None, 0.5)
    assert answer.changes.keys() <= set(REPLAYABLE_FIELDS)
