"""Where results go, and on what machine they were made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bapo.study.folder import machine

__all__ = ["machine", "write_report"]

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "benchmarks"


def write_report(name: str, results: Mapping[str, Any], markdown: str) -> None:
    """Write docs/benchmarks/NAME.json and NAME.md, and print the table."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    (FOLDER / f"{name}.md").write_text(markdown, encoding="utf-8")
    print(markdown)
