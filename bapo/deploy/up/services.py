"""Commands and environments of our services as child processes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from bapo.deploy.processes import service_command
from bapo.deploy.settings import prefix_of
from bapo.deploy.up.child import OUR_PYTHON, ChildSpec
from bapo.deploy.up.folder import DataFolder, StartError

HOST = "127.0.0.1"
EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not listened on


@dataclass(frozen=True, slots=True)
class Addresses:
    """Addresses of the services."""

    port: int
    """Port of the dashboard and the API."""
    backend_port: int
    database_url: str
    broker_url: str
    listen: str = HOST
    """Address that the frontend listens on."""
    given_public_url: str | None = None
    """Public address, where a proxy is in front or the machine has a name."""

    @property
    def local_url(self) -> str:
        """The dashboard's address on this machine."""
        host = HOST if self.listen in EVERYWHERE else self.listen
        named = f"[{host}]" if ":" in host else host
        return f"http://{named}:{self.port}{prefix_of(self.given_public_url or '')}"

    @property
    def public_url(self) -> str:
        """The dashboard's public address."""
        return self.given_public_url or self.local_url

    @property
    def allowed_hosts(self) -> str:
        """Allowed host names in addition to the public one."""
        named = os.environ.get("BAPO_ALLOWED_HOSTS", "")
        own = "" if self.listen in EVERYWHERE else self.listen
        return ",".join(part for part in (named, own) if part)

    @property
    def backend_url(self) -> str:
        """The backend's address."""
        return f"http://{HOST}:{self.backend_port}"


@contextmanager
def hold_port(port: int = 0, host: str = HOST) -> Iterator[int]:
    """Bind a port, by default any that is free, without listening on it; yields its number. Raises StartError.

    On Linux, the system gives a bound port to no other process, while a service that sets SO_REUSEADDR, as ours do, can
    listen on it, also after a restart. Other systems would refuse the service: there the port is only tried.
    """
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as held:
        try:
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            held.bind((host, port))
        except socket.gaierror as error:
            raise StartError(
                f"{host} is not an address of this machine ({error.strerror}): give one with --listen."
            ) from None
        except (OSError, OverflowError) as error:
            where = f"Port {port}" if host == HOST else f"Port {port} of {host}"
            raise StartError(f"{where} cannot be used ({error}): choose another with --port.") from None
        number: int = held.getsockname()[1]
        if sys.platform != "linux":
            held.close()
        yield number


def backend_environment(folder: DataFolder, addresses: Addresses) -> dict[str, str]:
    """Return settings of the backend and of its commands."""
    return {
        "BAPO_DATABASE_URL": addresses.database_url,
        "BAPO_BROKER_URL": addresses.broker_url,
        "BAPO_RUNS_DIR": str(folder.runs),
        "BAPO_ARTIFACTS_DIR": str(folder.artifacts),
        "BAPO_ADMIN_TOKEN_FILE": str(folder.admin_token),
        "BAPO_WORKER_TOKEN_FILE": str(folder.worker_token),
        "BAPO_PUBLIC_URL": addresses.public_url,
        "BAPO_ALLOWED_HOSTS": addresses.allowed_hosts,
        "BAPO_RESOURCE_ROOTS": os.environ.get("BAPO_RESOURCE_ROOTS", str(folder.resources)),
    }


def run_backend(folder: DataFolder, addresses: Addresses, *command: str) -> str:
    """Run one of the backend's commands to its end and return what it printed. Raises StartError."""
    result = subprocess.run(
        service_command("backend", *command),
        env={**os.environ, **backend_environment(folder, addresses), **OUR_PYTHON},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        start_new_session=True,
    )
    if result.returncode != 0:
        raise StartError(f"`{' '.join(command)}` failed:\n{result.stderr.strip()}")
    return result.stdout.strip()


def backend_spec(folder: DataFolder, addresses: Addresses) -> ChildSpec:
    """Return the backend."""
    return ChildSpec(
        name="backend",
        command=service_command("backend", "serve", "--host", HOST, "--port", str(addresses.backend_port)),
        environment=backend_environment(folder, addresses),
    )


def frontend_spec(addresses: Addresses) -> ChildSpec:
    """Return the frontend."""
    return ChildSpec(
        name="frontend",
        command=service_command("frontend", "serve", "--host", addresses.listen, "--port", str(addresses.port)),
        environment={
            "BAPO_BACKEND_URL": addresses.backend_url,
            "BAPO_PUBLIC_URL": addresses.public_url,
            "BAPO_ALLOWED_HOSTS": addresses.allowed_hosts,
        },
    )


def worker_spec(folder: DataFolder, addresses: Addresses, foreign: Mapping[str, str], *, slots: int) -> ChildSpec:
    """Return the worker on this machine. Stopping it lets its trainers reach a step boundary and write a checkpoint.

    `foreign`: the variables that are for other programs, as the code of a reward may be.
    """
    return ChildSpec(
        name="worker",
        command=service_command(
            *("worker", "run"),
            *("--server", addresses.backend_url),
            *("--token-file", str(folder.worker_token)),
            *("--slots", str(slots)),
            *("--folder", str(folder.worker)),
        ),
        environment={**foreign, "BAPO_BROKER_URL": addresses.broker_url},
        # A trainer gets up to 600 s (BAPO_STOP_LIMIT_SECONDS), then the worker reports for up to 10 s.
        grace_seconds=630.0,
    )
