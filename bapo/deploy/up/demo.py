"""Submits the two demo runs of a first start, through the API."""

from __future__ import annotations

from typing import Any

from bapo.api.runs import RunCreate
from bapo.client import Client
from bapo.methods.grpo import GrpoConfig

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
