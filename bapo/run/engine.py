"""Engines by `engine.type`; an engine's own packages are imported when it is built."""

from __future__ import annotations

from collections.abc import Callable

from bapo.config import RunConfig
from bapo.engines.base import Engine
from bapo.run.lasting_modules import lasting_modules
from bapo.tasks.base import Task


def build_engine(config: RunConfig, task: Task) -> Engine:
    """Return the configured engine with the base model loaded.

    Raises ConfigError where its packages, devices or the model cannot be used.
    """
    if config.engine.type == "verl":
        from bapo.engines.verl.versions import check_versions  # noqa: PLC0415  (imports nothing of verl)

        build = check_versions()
        from bapo.engines.verl.environment import prepare_environment  # noqa: PLC0415  (before anything of verl)

        prepare_environment(config, build)
        with lasting_modules("verl"):
            from bapo.engines.verl.engine import VerlEngine  # noqa: PLC0415  (takes half a minute to import)

        return VerlEngine(config, task)
    return local_engine()(config, task)


def local_engine() -> Callable[[RunConfig, Task], Engine]:
    """Return the local engine's class, with all that it imports."""
    with lasting_modules("torch"):
        from bapo.engines.local.engine import LocalEngine  # noqa: PLC0415  (torch takes seconds to import)

    return LocalEngine
