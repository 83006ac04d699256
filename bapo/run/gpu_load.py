"""The load of the GPUs that a run trains on, read in the background during training, for both engines."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from statistics import fmean
from typing import NamedTuple, Self

from bapo.config import RunConfig
from bapo.run.nvidia_smi import number, query

INTERVAL_SECONDS = 5.0


class _Reading(NamedTuple):
    """Means over the GPUs, in percent."""

    load: float
    memory_used: float


class GpuLoad:
    """Asks the driver every few seconds in a thread, so that no step waits for it.

    Of a Ray cluster's GPUs it sees those of the trainer's machine.
    """

    def __init__(self, config: RunConfig) -> None:
        self._gpus = os.environ.get("CUDA_VISIBLE_DEVICES")
        """Indices or UUIDs; None: all of the machine."""
        self._is_wanted = config.engine.device != "cpu" and self._gpus != ""
        self._readings: list[_Reading] = []
        self._taken: list[_Reading] = []
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._read, name="GPU load", daemon=True)

    def __enter__(self) -> Self:
        if self._is_wanted:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()

    def take(self) -> Mapping[str, float]:
        """Return means since the last call, or the newest reading; nothing where no driver answers."""
        with self._lock:
            # A step that is shorter than the interval has no reading.
            readings = self._readings or self._taken
            self._readings, self._taken = [], readings[-1:]
        if not readings:
            return {}
        return {
            "gpu_percent": fmean(each.load for each in readings),
            "gpu_memory_used_percent": fmean(each.memory_used for each in readings),
        }

    def _read(self) -> None:
        while True:
            rows = query("utilization.gpu", "memory.used", "memory.total", gpus=self._gpus)
            if not rows:
                return
            values = [number(value) for row in rows for value in row]
            known = [value for value in values if value is not None]
            if len(known) == len(values):
                load, used, total = known[::3], known[1::3], known[2::3]
                with self._lock:
                    self._readings.append(_Reading(fmean(load), 100 * sum(used) / sum(total)))
            if self._end.wait(INTERVAL_SECONDS):
                return
