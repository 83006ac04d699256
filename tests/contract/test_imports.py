"""PyTorch takes seconds and hundreds of megabytes: only the engine that trains with it may import it."""

from __future__ import annotations

import subprocess
import sys

import pytest

WITH_TENSORS = (
    *("bapo.engines.local", "bapo.engines.shaping", "bapo.engines.verl."),
    *("bapo.advantages", "bapo.critic", "bapo.logprob_gap", "bapo.losses"),
    # Adapters import the trainer that they observe, whose process they run in.
    *("bapo.observe.trl", "bapo.observe.verl"),
)
"""The only modules that may import PyTorch when they are imported."""

IMPORT_EVERYTHING = """
import importlib, pkgutil, sys

package, *left_out = sys.argv[1:]
modules = pkgutil.walk_packages(importlib.import_module(package).__path__, package + ".")
for name in sorted(module.name for module in modules):
    if name.endswith("__main__") or name.startswith(tuple(left_out)):
        continue
    importlib.import_module(name)
    heavy = {"torch", "transformers"} & sys.modules.keys()
    assert not heavy, f"{name} imports {heavy}"
print(len(sys.modules))
"""


@pytest.mark.parametrize("package", ["bapo", "backend", "frontend", "worker"])
def test_importing_every_module_never_imports_torch(package: str) -> None:
    command = [sys.executable, "-c", IMPORT_EVERYTHING, package, *WITH_TENSORS]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert finished.returncode == 0, finished.stderr
