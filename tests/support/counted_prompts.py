"""Prompts of a project with what the server has counted of them over runs."""

from __future__ import annotations

import threading
from collections.abc import Callable

from backend.readings.findings.watcher import FindingsWatcher
from bapo.api.prompts import ProjectPromptFilter, PromptTotalsAcross
from bapo.client import Client
from tests.support.services import wait_until


def wait_until_counted(condition: Callable[[], bool]) -> None:
    """Wait for the rounds of the watcher that count what was done so far; by itself it begins within ten seconds."""

    def is_met() -> bool:
        if condition():
            return True
        for thread in threading.enumerate():
            if isinstance(thread, FindingsWatcher):
                thread.wake()
        return False

    wait_until(is_met)


def found(client: Client, prompt_id: str) -> PromptTotalsAcross:
    """The totals of a prompt over all runs; zeros where no counted run has visited it."""
    page = client.project_prompts(ProjectPromptFilter(search=prompt_id))
    if page.items:
        return page.items[0]
    missing = {"num_runs": 0, "num_visits": 0, "num_never_solved": 0, "num_always_solved": 0, "num_suspected": 0}
    nothing = {"num_correct": 0, "num_responses": 0, "value": None, "low": None, "high": None}
    return PromptTotalsAcross.model_validate(
        {"prompt_id": prompt_id, "text": None, "accuracy": nothing, "lists": [], **missing}
    )
