"""Amendments to other packages' scripts, applied as they are served, that save browsers needless work."""

from __future__ import annotations

from typing import NamedTuple


class Amendment(NamedTuple):
    """A text that occurs once in a package's script, and its replacement."""

    package: str
    file: str
    was: str
    now: str


_TABLE, _RENDERER = "dash_ag_grid.min.js", "dash-renderer/build/dash_renderer.min.js"

AMENDMENTS = (
    # A style that lets the table's parent set its look, for whatever element has a table right within. To know,
    # browsers ask all that is around whatever they draw or change: more than half of what they spend on the styles of
    # a page with a table. Ours sets its look by its theme.
    Amendment("dash_ag_grid", _TABLE, ":has(> ${l}):not(${l})", ":not(*)"),
    # Every component of a page looks at the page's state after each event, also after one that changed nothing.
    Amendment(
        "dash",
        _RENDERER,
        "t.onStateChange=t.notifyNestedSubs,",
        "t.onStateChange=function(e){return function(){"
        "var r=n.getState();r!==e&&(e=r,t.notifyNestedSubs())}}(n.getState()),",
    ),
    # What is new on a page has whatever stood in its place forgotten. Where nothing did, the rest was still put
    # together again, at which every component looks: on a page of 400 components a hundred thousand times.
    Amendment(
        "dash",
        _RENDERER,
        "if(o){var i=$i(o);return Object.fromEntries(",
        "if(o){var i=$i(o);"
        "if(!Object.keys(t).some(function(e){return e.startsWith(i)}))return t;return Object.fromEntries(",
    ),
)


def amended(package: str, script: str) -> str:
    """Return a package's script as it is sent."""
    for each in AMENDMENTS:
        if each.package == package:
            script = script.replace(each.was, each.now)
    return script
