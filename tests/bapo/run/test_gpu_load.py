"""The load of the GPUs of a run: means over a step, of the GPUs that the run may use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bapo.config import resolve
from bapo.run import gpu_load
from bapo.run.gpu_load import GpuLoad
from tests.support.services import wait_until

TWO_GPUS = "echo $* >>{told}; printf '30, 20, 100\\n50, 60, 100\\n'"


@pytest.fixture(autouse=True)
def _reads_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_load, "INTERVAL_SECONDS", 0.05)


def test_a_step_records_the_mean_over_its_gpus(
    nvidia_smi: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    nvidia_smi(TWO_GPUS.format(told=told))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    # (30 + 50) / 2; (20 + 60) of 200.
    expected = {"gpu_percent": 40.0, "gpu_memory_used_percent": 40.0}
    with GpuLoad(resolve({}).config) as load:
        wait_until(lambda: load.take() == expected)
        # A step that ends before the next reading has the newest one.
        assert load.take() == expected
    assert "--id=2,3" in told.read_text()


@pytest.mark.parametrize(
    ("device", "visible", "answer"),
    [("cpu", None, "echo '1, 2, 3'"), ("auto", "", "echo '1, 2, 3'"), ("auto", None, "exit 9")],
    ids=["trains on the CPU", "may use none", "no driver answers"],
)
def test_without_a_gpu_nothing_is_recorded(
    nvidia_smi: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    device: str,
    visible: str | None,
    answer: str,
) -> None:
    nvidia_smi(answer)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    with GpuLoad(resolve({"engine": {"device": device}}).config) as load:
        if load._thread.ident is not None:
            load._thread.join()
        assert load.take() == {}
