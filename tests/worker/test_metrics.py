"""What a worker tells those who watch it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.waiting import PATIENCE_SECONDS
from worker import health
from worker.gpu_readings import GpuReading, as_system, gpu_readings
from worker.metrics import WorkerState, serve

STATE = WorkerState(slots=2, trainers=1, gpus=0, seconds_since_heartbeat=3.0, upload_lag_bytes=17)


@contextmanager
def serving(state: WorkerState = STATE, token_file: Path | None = None) -> Iterator[str]:
    server = serve("127.0.0.1", 0, token_file, lambda: state)
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def test_metrics_tell_slots_trainers_and_lag() -> None:
    with serving() as url:
        families = text_string_to_metric_families(httpx.get(f"{url}/metrics", timeout=60).text)
        found = {sample.name: sample.value for family in families for sample in family.samples}
        assert httpx.get(f"{url}/elsewhere", timeout=60).status_code == 404
    assert found["bapo_worker_slots"] == 2
    assert found["bapo_worker_trainers"] == 1
    assert found["bapo_worker_upload_lag_bytes"] == 17
    assert found["bapo_worker_heartbeat_age_seconds"] == 3


@pytest.mark.parametrize(("age", "status"), [(0.0, 200), (60.0, 200), (60.1, 503), (None, 503)])
def test_health_follows_the_heartbeat(age: float | None, status: int) -> None:
    state = WorkerState(1, 0, 0, age, 0)
    with serving(state) as url:
        assert httpx.get(f"{url}/healthz", timeout=60).status_code == status


def test_a_token_guards_the_metrics(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("t" * 43 + "\n")
    with serving(token_file=file) as url:
        assert httpx.get(f"{url}/metrics", timeout=60).status_code == 401
        assert httpx.get(f"{url}/metrics", headers={"Authorization": "Bearer wrong"}, timeout=60).status_code == 401
        assert (
            httpx.get(f"{url}/metrics", headers={"Authorization": f"Bearer {'t' * 43}"}, timeout=60).status_code == 200
        )
        assert httpx.get(f"{url}/healthz", timeout=60).status_code == 200


def test_other_machines_are_not_let_in_without_a_token() -> None:
    with pytest.raises(ValueError, match="BAPO_METRICS_TOKEN_FILE"):
        serve("10.0.0.1", 0, None, lambda: STATE)


def test_the_driver_is_read(nvidia_smi: Callable[[str], None]) -> None:
    nvidia_smi("printf '0, 37, 1, 2, 41\\n3, [N/A], 1, 2, [Not Supported]\\n'")
    # 1 MiB = 1,048,576 bytes.
    busy = GpuReading(0, 37.0, 1_048_576.0, 2_097_152.0, 41.0)
    silent = GpuReading(3, None, 1_048_576.0, 2_097_152.0, None)
    assert gpu_readings() == [busy, silent]
    # As a heartbeat carries it, by the driver's number.
    assert as_system([busy, silent]) == {
        "gpu_0_percent": 37.0,
        "gpu_0_memory_used_bytes": 1_048_576.0,
        "gpu_3_memory_used_bytes": 1_048_576.0,
    }


@pytest.mark.parametrize(
    ("script", "expected", "patience_seconds"),
    [
        ("echo '1, 50, 3, 4, 60'", [50.0], PATIENCE_SECONDS),
        ("exit 9", [], PATIENCE_SECONDS),
        ("exec sleep 600", [], 0.2),
    ],
    ids=["answers", "fails", "hangs"],
)
def test_a_driver_that_does_not_answer_holds_up_nobody(
    nvidia_smi: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    expected: list[float],
    patience_seconds: float,
) -> None:
    nvidia_smi(script)
    monkeypatch.setattr("bapo.run.nvidia_smi.PATIENCE_SECONDS", patience_seconds)
    assert [each.load_percent for each in gpu_readings()] == expected


def test_a_health_check_imports_no_settings(tmp_path: Path) -> None:
    code = "import sys; from worker.__main__ import main; main(sys.argv[1:]); print(*sys.modules)"
    command = [sys.executable, "-c", code, "health", "--folder", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not {"pydantic", "httpx", "celery", "asyncio"} & set(done.stdout.split())


def test_the_health_command_follows_the_stamp(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert health.check_health(tmp_path) == 1
    assert "has been heard by its server yet" in capsys.readouterr().err
    health.stamp(tmp_path)
    now = [(tmp_path / health.STAMP_FILE).stat().st_mtime]
    monkeypatch.setattr(health, "time", SimpleNamespace(time=lambda: now[0]))
    now[0] += health.STALE_AFTER_SECONDS
    assert health.check_health(tmp_path) == 0
    now[0] += 5.0
    assert health.check_health(tmp_path) == 1
    assert "65 s ago" in capsys.readouterr().err
