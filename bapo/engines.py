"""Engines by `engine.type`; an engine's own packages are imported when it is built."""

from __future__ import annotations

from bapo.config import RunConfig
from bapo.engine import Engine
from bapo.tasks.base import Task


def build_engine(config: RunConfig, task: Task) -> Engine:
    """The configured engine with the base model loaded."""
    from bapo.local.engine import LocalEngine  # noqa: PLC0415  (torch takes seconds to import)

    return LocalEngine(config, task)
