"""Strategies for configs of every method and for streams of accuracies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from bapo.config import ConfigError, RunConfig, resolve

POOL = [f"p{i:02d}" for i in range(12)]
accuracies = st.integers(0, 23).map(lambda n: f"{n}/24")
few = st.integers(1, 4)


@st.composite
def threshold_ranges(draw: st.DrawFn) -> dict[str, list[str]]:
    """Draw `c2` and `c3` whose ranges are not reversed."""
    ends = [sorted(draw(st.tuples(accuracies, accuracies)), key=Fraction) for _ in range(2)]
    return {"c2": [ends[0][0], ends[1][0]], "c3": [ends[0][1], ends[1][1]]}


# BAPO decides the most, so that it comes more often.
KINDS = ["grpo", "grpo_delayed", "dapo", "gspo", "mopps", "ppo", *["bapo"] * 5, "bapo_release", "ba_ppo", "bapo_mini"]


@st.composite
def method_sections(draw: st.DrawFn, kinds: Sequence[str]) -> dict[str, Any]:
    """Draw the section `method` of one of these kinds."""
    kind = draw(st.sampled_from(kinds))
    section: dict[str, Any] = {"type": kind}
    if kind == "mopps":
        section["decay"] = draw(st.floats(0, 1))
    if kind in ("grpo_delayed", "bapo", "bapo_release", "ba_ppo", "bapo_mini"):
        section["v"] = draw(few)
    if kind in ("bapo", "bapo_release", "ba_ppo", "bapo_mini"):
        section |= {
            "m": draw(few),
            "max_reevaluated_prompts": draw(st.integers(0, 6)),
            "difficult_buffer": {"capacity": draw(st.none() | st.integers(1, 8))},
            "high_quality_buffer": {"capacity": draw(st.none() | st.integers(1, 8)), "max_age_steps": draw(few)},
        }
    if kind in ("bapo", "bapo_release", "ba_ppo"):
        section |= draw(threshold_ranges()) | {
            "c1": draw(accuracies),
            "filter": {"type": draw(st.sampled_from(["range", "gaussian", "uniform"]))},
            "without": draw(st.lists(st.sampled_from(["reevaluated", "reused"]), max_size=2)),
        }
    return section


@st.composite
def legal_configs(draw: st.DrawFn, kinds: Sequence[str] = KINDS) -> RunConfig:
    """Draw a config that is accepted."""
    explicit = {
        "method": draw(method_sections(kinds)),
        "rollout": {"group_size": draw(st.sampled_from([2, 4, 8]))},
        "training": {"steps": 99, "batch_size": draw(st.integers(1, 10)), "seed": draw(st.integers(0, 9))},
    }
    try:
        return resolve(explicit).config
    except ConfigError:
        # The one thing that can be wrong: the thresholds admit nothing at all.
        assume(False)
        raise


FreshStream = Sequence[Mapping[str, int]]


@cache
def streams(group_size: int) -> st.SearchStrategy[FreshStream]:
    """Return the strategy for fresh groups of each step: prompt → number of correct responses."""
    steps = st.dictionaries(st.sampled_from(POOL), st.integers(0, group_size), min_size=1)
    return st.lists(steps, min_size=2, max_size=12)
