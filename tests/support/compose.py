"""docker-compose.yml as Compose reads it: interpolated, and its services as processes of this machine."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.support.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = ROOT / "docker-compose.yml"
SINGLE_SIGN_ON = ROOT / "docker" / "compose.single-sign-on.yml"

_VARIABLE = re.compile(r"\$(?:(\$)|\{(\w+)(?::([?-])([^}]*))?\})")


class MissingVariableError(Exception):
    """What `${NAME:?…}` says where the variable is not set."""


def interpolate(text: str, environment: Mapping[str, str]) -> str:
    """`$$`, `${A}`, `${A:-default}` and `${A:?message}`, as the Compose specification has them."""

    def value(match: re.Match[str]) -> str:
        dollar, name, operator, rest = match.groups()
        if dollar:
            return "$"
        found = environment.get(name, "")
        if not found and operator == "?":
            raise MissingVariableError(f"{name}: {rest}")
        return found or (rest if operator == "-" else "")

    return _VARIABLE.sub(value, text)


def read(path: Path = COMPOSE) -> dict[str, Any]:
    """The file as it stands, anchors merged."""
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content


def resolved(environment: Mapping[str, str], path: Path = COMPOSE) -> dict[str, Any]:
    """The file with its variables filled in."""

    def fill(value: Any) -> Any:
        match value:
            case str():
                return interpolate(value, environment)
            case dict():
                return {name: fill(each) for name, each in value.items()}
            case list():
                return [fill(each) for each in value]
        return value

    filled: dict[str, Any] = fill(read(path))
    return filled


@dataclass
class Host:
    """This machine in place of the containers: what names, ports and paths within them stand for here."""

    folder: Path
    services: Mapping[str, Any]
    programs: Sequence[Path]
    ports: dict[str, int] = field(
        default_factory=lambda: {"postgres:5432": free_port(), "redis:6379": free_port(), "backend:8001": free_port()}
    )
    port: int = field(default_factory=free_port)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def here(self, text: str, service: str) -> str:
        """A text of the file as it has to be on this machine."""
        for address, port in self.ports.items():
            name, inner = address.split(":")
            text = text.replace(address, f"127.0.0.1:{port}")
            if service == name or (name == "backend" and service == "backend"):
                text = re.sub(rf"(?<!\d){inner}(?!\d)", str(port), text)
        if service == "frontend":
            text = re.sub(r"(?<!\d)8000(?!\d)", str(self.port), text)
        text = re.sub(r"\b0\.0\.0\.0\b", "127.0.0.1", text)  # Only this machine here.
        text = re.sub(r"(?m)^dir /data$", f"dir {self.folder / 'redis'}", text)
        text = text.replace("/run/secrets", str(self.folder / "secrets"))
        return text.replace("/var/lib/bapo", str(self.folder))

    def environment(self, service: str) -> dict[str, str]:
        """The service's environment and nothing of ours but where programs and packages are."""
        own = {
            name: self.here(str(value), service)
            for name, value in self.services[service].get("environment", {}).items()
        }
        path = os.pathsep.join([str(Path(sys.executable).parent), *map(str, self.programs), "/usr/bin", "/bin"])
        return {"PATH": path, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HOME": str(self.folder), **own}

    def command(self, service: str) -> list[str]:
        """The service's command."""
        return [self.here(part, service) for part in self.services[service]["command"]]

    def start(self, service: str, *, command: Sequence[str] | None = None, user: int | None = None) -> None:
        """Start a service; its output goes to a file of its name."""
        with (self.folder / f"{service}.log").open("ab") as log:
            self.processes[service] = subprocess.Popen(
                command or self.command(service),
                env=self.environment(service),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/" if user is not None else self.folder,
                start_new_session=True,
                user=user,
                group=user,
                extra_groups=[] if user is not None else None,
            )

    def run(self, service: str) -> int:
        """Run a service to its end."""
        self.start(service)
        return self.processes.pop(service).wait(120)

    def is_healthy(self, service: str) -> bool:
        """What the service's health check says."""
        kind, *rest = self.services[service]["healthcheck"]["test"]
        test = [self.here(part, service) for part in rest]
        command = ["sh", "-c", test[0]] if kind == "CMD-SHELL" else test
        result = subprocess.run(
            command, env=self.environment(service), capture_output=True, cwd=self.folder, check=False, timeout=240
        )
        return result.returncode == 0

    def log(self, service: str) -> str:
        """What a service has written."""
        return (self.folder / f"{service}.log").read_text(errors="replace")

    def stop(self, service: str) -> int:
        """Stop a service with its stop signal, as `docker compose stop` does."""
        process = self.processes.pop(service)
        process.send_signal(getattr(signal, self.services[service].get("stop_signal", "SIGTERM")))
        return process.wait(90)

    def kill_all(self) -> None:
        """Whatever is left."""
        for process in reversed(self.processes.values()):
            process.kill()
            process.wait()
