"""What cannot run is refused with the field that says so, and nothing goes on running."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from bapo.config import ConfigError, RunConfig, apply_changes, resolve
from bapo.tasks import build_task


def _config(**changes: Any) -> RunConfig:
    changes = {name.replace("__", "."): each for name, each in changes.items()}
    return resolve(apply_changes({}, {"engine.type": "verl", "task.num_train": 8, "task.num_test": 8} | changes)).config


def test_a_model_that_is_not_there_is_refused_before_anything_starts(tmp_path: Path) -> None:
    from bapo.run.engine import build_engine  # noqa: PLC0415

    config = _config(model__path=str(tmp_path / "missing"))
    before = set(psutil.Process().children(recursive=True))
    with pytest.raises(ConfigError, match=r"model\.path = "):
        build_engine(config, build_task(config.task))
    assert set(psutil.Process().children(recursive=True)) <= before


def test_a_ray_cluster_that_does_not_answer_is_refused() -> None:
    from bapo.engines.verl.cluster import Cluster  # noqa: PLC0415

    # Port 9 takes no connections.
    config = _config(engine__verl__ray_address="127.0.0.1:9")
    with pytest.raises(ConfigError, match=r"engine\.verl\.ray_address = .*no Ray cluster answers there"):
        Cluster(config, on_cpu=True)


def test_a_start_that_takes_too_long_ends_with_what_ray_has_free() -> None:
    from bapo.run.engine import build_engine  # noqa: PLC0415

    config = _config(engine__verl__start_seconds=1)
    before = set(psutil.Process().children(recursive=True))
    # No machine starts seven processes that import vLLM within a second.
    expected = (
        r"did not start: not ready after 1 s, .*engine\.verl\.start_seconds allows; Ray has \d+ GPUs and \d+ CPUs"
    )
    with pytest.raises(RuntimeError, match=expected):
        build_engine(config, build_task(config.task))
    assert set(psutil.Process().children(recursive=True)) <= before


def test_a_limit_on_the_start_leaves_anothers_alarm_as_it_was() -> None:
    from bapo.engines.verl.cluster import start_limit  # noqa: PLC0415

    def other(*_: object) -> None:
        raise AssertionError("an hour has not passed")

    before = signal.signal(signal.SIGALRM, other)
    timer = signal.setitimer(signal.ITIMER_REAL, 3600)
    try:
        with start_limit(1000):
            pass
        remaining, _ = signal.getitimer(signal.ITIMER_REAL)
        assert 3000 < remaining <= 3600
        assert signal.getsignal(signal.SIGALRM) is other
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *timer)


def test_more_gpus_than_there_are_are_refused_and_nothing_goes_on_running() -> None:
    from bapo.engines.verl.cluster import Cluster  # noqa: PLC0415

    before = set(psutil.Process().children(recursive=True))
    with pytest.raises(ConfigError, match=r"engine\.verl\.gpus_per_node = 64: 1 machine.*Ray's have 0: ask for fewer"):
        Cluster(_config(engine__verl__gpus_per_node=64), on_cpu=False)
    assert set(psutil.Process().children(recursive=True)) <= before
