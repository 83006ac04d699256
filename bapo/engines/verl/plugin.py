"""The plugin that verl loads in each of its processes, through its entry point or VERL_USE_EXTERNAL_MODULES."""

from __future__ import annotations

import os

from bapo.engines.verl.environment import PLATFORM_VARIABLE

# On a GPU, verl needs nothing of us in its other processes.
if os.environ.get(PLATFORM_VARIABLE) == "cpu":
    from bapo.engines.verl import (
        patches,
        platform,  # noqa: F401  (registers the platform)
    )

    patches.apply()
