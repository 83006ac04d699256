"""Where results go and on what machine they were made."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "benchmarks"


def machine(*packages: str) -> str:
    """CPU, cores, and the versions of Python and of the packages that matter."""
    cpu = platform.processor() or "unknown CPU"
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        cpu = names[0] if names else cpu
    versions = ", ".join(f"{name} {version(name)}" for name in packages or ("torch", "transformers"))
    return f"{cpu}, {os.cpu_count()} cores; Python {platform.python_version()}, {versions}"


def write_report(name: str, results: Mapping[str, Any], markdown: str) -> None:
    """Write docs/benchmarks/NAME.json and NAME.md, and print the table."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    (FOLDER / f"{name}.md").write_text(markdown, encoding="utf-8")
    print(markdown)
