"""Curves: one quantity at several sizes of the work, and how fast it grows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median

import numpy as np

from bapo.config import RunConfig
from benchmarks.api_reads import milliseconds
from benchmarks.deployment import Deployment
from benchmarks.volume import config_of

Curves = dict[str, dict[int, float]]
"""A number by size, of each quantity; milliseconds where its name says nothing else."""

BATCH_SIZE, NUM_PROMPTS = 32, 4096
REPETITIONS, QUICK_REPETITIONS = 20, 7
MEMORY = "server's memory, MiB"


def median_milliseconds(ask: Callable[[], object], *, quick: bool) -> float:
    """Return the median time of a call in milliseconds, after some uncounted calls."""
    return median(milliseconds(ask, QUICK_REPETITIONS if quick else REPETITIONS))


def once(ask: Callable[[], object]) -> float:
    """Return the duration of one call in milliseconds."""
    begin = time.perf_counter()
    ask()
    return 1000 * (time.perf_counter() - begin)


def exponent(curve: Mapping[int, float]) -> float:
    """Return the slope of a quantity over sizes on logarithmic axes: 0 is constant, 1 grows with the size."""
    slope, _ = np.polyfit(np.log(list(curve)), np.log(list(curve.values())), 1)
    return float(slope)


def note_memory(curves: Curves, server: Deployment, size: int) -> None:
    """Record the memory of the server process after the work of this size."""
    curves.setdefault(MEMORY, {})[size] = server.memory_mib()


def small_config(steps: int) -> RunConfig:
    """Return the config of a small run, for many runs."""
    return config_of(steps=steps, batch_size=BATCH_SIZE)
