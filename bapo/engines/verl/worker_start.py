"""First step of each of verl's processes."""

from __future__ import annotations

import gc
import sys
import threading
import time

HOOK = f"{__name__}.rest_collector"
"""For Ray's `worker_process_setup_hook`."""
_PAUSE_SECONDS = 3
"""Without a new module: all that the process needs has been imported."""


def rest_collector() -> None:
    """Pause the garbage collector while the process imports PyTorch, verl and vLLM, of which nothing is garbage.

    A sixth of the CPU time of these imports was the collector's. `bapo.run.lasting_modules` does it where the imports
    are ours; here they are Ray's, on its way to the class of an actor.
    """
    gc.disable()
    threading.Thread(target=_go_on_after_imports, name="bapo-collector", daemon=True).start()


def _go_on_after_imports() -> None:
    num_modules = -1
    try:
        while num_modules != len(sys.modules):
            num_modules = len(sys.modules)
            time.sleep(_PAUSE_SECONDS)
    finally:
        gc.enable()
