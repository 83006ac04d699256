"""The build of Plotly as pages load it: set up for the kinds of traces that our figures have.

pip brings only the build with every kind. A browser takes longer to set up the others, such as maps and surfaces, than
all the rest of the file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from pathlib import Path

import plotly

KINDS = frozenset({"bar", "heatmap", "sankey", "scatter", "table"})
"""Of traces in figures of the dashboard."""
ALWAYS = "scatter"
"""Is part of what every build has."""

_BEFORE = ".register(["
_REGISTERED = re.compile(r"(?:[\w$]+\(\),?)+(?=\]\))")
_HANDED_ON = re.compile(r'=\w+\(\(\w+,(\w+)\)=>\{"use strict";\1\.exports=([\w$]+)\(\)')
_NAMED = re.compile(r'moduleType:"trace",name:"(\w+)"')
_MOST_CHARACTERS = 10_000
"""From the beginning of a trace's module to its name."""


def with_kinds(build: str, kinds: Collection[str]) -> str:
    """Returns the build that sets up these kinds of traces alone.

    One that is put together otherwise, or does not have them, stays whole.
    """
    # Searched for as text: a pattern would take seconds over the whole build.
    registered = _REGISTERED.match(build, build.rfind(_BEFORE) + len(_BEFORE))
    if registered is None:
        return build
    by_kind = {_kind(build, module): module for module in registered[0].replace("()", "").split(",")}
    wanted = sorted(set(kinds) - {ALWAYS})
    if not by_kind.keys() >= set(wanted):
        return build
    calls = ",".join(f"{by_kind[kind]}()" for kind in wanted)
    return build[: registered.start()] + calls + build[registered.end() :]


def _kind(build: str, module: str) -> str | None:
    """Returns the kind of trace that a module of the build hands on."""
    handed_on = _HANDED_ON.match(build, build.find(f"var {module}=") + len(f"var {module}"))
    if handed_on is None:
        return None
    begins = build.find(f"var {handed_on[2]}=")
    named = _NAMED.search(build, begins, begins + _MOST_CHARACTERS)
    return named[1] if named else None


def plotly_build() -> str:
    """Returns what pages load."""
    return with_kinds(_whole().read_text("utf-8"), KINDS)


def plotly_fingerprint() -> str:
    """Returns what changes with the build, for its address."""
    made_of = f"{_whole().stat().st_mtime} {sorted(KINDS)}"
    return hashlib.sha256(made_of.encode()).hexdigest()[:16]


def _whole() -> Path:
    return Path(plotly.__file__).parent / "package_data/plotly.min.js"
