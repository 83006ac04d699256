"""Each image imports what it runs, as its account and with nothing to write to."""

from __future__ import annotations

import pytest

from tests.containers.product import SERVER, WORKER
from tests.containers.stand_ins import docker, done

pytestmark = [pytest.mark.containers, pytest.mark.timeout(1500)]
HARDENED = ("--rm", "--network", "none", "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL")  # noqa: S108 - within it


@pytest.mark.parametrize(
    ("image", "command"),
    [
        (SERVER, ["python", "-m", "backend", "--help"]),
        (SERVER, ["python", "-m", "frontend", "--help"]),
        (SERVER, ["bapo", "--help"]),
        (SERVER, ["python", "-c", "import backend.app, backend.files.resources.contents, frontend.app"]),
        (SERVER, ["python", "-c", "import safetensors, celery, psycopg, bapo.deploy.healthcheck, bapo.cli.backup"]),
        (WORKER, ["python", "-m", "worker", "--help"]),
        (
            WORKER,
            ["python", "-c", "import worker.service, worker.consumer, bapo.run.trainer, bapo.engines.local.engine"],
        ),
        (WORKER, ["bapo", "train", "--help"]),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else value.split(":")[0],
)
def test_an_image_imports_what_it_runs(images: tuple[str, str], image: str, command: list[str]) -> None:
    assert image in images
    result = docker("run", *HARDENED, image, *command)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("image", [SERVER, WORKER])
def test_an_image_keeps_neither_root_nor_the_index_it_was_built_from(images: tuple[str, str], image: str) -> None:
    assert done("run", *HARDENED, image, "id", "-u").strip() == "10001"
    assert "index-url" not in done("history", "--no-trunc", image)
    assert docker("run", *HARDENED, image, "ls", "/run/secrets/pip").returncode != 0


def test_the_server_image_has_no_pytorch_and_a_pg_dump_of_its_database(images: tuple[str, str]) -> None:
    find = "from importlib.util import find_spec as f; assert f('torch') is None; assert f('transformers') is None"
    done("run", *HARDENED, SERVER, "python", "-c", find)
    ask = "from bapo.deploy.backup.database import _program as p; import os; os.execv(p('pg_dump'), ['pg_dump', '-V'])"
    assert "PostgreSQL) 18" in done("run", *HARDENED, SERVER, "python", "-c", ask)


@pytest.mark.parametrize(
    "command",
    [
        ["python", "-m", "worker", "--help"],
        ["python", "-c", "import worker.service, worker.consumer, bapo.run.trainer, bapo.engines.local.engine"],
        # Triton and vLLM compile with these, into folders that the worker's account may write to.
        [
            "sh",
            "-c",
            'gcc --version && test -f "$(python -c "import sysconfig as s; print(s.get_path(\'include\'))")/Python.h"',
        ],
        ["sh", "-c", 'mkdir -p "$TRITON_CACHE_DIR" "$VLLM_CACHE_ROOT"'],
    ],
    ids=["worker", "imports", "compiler", "caches"],
)
def test_the_image_for_gpus_has_what_a_worker_needs(gpu_image: str, command: list[str]) -> None:
    folder = ("--tmpfs", "/var/lib/bapo/worker:uid=10001")
    result = docker("run", *HARDENED, *folder, gpu_image, *command)
    assert result.returncode == 0, result.stderr


def test_the_image_for_gpus_runs_without_root_and_starts_a_worker(gpu_image: str) -> None:
    assert done("run", *HARDENED, gpu_image, "id", "-u").strip() == "10001"
    assert (
        done("image", "inspect", "--format", "{{json .Config.Cmd}}", gpu_image).strip()
        == '["python","-m","worker","run"]'
    )
