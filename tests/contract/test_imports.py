"""PyTorch takes seconds and hundreds of megabytes: only the engine that trains with it may import it."""

from __future__ import annotations

import subprocess
import sys

WITH_TENSORS = (
    *("bapo.engines.local", "bapo.engines.shaping", "bapo.engines.verl."),
    *("bapo.advantages", "bapo.critic", "bapo.logprob_gap", "bapo.losses"),
    # Adapters import the trainer that they observe, whose process they run in.
    *("bapo.observe.trl", "bapo.observe.verl"),
)
"""The only modules that may import PyTorch when they are imported."""
PACKAGES = ("bapo", "backend", "frontend", "worker")

IMPORT_EVERYTHING = """
import importlib, pkgutil, sys

packages, left_out = sys.argv[1].split(), tuple(sys.argv[2:])
for package in packages:
    modules = pkgutil.walk_packages(importlib.import_module(package).__path__, package + ".")
    for name in sorted(module.name for module in modules):
        if name.endswith("__main__") or name.startswith(left_out):
            continue
        importlib.import_module(name)
        heavy = {"torch", "transformers"} & sys.modules.keys()
        assert not heavy, f"{name} imports {heavy}"
print(*sorted(name for name in sys.modules if name.partition(".")[0] in packages))
"""


def test_importing_every_module_never_imports_torch() -> None:
    # One process for all packages: while neither is imported, a module that imports them is seen whatever came before.
    command = [sys.executable, "-c", IMPORT_EVERYTHING, " ".join(PACKAGES), *WITH_TENSORS]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert finished.returncode == 0, finished.stderr
    imported = set(finished.stdout.split())
    assert {"bapo.client", "backend.app", "frontend.app", "worker.settings"} <= imported
