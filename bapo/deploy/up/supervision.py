"""Keeps child processes alive: restarts one that dies, after a pause that grows while it keeps dying."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bapo.deploy.up.child import Child, ChildSpec
from bapo.deploy.up.folder import DataFolder, StartError
from bapo.deploy.up.leftovers import record_processes

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 15.0
STEADY_SECONDS = 30.0
"""A child that lived this long is restarted after the shortest pause."""
WORD_SECONDS = 60.0
"""Seconds between two mentions of a wait for a child's readiness."""
_POLL_SECONDS = 0.05


class StartInterruptedError(Exception):
    """The start was interrupted by a request to stop."""


class Supervisor:
    """The children, in the order in which they were started."""

    def __init__(self, folder: DataFolder, say: Callable[[str], None], stop: threading.Event) -> None:
        """Take `stop`, the event that interrupts a wait for readiness."""
        self._logs: Path = folder.logs
        self._record: Path = folder.processes
        self._say = say
        self._stop = stop
        self._children: list[Child] = []
        self._order: list[str] = []
        """Names in the order of their first start; a child starts after those that it needs."""
        self._pauses: dict[str, float] = {}
        self._due: dict[str, tuple[float, ChildSpec]] = {}
        self._is_recorded = True

    @property
    def children(self) -> Sequence[Child]:
        """Children that run, or whose death was not noticed yet."""
        return tuple(self._children)

    def start(self, spec: ChildSpec) -> Child:
        """Start one child."""
        child = Child(spec, self._logs)
        if spec.name not in self._order:
            self._order.append(spec.name)
        self._children.append(child)
        self._children.sort(key=lambda each: self._order.index(each.spec.name))
        self._note_processes()
        return child

    def _note_processes(self) -> None:
        """Record what runs. A full disk ends nothing: it is said once, and tried again until there is space."""
        try:
            record_processes(self._record, self._children)
        except OSError as error:
            if self._is_recorded:
                self._say(
                    f"{self._record} cannot be written ({error.strerror}): free some space; the services keep running"
                )
            self._is_recorded = False
            return
        if not self._is_recorded:
            self._say(f"{self._record} is written again")
        self._is_recorded = True

    def wait_until(self, child: Child, is_ready: Callable[[], bool]) -> None:
        """Wait for a child's first readiness while it runs; others that die meanwhile are started again.

        Raises StartError with the end of its log where it ends, and StartInterruptedError.
        """
        next_word = time.monotonic() + WORD_SECONDS
        while not is_ready():
            code = child.exit_code()
            if code is not None:
                raise StartError(f"{child.spec.name} ended with code {code}; {child.log} says:\n{child.last_lines()}")
            if time.monotonic() > next_word:
                next_word += WORD_SECONDS
                self._say(f"{child.spec.name} runs and is not ready yet; {child.log} says:\n{child.last_lines(1)}")
            self.restart_dead()
            if self._stop.wait(_POLL_SECONDS):
                raise StartInterruptedError

    def restart_dead(self) -> None:
        """Restart children that died, once their pause is over."""
        now = time.monotonic()
        if not self._is_recorded:
            self._note_processes()
        for child in list(self._children):
            code = child.exit_code()
            if code is None:
                if child.has_lost_its_socket():
                    self._say(f"{child.spec.name}: {child.spec.socket} was removed, so that nothing reaches it")
                    child.ask_to_stop()
                continue
            name = child.spec.name
            if now - child.started > STEADY_SECONDS:
                self._pauses.pop(name, None)
            self._children.remove(child)
            self._put_off(child.spec, f"ended (code {code})", f"; see {child.log}")
        for name, (when, spec) in list(self._due.items()):
            if now >= when:
                del self._due[name]
                try:
                    self.start(spec)
                except OSError as error:
                    # A full disk that takes no new log, or no process left.
                    self._put_off(spec, f"could not be started ({error.strerror})")

    def _put_off(self, spec: ChildSpec, why: str, where: str = "") -> None:
        """Start a child again after its pause, which doubles while it keeps failing."""
        pause = self._pauses.get(spec.name, FIRST_PAUSE_SECONDS)
        self._pauses[spec.name] = min(2 * pause, LONGEST_PAUSE_SECONDS)
        self._say(f"{spec.name} {why}: starting it again in {pause:g} s{where}")
        self._due[spec.name] = (time.monotonic() + pause, spec)

    def stop_all(self) -> None:
        """Stop all children one by one, in the reverse order of their first start."""
        self._due.clear()
        for child in reversed(self._children):
            child.ask_to_stop()
            child.end()
        self._children.clear()
        self._record.unlink(missing_ok=True)
