"""Our own services as child processes: how each is started and what its environment says."""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import dataclass

from bapo.up.child import ChildSpec
from bapo.up.folder import DataFolder, StartError

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the services find one another."""

    port: int
    """The one that people open."""
    backend_port: int
    database_url: str
    broker_url: str

    @property
    def public_url(self) -> str:
        """The page."""
        return f"http://{HOST}:{self.port}"

    @property
    def backend_url(self) -> str:
        """The API server itself."""
        return f"http://{HOST}:{self.backend_port}"


def check_port(port: int) -> None:
    """Raises StartError where the port cannot be listened on."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as error:
            raise StartError(f"Port {port} cannot be used ({error}): choose another with --port.") from None


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def backend_environment(folder: DataFolder, addresses: Addresses) -> dict[str, str]:
    """Settings of the backend and of its commands."""
    return {
        "BAPO_DATABASE_URL": addresses.database_url,
        "BAPO_BROKER_URL": addresses.broker_url,
        "BAPO_RUNS_DIR": str(folder.runs),
        "BAPO_ARTIFACTS_DIR": str(folder.artifacts),
        "BAPO_ADMIN_TOKEN_FILE": str(folder.admin_token),
        "BAPO_WORKER_TOKEN_FILE": str(folder.worker_token),
        "BAPO_PUBLIC_URL": addresses.public_url,
        "BAPO_RESOURCE_ROOTS": os.environ.get("BAPO_RESOURCE_ROOTS", str(folder.resources)),
    }


def backend_command(*arguments: str) -> list[str]:
    """`python -m backend ...`."""
    return [sys.executable, "-m", "backend", *arguments]


def backend_spec(folder: DataFolder, addresses: Addresses) -> ChildSpec:
    """The API server."""
    return ChildSpec(
        name="backend",
        command=backend_command("serve", "--host", HOST, "--port", str(addresses.backend_port)),
        environment=backend_environment(folder, addresses),
    )


def frontend_spec(addresses: Addresses) -> ChildSpec:
    """The pages, and the one port that people see."""
    return ChildSpec(
        name="frontend",
        command=[sys.executable, "-m", "frontend", "serve", "--host", HOST, "--port", str(addresses.port)],
        environment={"BAPO_BACKEND_URL": addresses.backend_url, "BAPO_PUBLIC_URL": addresses.public_url},
    )


def worker_spec(folder: DataFolder, addresses: Addresses, *, slots: int) -> ChildSpec:
    """The worker on this machine. Stopping it lets its trainers reach a step boundary and write a checkpoint."""
    return ChildSpec(
        name="worker",
        command=[
            *(sys.executable, "-m", "worker", "run"),
            *("--server", addresses.backend_url),
            *("--token-file", str(folder.worker_token)),
            *("--slots", str(slots)),
            *("--folder", str(folder.worker)),
        ],
        grace_seconds=60.0,
    )
