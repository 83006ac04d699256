"""The build of Plotly as pages load it: set up for the kinds of traces that our figures have.

pip brings only the build with every kind. The others, such as maps and surfaces, are four fifths of the file, and a
browser takes longer to set them up than all the rest.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from itertools import pairwise
from pathlib import Path

import plotly

KINDS = frozenset({"bar", "heatmap", "sankey", "scatter", "table"})
"""Kinds of traces in the dashboard's figures."""
ALWAYS = "scatter"
"""Is part of what every build has."""

_BEFORE = ".register(["
_REGISTERED = re.compile(r"(?:[\w$]+\(\),?)+(?=\]\))")
_HANDED_ON = re.compile(r'=\w+\(\(\w+,(\w+)\)=>\{"use strict";\1\.exports=([\w$]+)\(\)')
_NAMED = re.compile(r'moduleType:"trace",name:"(\w+)"')
_HELPER = re.compile(r"var ([\w$]+)=\(e,t(?:,r)?\)=>\(\)=>\{(?:try\{return t\|\||if\(r\)throw r)")
"""Makes a module, which is run when another one first asks for it."""
_NEXT = re.compile(r"\}\);(?:var|function|async|class) ")
_WORDS = re.compile(r"[\w$]+")
TAKEN_APART = "plotly.js v4.1.1"
"""The build of which modules are left out. A text in another one might look like the beginning of a module."""
_MOST_CHARACTERS = 10_000
"""From the beginning of a trace's module to its name."""


def with_kinds(build: str, kinds: Collection[str]) -> str:
    """Return the build that sets up these kinds of traces alone.

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
    """Return the kind of trace that a module of the build hands on."""
    handed_on = _HANDED_ON.match(build, build.find(f"var {module}=") + len(f"var {module}"))
    if handed_on is None:
        return None
    begins = build.find(f"var {handed_on[2]}=")
    named = _NAMED.search(build, begins, begins + _MOST_CHARACTERS)
    return named[1] if named else None


def with_needed_modules(build: str) -> str:
    """Return the build without the modules that nothing in it names; another build than the known one stays whole."""
    if TAKEN_APART not in build[:_MOST_CHARACTERS]:
        return build
    made = rf"=(?:{'|'.join(map(re.escape, _HELPER.findall(build, 0, _MOST_CHARACTERS)))})\("
    begins = [match.start() for match in re.finditer(rf"(?<=;)var [\w$]+{made}", build)]
    # The last module hands on Plotly itself.
    end = build.index("})();\n", begins[-1])
    modules = [build[start:stop] for start, stop in pairwise([*begins, end])]
    named = re.compile(rf"([\w$]+){made}")
    by_name: dict[str, set[int]] = {}
    for number, module in enumerate(modules):
        for name in named.findall(module):
            by_name.setdefault(name, set()).add(number)
    needed: set[int] = set()
    asking = [build[: begins[0]], modules[-1]]
    while asking:
        names = by_name.keys() & _WORDS.findall(asking.pop())
        new = {number for name in names for number in by_name[name]} - needed
        needed |= new
        asking += [modules[number] for number in new]
    kept = (_read_at_once(module, made) for number, module in enumerate(modules) if number in needed)
    return build[: begins[0]] + "".join(kept) + build[end:]


def _read_at_once(module: str, made: str) -> str:
    """Return a module that is one function with that function in parentheses, as `read_at_once` (files.py)."""
    begins = re.match(rf"var [\w$]+{made}", module)
    # Text between two modules belongs to the first of them.
    if begins is None or not module.endswith("});") or _NEXT.search(module):
        return module
    return f"{module[: begins.end()]}({module[begins.end() : -2]}));"


def plotly_build() -> str:
    """Return what pages load."""
    return with_needed_modules(with_kinds(_whole().read_text("utf-8"), KINDS))


def plotly_fingerprint() -> str:
    """Return what changes with the build, for its address."""
    made_of = f"{_whole().stat().st_mtime} {sorted(KINDS)} {TAKEN_APART}"
    return hashlib.sha256(made_of.encode()).hexdigest()[:16]


def _whole() -> Path:
    return Path(plotly.__file__).parent / "package_data/plotly.min.js"
