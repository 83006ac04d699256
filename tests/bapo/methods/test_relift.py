"""ReLIFT's buffer by hand: G = 4, supervised steps of three demonstrations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bapo.methods.relift import Relift
from bapo.rollout import RolloutGroup
from tests.bapo.methods.replaying import config, group, resumed, take_step


def settings(**own: Any) -> Any:
    return config({"type": "relift", "supervised_batch_size": 3, **own})


def fresh(step: int, **rewards: str) -> list[RolloutGroup]:
    """Groups whose prompts have a demonstration: `fresh(1, a="0000")`."""
    return [replace(group(name, each, step), has_demonstration=True) for name, each in rewards.items()]


def supervised(method: Relift, step: int, groups: Sequence[RolloutGroup]) -> Sequence[str]:
    return take_step(method, step, groups).supervised


def test_a_supervised_step_takes_the_newest_unsolved_prompts_as_soon_as_it_has_enough() -> None:
    method = Relift(settings())
    # Only prompts with no right response wait.
    assert supervised(method, 1, fresh(1, a="0000", b="0000", c="0001")) == ()
    # c, d, a, b wait now, and the first three are taken.
    assert supervised(method, 2, fresh(2, c="0000", d="0000")) == ["c", "d", "a"]
    # b is left, and waits behind newer ones.
    assert supervised(method, 3, fresh(3, e="0000")) == ()
    assert supervised(method, 4, fresh(4, f="0000", g="1111")) == ["f", "e", "b"]
    assert supervised(method, 5, fresh(5, h="0000", i="0000")) == ()


def test_a_prompt_waits_once_and_as_of_its_latest_failure() -> None:
    method = Relift(settings())
    assert supervised(method, 1, fresh(1, a="0000", b="0000")) == ()
    assert supervised(method, 2, fresh(2, a="0000")) == ()
    assert supervised(method, 3, fresh(3, c="0000")) == ["c", "a", "b"]


def test_prompts_without_a_demonstration_never_wait() -> None:
    method = Relift(settings())
    assert supervised(method, 1, [group(name, "0000", 1) for name in "abc"]) == ()


def test_the_training_batch_size_is_the_usual_number_of_demonstrations() -> None:
    method = Relift(settings(supervised_batch_size=None))
    assert supervised(method, 1, fresh(1, a="0000", b="0000", c="0000")) == ()
    assert supervised(method, 2, fresh(2, d="0000")) == ["d", "a", "b", "c"]


def test_the_batch_itself_is_grpos() -> None:
    batch = take_step(Relift(settings()), 1, fresh(1, a="0000", b="0011", c="1111"))
    assert [(item.group.prompt_id, item.advantages, item.demonstration) for item in batch.items] == [
        ("a", None, None),
        ("b", None, None),
        ("c", None, None),
    ]


def test_a_resumed_method_goes_on_alike() -> None:
    chosen = settings()
    method = Relift(chosen)
    supervised(method, 1, fresh(1, a="0000", b="0000"))
    copy = resumed(method, chosen)
    for step in (2, 3):
        groups = fresh(step, c="0000", d="0000")
        assert take_step(copy, step, groups) == take_step(method, step, groups)
        assert copy.state_dict() == method.state_dict()
