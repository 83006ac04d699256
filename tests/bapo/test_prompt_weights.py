"""Prompts that come up more or less often than others."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bapo.config import ConfigError, resolve
from bapo.config.prompt_weights import UNIT, parse_weight, texts_of, weight_text, weights_of
from bapo.config.task import CountdownTaskConfig
from bapo.prompt_schedule import PromptSchedule, num_visits, spread
from bapo.tasks import build_task
from bapo.tasks.base import Problem

PROBLEMS = [Problem(f"p{i}", "source", f"prompt {i}", {}) for i in range(10)]


def schedule(weights: dict[str, float], *, batch_size: int = 4, seed: int = 42) -> PromptSchedule:
    return PromptSchedule(PROBLEMS, batch_size=batch_size, seed=seed, weights=weights)


def visits_of(ours: PromptSchedule, num_epochs: int) -> Counter[str]:
    steps = range(1, num_epochs * ours.steps_per_epoch + 1)
    return Counter(problem.prompt_id for step in steps for problem in ours.batch(step))


# ---------------------------------------------------------------- how often


def test_visits_are_in_proportion_to_the_weights_on_average_exactly() -> None:
    # N = 4, Σw = 3 + 1 + 1 + 1 = 6: q = 4·3/6 = 2, and 4·1/6 = 2/3 for each of the others. Over draws that are evenly
    # spaced, each of these three has 2/3 of a visit on average.
    weights = [3 * UNIT, UNIT, UNIT, UNIT]
    seen = [num_visits(weights, 2, draw / 12) for draw in range(12)]
    assert all(counts[0] == 2 and sum(counts) == 4 and set(counts[1:]) == {0, 1} for counts in seen)
    assert [sum(counts[place] for counts in seen) for place in range(4)] == [24, 8, 8, 8]


def test_a_prompt_comes_at_most_once_in_a_full_batch_and_the_rest_is_shared() -> None:
    # N = 6 in batches of 2 are 3 full ones. Of weights 8, 2, 1, 1, 0.5, 0.5 (Σ = 13) the first would come 6·8/13 = 3.7
    # times: it comes 3 times, and the other 3 visits are shared 2 : 1 : 1 : 0.5 : 0.5, so that the second has
    # 3·2/5 = 1.2 of them.
    weights = [8_000, 2_000, 1_000, 1_000, 500, 500]
    seen = [num_visits(weights, 3, draw / 10) for draw in range(10)]
    assert {counts[0] for counts in seen} == {3}
    assert sum(counts[1] for counts in seen) == 12
    assert all(sum(counts) == 6 for counts in seen)


def test_where_a_batch_is_all_of_the_data_weights_say_nothing() -> None:
    assert num_visits([8_000, 1_000, 1], 1, 0.9) == [1, 1, 1]
    ours = schedule({"p3": 5.0}, batch_size=10)
    assert visits_of(ours, 3) == dict.fromkeys((problem.prompt_id for problem in PROBLEMS), 3)


def test_over_many_epochs_twice_the_weight_is_twice_the_visits() -> None:
    # Σw = 2 + 0.5 + 8·1 = 10.5: q = 10·2/10.5 = 1.905, 0.476 and 0.952 an epoch; in 400 epochs 762, 190 and 381.
    seen = visits_of(schedule({"p1": 2.0, "p2": 0.5}), 400)
    assert sum(seen.values()) == 4_000
    assert seen["p1"] == pytest.approx(762, abs=25)
    assert seen["p2"] == pytest.approx(190, abs=35)
    assert seen["p5"] == pytest.approx(381, abs=25)


# ---------------------------------------------------------------- in which order


def test_weights_of_one_are_the_order_without_weights() -> None:
    plain = PromptSchedule(PROBLEMS, batch_size=4, seed=42)
    for weights in ({"p1": 1.0}, {problem.prompt_id: 7.5 for problem in PROBLEMS}, {"unknown": 3.0}):
        weighted = schedule(weights)
        assert [list(weighted.batch(step)) for step in range(1, 13)] == [
            list(plain.batch(step)) for step in range(1, 13)
        ]


def test_copies_are_spread_over_the_epoch() -> None:
    # Place 1 comes twice in 8: due at (0 + 1.5/8)/2 = 0.09 and (1 + 1.5/8)/2 = 0.59 of the epoch; the others at
    # (r + ½)/8, so that it is the second and the sixth.
    assert spread([1, 2, 1, 1, 1, 1, 1, 0], 2) == [0, 1, 2, 3, 4, 1, 5, 6]


def test_a_prompt_of_every_batch_comes_once_in_each() -> None:
    # Five batches of 2: place 0 must come in all of them.
    order = spread([5, 1, 1, 1, 1, 1, 0, 0, 0, 0], 2)
    assert all(0 in order[start : start + 2] for start in range(0, 10, 2))


@given(
    st.lists(st.sampled_from([1, 250, 1_000, 1_000, 3_000, 1_000_000]), min_size=1, max_size=60),
    st.integers(1, 20),
    st.floats(0, 1, exclude_max=True),
)
def test_no_batch_has_a_prompt_twice(weights: list[int], batch_size: int, draw: float) -> None:
    most = max(1, len(weights) // batch_size)
    counts = num_visits(weights, most, draw)
    assert sum(counts) == len(weights)
    assert max(counts) <= most
    order = spread(counts, batch_size)
    assert Counter(order) == Counter({place: count for place, count in enumerate(counts) if count})
    for start in range(0, len(order), batch_size):
        batch = order[start : start + batch_size]
        assert len(set(batch)) == len(batch)


def test_any_step_can_be_asked_for_first() -> None:
    weights = {"p1": 3.0, "p4": 0.25}
    in_order = schedule(weights)
    all_steps = {step: list(in_order.batch(step)) for step in range(1, 10)}
    resumed = schedule(weights)
    for step in (8, 2, 9, 1):
        assert list(resumed.batch(step)) == all_steps[step]


# ---------------------------------------------------------------- in a config


def test_weights_are_texts_that_read_back() -> None:
    weights = {"gsm8k:1f": 2.0, "a=b:2e": 0.125, "web, 2024:3d": 0.0}
    assert texts_of(weights) == ["gsm8k:1f=2", "a=b:2e=0.125", "web, 2024:3d=0"]
    assert weights_of(texts_of(weights)) == weights
    assert weight_text(1_000.0) == "1000"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("-1", "give 0 to leave the prompt out"),
        ("1000.001", "give 0 to leave the prompt out"),
        ("0.0005", "in thousandths"),
        ("NaN", "the weight NaN is none"),
        ("two", "is no number"),
    ],
)
def test_a_weight_that_is_none_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_weight(text)


@pytest.mark.parametrize(
    ("texts", "said"),
    [(["a:1"], "has no weight: write ID=WEIGHT"), (["a:1=2", "a:1=3"], "listed twice"), (["=2"], "has no weight")],
)
def test_texts_that_are_no_weights_are_refused(texts: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        resolve({"task": {"prompt_weights": texts}})
    assert caught.value.problems[0].field == "task.prompt_weights"


def test_a_method_that_chooses_prompts_itself_refuses_weights_and_takes_quarantine() -> None:
    resolve({"task": {"prompt_weights": ["a:1=0", "a:2=1"]}, "method": {"type": "mopps"}})
    for method in ("mopps", "dots"):
        with pytest.raises(ConfigError, match="selects prompts itself and ignores weights"):
            resolve({"task": {"prompt_weights": ["a:1=2"]}, "method": {"type": method}})


SECTION = CountdownTaskConfig(num_train=20, num_test=4)


def test_a_weight_of_0_leaves_the_problem_out() -> None:
    every = [problem.prompt_id for problem in build_task(SECTION).train]
    changed = {"exclude_prompts": (every[3],), "prompt_weights": (f"{every[7]}=0", f"{every[8]}=2", "other:1=0")}
    section = SECTION.model_copy(update=changed)
    assert [problem.prompt_id for problem in build_task(section).train] == [*every[:3], *every[4:7], *every[8:]]
    assert section.weights == {every[8]: 2.0}


def test_weights_of_other_data_and_a_list_without_its_entries_are_refused() -> None:
    with pytest.raises(ConfigError, match="none of them is a training problem") as caught:
        build_task(SECTION.model_copy(update={"prompt_weights": ("other:1=2",)}))
    assert caught.value.problems[0].field == "task.prompt_weights"
    every = [problem.prompt_id for problem in build_task(SECTION).train]
    for changed in ({"prompt_list": "@hard:2"}, {"prompt_list": "@hard", "prompt_weights": (f"{every[0]}=2",)}):
        with pytest.raises(ConfigError, match="its entries are not in the config: submit the run to its server"):
            build_task(SECTION.model_copy(update=changed))
    # As a server leaves it.
    section = SECTION.model_copy(update={"prompt_list": "@hard:2", "prompt_weights": (f"{every[0]}=0",)})
    assert len(build_task(section).train) == 19
