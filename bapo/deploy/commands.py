"""The commands that start the services: this is the one place of the library that names them."""

from __future__ import annotations

import sys
from typing import Literal

Service = Literal["backend", "frontend", "worker"]


def service_command(service: Service, *arguments: str) -> list[str]:
    """Return `python -m SERVICE ...` with the Python that runs this."""
    return [sys.executable, "-m", service, *arguments]
