"""What both engines make of a batch before they train on it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from bapo.config import RunConfig, apply_changes
from bapo.engines.base import BatchItem
from bapo.rollout import BatchSource, RolloutGroup
from tests.support.late_imports import late_imports

with late_imports():
    from bapo.engines.shaping import shaped_batch


class Response(NamedTuple):
    reward: int
    length: int
    ended: bool


def config(**changes: Any) -> RunConfig:
    settings: dict[str, Any] = {"method.type": "dapo", "rollout.max_response_tokens": 4}
    return RunConfig.model_validate(apply_changes({}, settings | {k.replace("__", "."): v for k, v in changes.items()}))


def shaped(groups: Mapping[str, Sequence[Response]], run: RunConfig) -> Sequence[BatchItem]:
    batch = [
        BatchItem(RolloutGroup(name, sum(r.reward for r in each), len(each), 0, 1, None), BatchSource.FRESH)
        for name, each in groups.items()
    ]
    return shaped_batch(batch, run, lambda item: groups[item.group.prompt_id])


SHORT_AND_LONG = [Response(1, 2, True), Response(1, 4, True), Response(0, 2, True), Response(0, 4, False)]


def test_without_either_a_batch_stays_as_it_is() -> None:
    (item,) = shaped({"a": SHORT_AND_LONG}, config())
    assert (item.responses, item.advantages) == (None, None)


def test_long_responses_lose_advantage() -> None:
    # Over the last token before the limit of 4, rewards 1, 1, 0, 0 become 1, 0, 0, -1: mean 0, variance 1/2.
    (item,) = shaped({"a": SHORT_AND_LONG}, config(method__overlong_buffer_tokens=1))
    assert item.advantages == pytest.approx([math.sqrt(2), 0, 0, -math.sqrt(2)], abs=1e-5)


def test_overlong_filtering_leaves_cut_responses_out_and_keeps_the_advantages_of_the_whole_group() -> None:
    groups = {"a": SHORT_AND_LONG, "cut": [Response(0, 4, False)] * 4}
    (item,) = shaped(groups, config(loss__drops_overlong=True))
    # A response that ends with its last token is not cut. Rewards 1, 1, 0, 0 of all four: advantages ±1.
    assert item.responses == (0, 1, 2)
    assert item.advantages == pytest.approx([1, 1, -1], abs=1e-5)


def test_a_batch_that_was_cut_altogether_has_no_advantages() -> None:
    (item,) = shaped(
        {"a": [Response(0, 4, False)] * 4, "b": [Response(0, 4, False)] * 4}, config(loss__drops_overlong=True)
    )
    assert item.advantages == (0.0,) * 4


def test_the_release_of_bapo_divides_by_the_sample_deviation() -> None:
    # Rewards 1, 1, 0, 0: sample variance 4·(1/4)/3 = 1/3.
    (item,) = shaped({"a": SHORT_AND_LONG}, config(method__type="bapo_release"))
    half = 0.5 / math.sqrt(1 / 3 + 1e-6)
    assert item.advantages == pytest.approx([half, half, -half, -half])
