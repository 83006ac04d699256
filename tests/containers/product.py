"""docker-compose.yml in a project of its own: up, commands within, crashes, volumes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bapo.client import Client
from tests.containers.stand_ins import done
from tests.support.compose import COMPOSE, ROOT
from tests.support.ports import free_port

VERSION = "tested"
SERVER, WORKER, GPU_WORKER = (f"bapo-{name}:{VERSION}" for name in ("server", "worker", "worker-gpu"))


@dataclass
class Product:
    """One Compose project."""

    name: str
    folder: Path
    bases: Mapping[str, str]
    port: int
    checkout: Path = ROOT
    version: str = VERSION

    @classmethod
    def made(cls, name: str, folder: Path, bases: Mapping[str, str], **of: Any) -> Product:
        """With passwords of its own, as scripts/make_env.sh makes them."""
        folder.mkdir()
        product = cls(name, folder, bases, free_port(), **of)
        address = f"http://127.0.0.1:{product.port}"
        script = product.checkout / "scripts" / "make_env.sh"
        subprocess.run(["sh", script, address, folder / ".env"], check=True, capture_output=True)
        build = {"network": "host", "args": {"PYTHON_IMAGE": bases["python"]}}
        # Asked more often than people need, because a test waits for each answer. However long a busy machine takes for
        # it: Compose gives up where a service that it waits for is unhealthy.
        often = {"healthcheck": {"interval": "3s", "timeout": "60s", "retries": 100}}
        services = {"migrate": {}, "backend": often, "frontend": often, "worker": often}
        others = {role: {"image": bases[role]} for role in ("postgres", "redis")}
        content = {"services": {**{name: {"build": build, **more} for name, more in services.items()}, **others}}
        product.override(content)
        return product

    def override(self, content: Mapping[str, Any]) -> None:
        """What differs from the checkout's Compose file."""
        (self.folder / "override.yml").write_text(yaml.safe_dump(content))

    def __call__(self, *arguments: str, timeout: float = 900.0, pip_conf: Path | None = None) -> str:
        """What a command of Compose prints. Raises AssertionError where it fails."""
        files = ["-f", str(self.checkout / COMPOSE.name), "-f", str(self.folder / "override.yml")]
        start = ["docker", "compose", "-p", self.name, "--project-directory", str(self.checkout), "--env-file"]
        command = [*start, str(self.folder / ".env"), *files, *arguments]
        environment = {**os.environ, "BAPO_VERSION": self.version, "BAPO_PORT": str(self.port)}
        environment |= {"BAPO_PIP_CONF": str(pip_conf)} if pip_conf else {}
        result = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=timeout, cwd=self.checkout
        )
        assert result.returncode == 0, f"{arguments}:\n{result.stdout[-4000:]}\n{result.stderr[-6000:]}"
        return result.stdout

    def up(self) -> None:
        """Start what is not up, and return when all is healthy."""
        self("up", "--detach", "--wait", "--wait-timeout", "600")

    def state(self, service: str) -> dict[str, Any]:
        """What the engine says of the service's container."""
        (found,) = json.loads(done("inspect", self("ps", "--all", "--quiet", service).strip()))
        return {**found["State"], "RestartCount": found["RestartCount"]}

    def is_healthy(self, service: str) -> bool:
        """What the service's health check said last."""
        state = self.state(service)
        return bool(state["Running"]) and state["Health"]["Status"] == "healthy"

    def crash(self, service: str) -> None:
        """End the service's processes with SIGKILL from outside; the engine takes `docker kill` for a wish."""
        pid = self.state(service)["Pid"]
        given = ["--rm", "--pid", "host", "--network", "none", "--user", "0", SERVER]
        done("run", *given, "python", "-c", f"import os; os.kill({pid}, 9)")

    def token(self) -> str:
        """The administrator's."""
        return self("exec", "-T", "backend", "cat", "/var/lib/bapo/admin/admin-token").strip()

    def client(self) -> Client:
        """The administrator, through the frontend."""
        return Client(f"http://127.0.0.1:{self.port}", token=self.token())

    def down(self) -> None:
        """Containers, networks and volumes."""
        self("down", "--volumes", "--timeout", "5")
