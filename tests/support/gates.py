"""Holds a training still, so that a test acts on it at a known moment, however busy the machine is."""

from __future__ import annotations

from pathlib import Path

from bapo.api.resources import ResourceCreate
from bapo.client import Client
from tests.support.stack import wait_for

_VERIFIER = """
import signal
import time
from pathlib import Path

from bapo.tasks.countdown.expression import countdown_reward

GATE = Path(__file__).parent
num_calls = 0


def reward(problem, response):
    global num_calls
    num_calls += 1
    if num_calls > {num_responses} and not (GATE / "open").exists():
        hold()
    return countdown_reward(problem, response)


def hold():
    stop = signal.getsignal(signal.SIGTERM)

    def note(number, frame):
        (GATE / "asked to stop").touch()
        stop(number, frame)

    signal.signal(signal.SIGTERM, note)
    (GATE / "reached").touch()
    while not (GATE / "open").exists():
        time.sleep(0.05)
    signal.signal(signal.SIGTERM, stop)
"""


class Gate:
    """Countdown's verifier, which waits after so many responses until the gate is open."""

    def __init__(self, folder: Path, num_responses: int) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        (folder / "verifier.py").write_text(_VERIFIER.format(num_responses=num_responses))

    def register(self, client: Client) -> str:
        """Register the verifier as the administrator, and return what a config's `task.verifier` calls it."""
        path = str(self._folder / "verifier.py")
        client.register_resource(ResourceCreate(kind="verifier", name=self._folder.name, path=path, function="reward"))
        return f"@{self._folder.name}"

    def wait_until_reached(self) -> None:
        """Wait until a training is held."""
        wait_for((self._folder / "reached").exists)

    def wait_until_asked_to_stop(self) -> None:
        """Wait until the trainer that is held has got SIGTERM."""
        wait_for((self._folder / "asked to stop").exists)

    def open(self) -> None:
        """Let the training continue, and every later one pass."""
        (self._folder / "open").touch()
