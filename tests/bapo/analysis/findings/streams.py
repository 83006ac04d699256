"""Constructed streams that findings are tested on."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.findings.finding import Found, Outcome
from bapo.analysis.findings.stream import Curve, HeldOutSet, Response, ResponseGroup, RunStream
from bapo.analysis.visits import Visits
from bapo.config import RunConfig, resolve
from bapo.config.task import canonical_form
from benchmarks.findings import word_problem

CONFIG = resolve({"method": {"type": "grpo"}, "rollout": {"max_response_tokens": 100}}).config


def visits_from(counts: Sequence[Sequence[int]], group_size: int = 8) -> Visits:
    """`counts[s][i]`: right responses of prompt i at step s + 1."""
    table = np.array(counts, np.int16)
    num_steps, num_prompts = table.shape
    step = np.repeat(np.arange(1, num_steps + 1, dtype=np.int32), num_prompts)
    return Visits(
        [f"p{index}" for index in range(num_prompts)],
        group_size,
        step,
        np.tile(np.arange(num_prompts, dtype=np.int32), num_steps),
        np.zeros(len(step), np.int8),
        table.ravel(),
        step - 1,
        np.ones(len(step), np.bool_),
    )


def stream(
    counts: Sequence[Sequence[int]] = ((4,),) * 200,
    *,
    metrics: Mapping[str, Sequence[float]] | None = None,
    samples: Sequence[ResponseGroup] = (),
    prompts: Mapping[str, str] | None = None,
    config: RunConfig = CONFIG,
) -> RunStream:
    """A stream; a metric has one value per step, from the first."""
    curves = {
        key: Curve(np.arange(1.0, len(values) + 1), np.array(values, np.float64))
        for key, values in (metrics or {}).items()
    }
    return RunStream(config, visits_from(counts), curves, samples, prompts or {})


def found(outcome: Outcome) -> Found:
    assert isinstance(outcome, Found), outcome
    return outcome


def group(
    prompt: str, answers: Sequence[tuple[str, int]], *, step: int = 1, label: str | None = "7", tokens: int = 50
) -> ResponseGroup:
    responses = [Response(text, reward, tokens + index) for index, (text, reward) in enumerate(answers)]
    return ResponseGroup(prompt, step, step - 1, label, responses)


def boxed(answer: object) -> str:
    return f"so \\boxed{{{answer}}}"


def noisy(values: Sequence[float] | NDArray[np.floating], scale: float = 0.01) -> list[float]:
    noise = np.random.default_rng(7).normal(0, scale, len(values))
    return [float(value) for value in np.array(values) + noise]


def word_problems(count: int, seed: int = 0) -> dict[str, str]:
    draw = random.Random(seed)
    return {f"p{index}": word_problem(draw) for index in range(count)}


def trained_on(
    texts: Mapping[str, str],
    held_out: Mapping[str, str] | None = None,
    answers: Mapping[str, Mapping[str, object]] | None = None,
) -> RunStream:
    """One step of these prompts, and an evaluation with the first half of the held-out ones right."""
    base = stream([[4] * len(texts)], prompts={**texts, **(held_out or {})})
    forms = {name: form for name, answer in (answers or {}).items() if (form := canonical_form(answer)) is not None}
    names = list(held_out or {})
    right = [4 if place < len(names) / 2 else 0 for place in range(len(names))]
    sets = {"exam": HeldOutSet(names, right, 4)} if names else {}
    return base._replace(visits=base.visits._replace(prompt_ids=list(texts)), forms=forms, held_out=sets)
