"""PyPI's torchvision next to PyTorch's build for the CPU: for the environment of `sh scripts/setup_verl.sh --images`.

That wheel's compiled part needs CUDA, does not load here, and leaves two operators undeclared whose shapes torchvision
registers as it is imported. Image processors use its transforms, which are Python.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

_FIRST = "torchvision.extension"
"""First module that torchvision imports before anything that asks for its operators; looking for torchvision does not
import it.
"""
_UNDECLARED = ("nms", "qnms")
_declared: list[Any] = []
"""PyTorch forgets operators with the object that declared them."""


class _BeforeOperators(MetaPathFinder):
    """Declares the operators while torchvision is imported."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        """Find nothing: the module itself is found by those that come after."""
        if fullname == _FIRST and not _declared:
            import torch  # noqa: PLC0415 - every interpreter of the environment imports this module

            library = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
            for name in _UNDECLARED:
                schema = f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
                library.define(schema)  # type: ignore[no-untyped-call]
            _declared.append(library)


def install() -> None:
    """Make torchvision importable in this process from now on."""
    sys.meta_path.insert(0, _BeforeOperators())
