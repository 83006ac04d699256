"""Selects the past responses of a prompt that RePO trains on again (arXiv:2506.09340)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice
from typing import Literal, NamedTuple

from bapo.rollout import RolloutGroup

Strategy = Literal["full", "recency", "reward", "variance"]


class Retrieved(NamedTuple):
    """Responses of one stored group."""

    group: RolloutGroup
    responses: tuple[int, ...]
    """Positions in the group, ascending."""


def retrieve(strategy: Strategy, past: Sequence[RolloutGroup], limit: int) -> list[Retrieved]:
    """Return at most `limit` responses of the past groups (oldest first), newest groups first; `full` takes all.

    `recency`: the newest. `reward`: the right ones, then wrong ones. `variance`: those with the largest variance of
    rewards; of two such choices the one with more right responses. Where a strategy leaves a choice, newer ones.
    """
    newest_first = list(reversed(past))
    if strategy == "full":
        return [Retrieved(group, tuple(range(group.group_size))) for group in newest_first]
    places = [(age, position) for age, group in enumerate(newest_first) for position in range(group.group_size)]
    if strategy == "recency":
        chosen = places[:limit]
    else:
        rewards = [group.rewards for group in newest_first]
        right = [place for place in places if rewards[place[0]][place[1]]]
        wrong = [place for place in places if not rewards[place[0]][place[1]]]
        size = min(limit, len(places))
        num_right = min(size, len(right)) if strategy == "reward" else _most_varied(size, len(right), len(wrong))
        chosen = list(chain(islice(right, num_right), islice(wrong, size - num_right)))
    positions: dict[int, list[int]] = {}
    for age, position in sorted(chosen):
        positions.setdefault(age, []).append(position)
    return [Retrieved(newest_first[age], tuple(members)) for age, members in positions.items()]


def _most_varied(size: int, num_right: int, num_wrong: int) -> int:
    """Return how many of `size` responses are correct at the largest variance c(n - c)/n²: half, rounded up."""
    fewest, most = max(0, size - num_wrong), min(size, num_right)
    return min(max((size + 1) // 2, fewest), most)
