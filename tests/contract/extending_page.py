"""The package of docs/extending.md."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def blocks() -> list[tuple[str, str, str]]:
    """Language, file and text of each block of the page."""
    return [(match[1], match[2] or "", match[3]) for match in BLOCK.finditer(PAGE.read_text())]


def write_package(folder: Path) -> None:
    """Write the files of the page's package."""
    for _, file, text in blocks():
        if file:
            with (folder / file).open("a") as opened:
                opened.write(text)


def register(folder: Path) -> Path:
    """Register the package in `folder` without pip, and return the folder that has its metadata."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    name, version = project["name"].replace("-", "_"), project["version"]
    site = folder / "site"
    information = site / f"{name}-{version}.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [
        line
        for group, points in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{point} = {place}" for point, place in points.items()))
    ]
    (information / "entry_points.txt").write_text("\n".join(lines))
    return site
