"""Settings of the worker, from the environment; the command line goes before it."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from bapo.deploy.settings import ServiceSettings

BROKER_SCHEMES = ("redis", "rediss", "redis+socket")


class WorkerSettings(ServiceSettings):
    """Read from variables with the prefix BAPO_."""

    secret_fields: ClassVar[frozenset[str]] = frozenset({"worker_token"})

    server_url: str
    """Address of the server, such as https://bapo.example.org."""
    worker_token: str = ""
    """Token of this worker; better in a file that `BAPO_WORKER_TOKEN_FILE` names."""
    worker_token_file: Path | None = None
    """File that holds the worker's token."""
    worker_slots: int | None = Field(default=None, ge=1, le=1024)
    """Runs trained at the same time; without it one for each GPU, and one on a machine without GPUs."""
    worker_gpus: str = ""
    """Indices of the GPUs that runs may get, such as `0,1`, or `none`; without it those that the worker sees, which
    `CUDA_VISIBLE_DEVICES` may restrict. Where no driver answers, the GPUs named are taken to be there."""
    worker_name: str = Field(default_factory=socket.gethostname, min_length=1, max_length=200)
    """Tells the workers of a server apart; without it the host's name."""
    worker_folder: Path = Path("bapo-worker")
    """Where the worker keeps what it holds over a restart."""
    worker_runs_dir: Path | None = None
    """Folder for the runs' folders on this machine; without it the server's `BAPO_RUNS_DIR`."""
    broker_url: str = ""
    """The broker as this machine reaches it; without it the address that the server names."""
    metrics_host: str = "127.0.0.1"
    """Address on which the worker answers `/metrics` and `/healthz`; other machines need the token."""
    metrics_port: int | None = Field(default=None, ge=1, le=65535)
    """Port for them; without it the worker listens on none."""
    metrics_token_file: Path | None = None
    """Holds the token that reads the worker's `/metrics` from other machines."""

    @property
    def gpu_indices(self) -> list[int] | None:
        """The GPUs that were named; None where none were."""
        if not self.worker_gpus:
            return None
        return [] if self.worker_gpus == "none" else [int(index) for index in self.worker_gpus.split(",")]

    @field_validator("worker_gpus")
    @classmethod
    def _names_gpus(cls, text: str) -> str:
        given = text.replace(" ", "").strip(",").lower()
        if given not in ("", "none") and not all(part.isdecimal() and int(part) < 65_536 for part in given.split(",")):
            raise ValueError("name indices with commas between, such as 0,1, or none")
        return given

    @field_validator("server_url")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("give the server's address, such as https://bapo.example.org")
        return url

    @field_validator("broker_url")
    @classmethod
    def _is_redis(cls, url: str) -> str:
        if url and url.partition("://")[0] not in BROKER_SCHEMES:
            raise ValueError("the broker is Redis: give redis://:password@host:6379/0, rediss://… or redis+socket://…")
        return url
