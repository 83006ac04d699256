"""Estimates of a what-if against what really happens: intervals that hold, and DAPO against a run of DAPO."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bapo import observe
from bapo.analysis.visits import Visits
from bapo.analysis.what_if.answer import WhatIfAnswer, WhatIfTotal
from bapo.analysis.what_if.forecast import what_if
from bapo.analysis.what_if.recording import BufferSizes, Recording, read_recording
from bapo.config import resolve
from bapo.observe import Group
from tests.support.simulated_trainer import train
from tests.support.small_runs import config_of

NUM_RUNS, STEPS, PER_STEP, G = 40, 12, 24, 8
# With a chance of 0.9 each, 36 of 40 intervals hold the truth, ± 1.9; three deviations below are 30.3.
LEAST_HELD = 31

Rates = NDArray[np.float64]


def rates_of(draws: np.random.Generator, num: int) -> Rates:
    """Draw pass rates: a third of the prompts are never right, the others are spread out."""
    return np.where(draws.random(num) < 1 / 3, 0.0, draws.beta(0.8, 1.2, num))


def grpo_run(seed: int, rates: Rates | None = None) -> tuple[Recording, Rates, np.random.Generator]:
    """Draw a run of GRPO in which no prompt comes twice; and its prompts' true pass rates."""
    draws = np.random.default_rng(seed)
    num = STEPS * PER_STEP
    rates = rates_of(draws, num) if rates is None else rates
    sizes = {"batch_size": PER_STEP}
    config = resolve({"method": {"type": "grpo"}, "rollout": sizes, "training": sizes | {"seed": seed}}).config
    visits = Visits(
        [f"{seed}:{place}" for place in range(num)],
        G,
        np.repeat(np.arange(1, STEPS + 1, dtype=np.int32), PER_STEP),
        np.arange(num, dtype=np.int32),
        np.zeros(num, np.int8),
        draws.binomial(G, rates).astype(np.int16),
        np.zeros(num, np.int32),
        np.ones(num, np.bool_),
    )
    return Recording(visits, config, [], BufferSizes([None] * STEPS, [None] * STEPS)), rates, draws


def holds(total: WhatIfTotal, truth: float) -> bool:
    assert total.estimated
    return total.low <= truth <= total.high


@pytest.mark.parametrize("group_size", [4, 16])
def test_nine_of_ten_intervals_hold_the_share_that_groups_of_another_size_find(group_size: int) -> None:
    held = 0
    for seed in range(NUM_RUNS):
        run, rates, draws = grpo_run(seed)
        truth = draws.binomial(group_size, rates)
        share = float(((truth > 0) & (truth < group_size)).mean())
        held += holds(what_if(run, {"rollout.group_size": group_size}).totals.gradient_share, share)
    assert held >= LEAST_HELD


def test_nine_of_ten_intervals_hold_what_further_rounds_of_dapo_cost() -> None:
    held = 0
    for seed in range(NUM_RUNS):
        run, _, draws = grpo_run(seed)
        num_groups = 0
        for mixed in run.stream.recorded.mixed.tolist():
            found, rounds = mixed, 1
            while found < PER_STEP and rounds < 4:
                counts = draws.binomial(G, rates_of(draws, PER_STEP))
                found, rounds = found + int(((counts > 0) & (counts < G)).sum()), rounds + 1
            num_groups += rounds * PER_STEP
        held += holds(what_if(run, {"method.type": "dapo"}).totals.rollouts, G * num_groups)
    assert held >= LEAST_HELD


def test_a_total_over_known_pass_rates_is_what_arithmetic_says() -> None:
    # Half of 288 prompts are never right and half every second time: with two responses such a coin has a gradient
    # with a chance of 1/2, so that a quarter of all groups have one.
    run, *_ = grpo_run(0, np.arange(STEPS * PER_STEP) % 2 / 2)
    answer = what_if(run, {"rollout.group_size": 2}, draws=100)
    assert answer.totals.gradient_share.forecast == pytest.approx(0.25, abs=0.03)
    assert (answer.group_size_recorded, answer.group_size) == (8, 2)
    # 288 groups of 2 responses, whatever they find.
    assert answer.totals.rollouts.forecast == answer.totals.rollouts.high == 576
    assert not answer.totals.rollouts.estimated


def test_what_other_sizes_find_is_an_estimate_in_every_step_and_their_cost_is_not() -> None:
    run, *_ = grpo_run(1)
    answer = what_if(run, {"rollout.group_size": 16})
    assert (answer.estimated, answer.num_draws, answer.exact_through) == (True, 20, 0)
    assert answer.num_drawn_groups == STEPS * PER_STEP
    assert not any(answer.forecast.gradient_share.is_exact)
    # Each group of GRPO is trained on, whatever its responses.
    assert all(answer.forecast.x1.is_exact)
    assert all(answer.forecast.rollouts.is_exact)
    assert answer.forecast.rollouts.mean[-1] == 16 * STEPS * PER_STEP
    assert what_if(run, {"rollout.group_size": 16}) == answer


