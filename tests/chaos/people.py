"""What people do meanwhile: they submit runs, change, pause, resume and stop them, and know how each should end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from bapo.api.runs import TERMINAL_STATUSES, ParameterChange, RunDetail, RunStatus
from bapo.client import ApiError, Client
from tests.chaos.schedule import Plan, Schedule
from tests.chaos.world import World
from tests.support.stack import submit

NUM_AT_ONCE = 4
"""Runs that have not ended, three of which can be trained at a time."""
LOOK_SECONDS = 0.3


@dataclass
class Submitted:
    """A run and what its owner has done to it."""

    run_id: str
    plan: Plan
    paused: bool = False
    stopped: bool = False
    ended: RunDetail | None = None
    state: str = "not yet seen"

    @property
    def expected(self) -> frozenset[RunStatus]:
        """How it may end."""
        return frozenset({RunStatus.SUCCEEDED, *([RunStatus.CANCELLED] if self.stopped else [])})


class People(threading.Thread):
    """All of them, in one thread."""

    def __init__(self, world: World, schedule: Schedule) -> None:
        super().__init__(name="people", daemon=True)
        self._world = world
        self._plans = iter(schedule.plans)
        self._extra = threading.Semaphore(0)
        self._no_more = threading.Event()
        self.runs: list[Submitted] = []
        self.failure: BaseException | None = None
        self.moved = time.monotonic()
        """When a run was last seen to get on: another step, attempt or status."""

    def submit_one_more(self) -> None:
        """Soon, whether or not the server is well."""
        self._extra.release()

    def finish(self) -> None:
        """Submit no more, and see the rest to their end."""
        self._no_more.set()

    def run(self) -> None:
        try:
            with self._world.client() as client:
                while not self._no_more.is_set() or any(run.ended is None for run in self.runs):
                    self._look(client)
                    time.sleep(LOOK_SECONDS)
        except BaseException as error:
            # For the main thread, which asks.
            self.failure = error
            raise

    def _look(self, client: Client) -> None:
        for run in self.runs:
            if run.ended is None:
                self._see_to(client, run)
        waiting = sum(run.ended is None for run in self.runs)
        if not self._no_more.is_set() and (waiting < NUM_AT_ONCE or self._extra.acquire(blocking=False)):
            self._begin(client)

    def _begin(self, client: Client) -> None:
        plan = next(self._plans)
        name = f"run {len(self.runs) + 1}"
        run = Submitted(submit(client, name, **{"training.seed": plan.training_seed}), plan)
        self.runs.append(run)
        if plan.change is not None:
            body = ParameterChange(set=plan.change, at_step=plan.at_step)
            self._try(lambda: client.change_parameters(run.run_id, body))

    def _see_to(self, client: Client, run: Submitted) -> None:
        seen = client.run(run.run_id)
        state = f"{seen.name} {seen.status.value} at step {seen.step}, attempt {seen.attempt}"
        if state != run.state:
            run.state, self.moved = state, time.monotonic()
        if seen.status in TERMINAL_STATUSES:
            run.ended = seen
            self._world.say(state)
        elif run.plan.stop and not run.stopped and seen.step >= run.plan.at_step:
            run.stopped = self._try(lambda: client.stop(run.run_id))
        elif run.plan.pause and not run.paused and seen.step >= run.plan.at_step:
            run.paused = self._try(lambda: client.pause(run.run_id))
        elif seen.status is RunStatus.PAUSED:
            self._try(lambda: client.resume(run.run_id))

    def _try(self, act: Callable[[], object]) -> bool:
        """Whether the run was in a state for it: it may have moved on since it was looked at."""
        try:
            act()
        except ApiError as error:
            if error.body.code not in ("illegal_transition", "step_passed"):
                raise
            return False
        return True
