"""Starts all services in order, keeps them running, and stops them."""

from __future__ import annotations

import os
import signal
import sys
import webbrowser
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bapo.api.runs import RunCreate
from bapo.client import Client
from bapo.deploy.healthcheck import answers
from bapo.deploy.processes import Stop, without_foreign_variables
from bapo.deploy.settings import is_this_machine, prefix_of
from bapo.deploy.up.folder import DataFolder, StartError
from bapo.deploy.up.leftovers import end_leftovers
from bapo.deploy.up.postgres import EmbeddedPostgres
from bapo.deploy.up.redis import EmbeddedRedis
from bapo.deploy.up.services import (
    EVERYWHERE,
    HOST,
    Addresses,
    backend_spec,
    frontend_spec,
    hold_port,
    run_backend,
    worker_spec,
)
from bapo.deploy.up.supervision import StartInterruptedError, Supervisor
from bapo.methods.grpo import GrpoConfig
from bapo.run.run_folder import unfinished_restore

DEMO_GROUP = "countdown-demo"
DEMO_RUNS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Countdown with BAPO", {}),
    ("Countdown with GRPO", {"method.type": GrpoConfig.type_name()}),
)


def submit_demo(client: Client) -> None:
    """Submit BAPO and GRPO on the same seed and data. Repeating it after a crash submits nothing twice."""
    for number, (name, changes) in enumerate(DEMO_RUNS, start=1):
        body = RunCreate(
            recipe="countdown-demo",
            changes=changes,
            name=name,
            tags=["demo"],
            group=DEMO_GROUP,
            # The first one starts first where there is only one slot.
            priority=50 + len(DEMO_RUNS) - number,
            notes="Which learns more in 150 steps, BAPO or GRPO? Same model, same seed, same problems.\n\n"
            "Submitted by the first start.",
        )
        client.create_run(body, idempotency_key=f"demo-{number}")


_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class UpOptions:
    """Options of `bapo up`."""

    data: Path
    port: int = 8000
    demo: bool = True
    browser: bool = True
    slots: int = 1
    listen: str = HOST
    """Address to listen on; any but the loopback lets other machines in."""
    public_url: str | None = None


class Stack:
    """One run of `bapo up`, which holds the lock on its data folder."""

    def __init__(self, options: UpOptions, say: Callable[[str], None]) -> None:
        self._options = options
        self._say = say
        self._folder = DataFolder(options.data)
        self._stop = Stop()
        self._supervisor = Supervisor(self._folder, say, self._stop)
        self._foreign: Mapping[str, str] = {}
        self._backend_port = 0

    def run(self) -> None:
        """Run until SIGINT, SIGTERM or SIGHUP. Raises StartError where it cannot start, with nothing left running."""
        folder, options = self._folder, self._options
        unfinished = unfinished_restore(folder.runs)
        if unfinished is not None:
            raise StartError(f"{unfinished}.")
        folder.prepare()
        check_listening(options)
        folder.lock(f"http://{options.listen}:{options.port}{prefix_of(options.public_url or '')}")
        handlers = {
            number: signal.signal(number, lambda *_: self._stop.set())
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        }
        try:
            left = end_leftovers(folder.processes)
            if left:
                self._say(f"ended what an earlier start left running: {', '.join(left)}")
            with (
                hold_port(self._options.port, self._options.listen),
                hold_port() as self._backend_port,
                without_foreign_variables() as self._foreign,
            ):
                self._serve()
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            folder.unlock()

    def _serve(self) -> None:
        try:
            self._start()
            while not self._stop.wait(_POLL_SECONDS):
                self._supervisor.restart_dead()
            self._say("stopping: running runs write a checkpoint and resume at the next start")
        except StartInterruptedError:
            self._say("stopping before startup was complete")
        finally:
            self._supervisor.stop_all()

    def _start(self) -> None:
        folder, supervisor = self._folder, self._supervisor
        self._say("starting PostgreSQL, Redis, backend, dashboard and a worker")
        options = self._options
        redis = EmbeddedRedis(folder)
        postgres = EmbeddedPostgres(folder)
        addresses = Addresses(
            options.port,
            self._backend_port,
            postgres.url,
            redis.url,
            options.listen,
            options.public_url,
        )
        # The slowest to import, and independent of the others.
        frontend = supervisor.start(frontend_spec(addresses))
        opened = postgres.prepare()
        if opened:
            self._say(f"PostgreSQL does not run as root: other accounts may now pass through {', '.join(opened)}")
        database = supervisor.start(postgres.spec())
        broker = supervisor.start(redis.spec())
        supervisor.wait_until(database, postgres.is_ready)
        supervisor.wait_until(broker, redis.is_ready)
        # One process for both: each imports for about two seconds.
        login_code = run_backend(self._folder, addresses, "migrate", "--login-code")
        backend = supervisor.start(backend_spec(folder, addresses))
        supervisor.wait_until(backend, lambda: answers(f"{addresses.backend_url}/healthz"))
        supervisor.start(worker_spec(folder, addresses, self._foreign, slots=self._options.slots))
        supervisor.wait_until(frontend, lambda: answers(f"{addresses.local_url}/healthz"))
        self._submit_demo_once(addresses)
        self._greet(addresses, login_code)

    def _submit_demo_once(self, addresses: Addresses) -> None:
        marker = self._folder.started_before
        if marker.exists():
            return
        if self._options.demo:
            # The client is the larger half of what this process loads, and only a first start needs it.
            from bapo.client import Client  # noqa: PLC0415
            from bapo.deploy.up.stack import submit_demo  # noqa: PLC0415

            with Client(addresses.backend_url, token=self._folder.admin_token.read_text().strip()) as client:
                submit_demo(client)
            self._say("submitted the demo: BAPO and GRPO learn Countdown side by side")
        marker.touch()

    def _greet(self, addresses: Addresses, login_code: str) -> None:
        link = f"{addresses.public_url}/login?code={login_code}"
        self._say(f"data folder   {self._folder.path}")
        self._say(f"API token     {self._folder.admin_token}")
        self._say(f"open (once)   {link}")
        if self._options.listen != HOST and urlsplit(addresses.public_url).scheme != "https":
            self._say("NOT ENCRYPTED: others on the network can read tokens; put TLS in front (docs/deployment.md)")
        if not is_this_machine(addresses.public_url):
            flag = "" if addresses.public_url.startswith("https://") else " --allow-http"
            self._say(f"workers join  bapo worker --server {addresses.public_url}{flag} --token-file worker-token")
        self._say("Ctrl-C stops everything")
        if self._options.browser and has_desktop():
            webbrowser.open(f"{addresses.public_url}/login?code={run_backend(self._folder, addresses, 'login-code')}")


def check_listening(options: UpOptions) -> None:
    """Raise StartError if other machines would have no address to use."""
    if options.listen in EVERYWHERE and options.public_url is None:
        raise StartError(
            f"With --listen {options.listen} give the address that people open, with --public-url "
            "https://bapo.example.org, or listen on one address of this machine."
        )


def has_desktop() -> bool:
    """Return whether a browser would open a window; without one, a text browser might take over the terminal."""
    return sys.platform == "darwin" or any(name in os.environ for name in ("DISPLAY", "WAYLAND_DISPLAY"))
