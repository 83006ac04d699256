"""The command line of benchmarks, and the files of results with the machine on which they were measured."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bapo.study import markdown
from bapo.study.folder import machine
from bapo.study.tables import Table

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "benchmarks"


def command_line(description: str | None, **options: Any) -> argparse.Namespace:
    """Parse the command line: options with their defaults, each alone or with its help as (default, help)."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, given in options.items():
        default, about = given if isinstance(given, tuple) else (given, None)
        kind: dict[str, Any] = {"type": type(default)}
        if default is False:
            kind = {"action": "store_true"}
        elif isinstance(default, list):
            kind = {"type": type(default[0]), "nargs": "+"}
        parser.add_argument(f"--{name.replace('_', '-')}", default=default, help=about, **kind)
    return parser.parse_args()


def write_report(
    name: str,
    title: str,
    results: Mapping[str, Any],
    *paragraphs: str,
    packages: Sequence[str] = (),
    setting: str = "",
) -> None:
    """Write docs/benchmarks/NAME.json and NAME.md, and print the latter.

    Both name the machine, with the versions of `packages` (of PyTorch, where none are given). `setting`: what else ran.
    """
    where = machine(*packages)
    text = "\n\n".join([f"# {title}", f"{where}{setting}", *paragraphs]) + "\n"
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps({"machine": where, **results}, indent=2) + "\n", encoding="utf-8")
    (FOLDER / f"{name}.md").write_text(text, encoding="utf-8")
    print(text)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(markdown.table(Table(heads, list(rows))))
