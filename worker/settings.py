"""Settings of the worker, from the command line or the environment."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import ClassVar

from pydantic import Field, ValidationInfo, field_validator

from bapo.deploy.settings import BrokerAddress, ServiceSettings, WebAddress, is_this_machine, with_password
from worker.machine_end import MachineEnd


class WorkerSettings(ServiceSettings):
    """Read from variables with the prefix BAPO_."""

    secret_fields: ClassVar[frozenset[str]] = frozenset({"worker_token"})

    allow_http: bool = False
    """True if `BAPO_SERVER_URL` may be an http:// address of another machine, as in a private network, where
    eavesdroppers can read the token."""
    server_url: WebAddress
    """Address of the server, such as https://bapo.example.org."""
    worker_token: str = ""
    """Token of this worker; prefer `BAPO_WORKER_TOKEN_FILE`."""
    worker_token_file: Path | None = None
    """File with the worker's token."""
    worker_slots: int | None = Field(default=None, ge=1, le=1024)
    """Runs trained at a time; by default one per GPU, and one on a machine without GPUs."""
    worker_gpus: str = ""
    """Indices of the GPUs to use, such as `0,1`, or `none`; by default all visible ones, which `CUDA_VISIBLE_DEVICES`
    may restrict. Where no driver answers, the named GPUs are assumed to exist."""
    worker_name: str = Field(default_factory=socket.gethostname, min_length=1, max_length=200)
    """Name of this worker; by default the host name."""
    worker_folder: Path = Path("bapo-worker")
    """Folder for the worker's state, which outlives a restart."""
    worker_runs_dir: Path | None = None
    """Folder of the runs on this machine; by default the server's `BAPO_RUNS_DIR`, or `runs` in the worker's folder
    where that cannot be made and is not shared."""
    broker_password_file: Path | None = None
    """File with the password of Redis, where `BAPO_BROKER_URL` holds none."""
    broker_url: BrokerAddress = ""
    """Address of Redis, for a worker next to the server. If unset, the worker asks the server for its runs, over the
    same HTTPS as everything else."""
    stop_limit_seconds: float = Field(default=600.0, ge=5, le=86_400, allow_inf_nan=False)
    """Most time that a trainer gets between SIGTERM and SIGKILL, whatever its steps take; set it 10 s below what the
    machine gives the worker."""
    drain_before: MachineEnd | None = None
    """When this machine ends: a time such as `2026-11-23T18:00:00+01:00`, seconds since 1970, or a duration from the
    worker's start such as `11h30m`. Until then the worker gives all runs back, each after a checkpoint, and takes none
    that would not fit."""
    metrics_host: str = "127.0.0.1"
    """Address that serves `/metrics` and `/healthz`; other machines need the token."""
    metrics_port: int | None = Field(default=None, ge=1, le=65535)
    """Port of `/metrics` and `/healthz`; by default they are not served."""
    metrics_token_file: Path | None = None
    """File with the token that reads `/metrics` from other machines."""

    @property
    def gpu_indices(self) -> list[int] | None:
        """The named GPUs; `None` if the setting is empty."""
        if not self.worker_gpus:
            return None
        return [] if self.worker_gpus == "none" else [int(index) for index in self.worker_gpus.split(",")]

    @field_validator("server_url")
    @classmethod
    def _keeps_the_token_secret(cls, url: str, info: ValidationInfo) -> str:
        if url.startswith("http://") and not is_this_machine(url) and not info.data.get("allow_http"):
            raise ValueError(
                "it is not encrypted, and others on the way could read the token: give its https:// address, or "
                "--allow-http (BAPO_ALLOW_HTTP=true) in a private network"
            )
        return url

    @field_validator("worker_gpus")
    @classmethod
    def _names_gpus(cls, text: str) -> str:
        given = text.replace(" ", "").strip(",").lower()
        if given not in ("", "none") and not all(part.isdecimal() and int(part) < 65_536 for part in given.split(",")):
            raise ValueError("give indices separated by commas, such as 0,1, or none")
        return given

    @field_validator("broker_url")
    @classmethod
    def _has_its_password(cls, url: str, info: ValidationInfo) -> str:
        return with_password(url, info.data.get("broker_password_file"))