def test_intervals_far_beyond_the_recorded_size_come_with_a_warning() -> None:
    run, *_ = grpo_run(1)
    near, far = (what_if(run, {"rollout.group_size": size}).warnings for size in (16, 17))
    assert near == []
    assert [(each.field, each.value) for each in far] == [("rollout.group_size", 17)]
    assert "up to 16 they hold" in far[0].remedy


def test_dapo_is_exact_where_the_recorded_round_fills_the_batch() -> None:
    run, *_ = grpo_run(2)
    least, most = run.stream.recorded.mixed.min(), run.stream.recorded.mixed.max()
    easy = what_if(run, {"method.type": "dapo", "training.batch_size": int(least)})
    assert (easy.estimated, easy.num_draws) == (False, 1)
    assert easy.totals.fill_rate.forecast == 1
    assert easy.totals.rollouts.forecast == easy.totals.rollouts.recorded
    # Some steps need further rounds, and others none.
    hard = what_if(run, {"method.type": "dapo", "training.batch_size": int(most)})
    needs = (run.stream.recorded.mixed < most).tolist()
    assert hard.forecast.x1.is_exact == hard.forecast.fill_rate.is_exact == [not each for each in needs]
    # One round alone is what was recorded.
    one = what_if(run, {"method.type": "dapo", "method.max_rounds": 1})
    assert not one.estimated
    assert one.forecast.x1.mean == run.stream.recorded.mixed.tolist()


def test_dapo_asks_for_as_many_prompts_as_a_round_has_until_the_rounds_end() -> None:
    run, *_ = grpo_run(3)
    answer = what_if(run, {"method.type": "dapo", "training.batch_size": 10_000, "method.max_rounds": 3})
    # B is never reached: every step has three rounds.
    assert answer.totals.fresh.forecast == answer.totals.fresh.low == 3 * STEPS * PER_STEP
    assert answer.num_drawn_groups == 2 * STEPS * PER_STEP


RUN = {
    "task.num_train": 2_000,
    "task.num_test": 4,
    "tracking.num_prompts": 0,
    "evaluation.num_samples": 1,
    "evaluation.interval": 100,
    "training.steps": 30,
    "training.checkpoint_interval": 100,
    "training.batch_size": 16,
    "rollout.batch_size": 16,
    "rollout.group_size": 8,
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Recording]:
    """The same run by GRPO and by DAPO, on the simulated engine."""
    folder = tmp_path_factory.mktemp("runs")
    found = {}
    for method in ("grpo", "dapo"):
        (folder / method).mkdir()
        assert train(folder / method, config_of(RUN, {"method.type": method})).status == "succeeded"
        found[method] = read_recording(folder / method)
    return found


def recorded(answer: WhatIfAnswer, name: str) -> float:
    value: float | None = getattr(answer.totals, name).recorded
    assert value is not None
    return value


def test_a_run_of_grpo_forecasts_a_real_run_of_dapo(runs: dict[str, Recording]) -> None:
    truth = what_if(runs["dapo"], {})
    forecast = what_if(runs["grpo"], {"method.type": "dapo"})
    assert 0 < forecast.num_drawn_groups < 3 * 30 * 16
    for name in ("fresh", "rollouts", "fill_rate", "trained", "gradient_share"):
        assert holds(getattr(forecast.totals, name), recorded(truth, name)), name
    # Far more than GRPO took.
    assert forecast.totals.rollouts.low > 1.2 * recorded(forecast, "rollouts")


def test_a_run_of_dapo_is_itself_where_nothing_is_changed(runs: dict[str, Recording]) -> None:
    answer = what_if(runs["dapo"], {})
    assert (answer.estimated, answer.num_disagreeing, answer.changes) == (False, 0, {})
    for name in ("fill_rate", "trained", "fresh", "gradient_share", "rollouts"):
        total = getattr(answer.totals, name)
        assert total.recorded == total.low == total.forecast == total.high, name
    assert answer.forecast.rollouts.mean == answer.recorded.rollouts


def test_fewer_rounds_of_dapo_are_the_first_ones_that_were_recorded(runs: dict[str, Recording]) -> None:
    run = runs["dapo"]
    one, grpo = what_if(run, {"method.max_rounds": 1}), what_if(run, {"method.type": "grpo"})
    for answer in (one, grpo):
        assert not answer.estimated
        # 30 steps of 16 prompts, answered 8 times.
        assert answer.totals.rollouts.forecast == 30 * 16 * 8
    assert one.totals.gradient_share == grpo.totals.gradient_share
    more = what_if(run, {"method.max_rounds": 8, "training.batch_size": 32})
    assert more.estimated
    assert more.totals.rollouts.low > recorded(more, "rollouts")


def test_dapo_of_another_trainers_run_takes_each_step_as_its_first_round(tmp_path: Path) -> None:
    with observe.run("theirs", folder=tmp_path) as run:
        for step, size in enumerate((4, 6, 5), 1):
            run.step(step, groups=[Group(f"p{step}-{place}", [1, 0]) for place in range(size)])
    answer = what_if(read_recording(tmp_path), {"method.type": "dapo"})
    # All groups are mixed, and B is 4.
    assert (answer.estimated, answer.forecast.x1.mean) == (False, [4, 4, 4])
    assert answer.totals.fresh.forecast == answer.totals.fresh.recorded == 15
