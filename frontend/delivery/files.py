"""Files that pages load: our scripts and styles as one file each, all compressed once and cached by the browser.

The addresses hold a hash or a version, so that a browser need never ask again. Scripts of other packages are amended as
they are served, which saves browsers needless work.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import mimetypes
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from dash import Dash, fingerprint
from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from frontend.delivery.plotly_build import plotly_build, plotly_fingerprint
from frontend.request.calls import Act, refusing_other_types
from frontend.request.prefix import served


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


OWN = Path(__file__).parents[1] / "assets"
SUITES = "/_dash-component-suites/"
PLOTLY = ("plotly", "package_data/plotly.min.js")
"""Package and file; Dash asks for it when the first chart is drawn, pages with charts from their head."""
FOR_EVER = "private, max-age=31536000, immutable"
ASK_AGAIN = "private, no-cache"
TABLE = ("dash_ag_grid", "async-community.js")
"""Package and file that the run list's table would request when it is first drawn."""
_UNNEEDED = ("/dash/deps/polyfill@", "/dash/dash_table/", "/dash/dcc/")
"""In place of Dash's core components there are a few of our own, of a hundredth of the size (frontend/components/)."""
_WITH_TABLE = ("/runs",)
"""Pages with a table that sorts, filters and fetches its rows."""
_SCRIPT = re.compile(rf'"[^"]*?({SUITES}([^/"]+)/([^"]+))"')
_FACTORY = re.compile(r'\}\s*\((?:self|typeof self !== "undefined" \? self : this), ?(?=\([\w,]*\) ?=> ?[({])')
"""In the first lines of a script: before the function that its wrapper calls with all the rest in it."""
_FIRST_LINES, _LAST_LINE = 1000, ");"


class CompressedFile:
    """A file as it travels."""

    def __init__(self, read: Callable[[], bytes], media_type: str, caching: str) -> None:
        self._read, self._media_type, self._caching = read, media_type, caching
        self._kept: tuple[bytes, str] | None = None

    def _compressed(self) -> tuple[bytes, str]:
        """Return the content and its tag."""
        if self._kept is None:
            content = gzip.compress(self._read(), 6, mtime=0)
            self._kept = content, f'"{hashlib.sha256(content).hexdigest()[:20]}"'
        return self._kept

    async def answer(self, request: Headers) -> Response:
        """Return the answer to a browser that has the file cached, and to one that has not."""
        # Plotly's build takes a good part of a second, once.
        content, tag = await asyncio.to_thread(self._compressed) if self._kept is None else self._kept
        headers = {"etag": tag, "cache-control": self._caching, "vary": "accept-encoding"}
        if tag in request.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if "gzip" in request.get("accept-encoding", ""):
            headers["content-encoding"] = "gzip"
        else:
            content = gzip.decompress(content)
        return Response(content, headers=headers, media_type=self._media_type)


def read_at_once(script: str) -> str:
    """Return a script that is one function with that function in parentheses; any other as it is.

    Browsers compile such a function when they first read it, in parallel to the page. Any other they only skim, and
    parse again when it is called, which blocks the page.
    """
    factory, whole = _FACTORY.search(script, 0, _FIRST_LINES), script.rstrip()
    if factory is None or not whole.endswith(_LAST_LINE):
        return script
    return f"{script[: factory.end()]}({whole[factory.end() :].removesuffix(_LAST_LINE)}){_LAST_LINE}\n"


class Bundle:
    """Several files, and further text, as one file, whose address changes with them."""

    def __init__(self, files: Iterable[Path], suffix: str, *more: str) -> None:
        text = "\n".join([*(path.read_text("utf-8") for path in files), *more])
        self._content = text.encode()
        self.address = f"/assets/all.{hashlib.sha256(self._content).hexdigest()[:16]}.{suffix}"
        """Address in the folder of our files, which styles name by relative addresses."""

    def file(self) -> CompressedFile:
        """Return the file to be sent."""
        return CompressedFile(lambda: self._content, str(mimetypes.guess_type(self.address)[0]), FOR_EVER)


def own_files(suffix: str) -> list[Path]:
    """Return our scripts or styles, without the script in the document's head."""
    return sorted(path for path in OWN.glob(f"*.{suffix}") if path.name != "first.js")


class Pages(Dash):
    """Dash whose pages load no script that they do not need (assets/_components.js), and open no WebSocket."""

    def callback(self, *arguments: Any, **options: Any) -> Callable[[Act], Act]:
        """Register a callback, which refuses values of other types than it declares instead of failing at them."""
        untyped: Any = super()
        register: Callable[[Act], Act] = untyped.callback(*arguments, **options)
        return lambda act: register(refusing_other_types(act))

    def _config(self) -> dict[str, Any]:
        # Dash's own script would start a worker on every page to connect to an address that the gate refuses.
        untyped: Any = super()
        config: dict[str, Any] = untyped._config()
        return {name: value for name, value in config.items() if name != "websocket"}

    def interpolate_index(self, **parts: str) -> str:  # type: ignore[override]
        """Return the document that a page begins with."""
        scripts = parts["scripts"]
        table = next(address for address, package, _ in _SCRIPT.findall(scripts) if package == "dash_ag_grid")
        path = self.backend.request_adapter().path
        has_table, rest = path in _WITH_TABLE, fingerprinted(*TABLE)
        unneeded = _UNNEEDED if has_table else (*_UNNEEDED, table)
        kept = [line for line in scripts.splitlines() if not any(part in line for part in unneeded)]
        if has_table:
            kept.append(f'<script src="{served(rest)}"></script>')
        untyped: Any = super()
        page = str(untyped.interpolate_index(**{**parts, "scripts": "\n".join(kept)}))
        return page.replace("@TABLE@", table).replace("@REST@", rest)


class PageFiles:
    """ASGI app in front of Dash that sends the files of pages."""

    def __init__(self, pages: ASGIApp, app: Dash, bundles: Iterable[Bundle]) -> None:
        self._others = GZipMiddleware(pages, minimum_size=1000, compresslevel=5)
        self._files = {**_component_files(app), **{bundle.address: bundle.file() for bundle in bundles}}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        file = self._files.get(scope["path"])
        if file is None or scope["method"] not in ("GET", "HEAD"):
            await self._others(scope, receive, send)
            return
        answer = await file.answer(Headers(scope=scope))
        await answer(scope, receive, send)


def _component_files(app: Dash) -> Mapping[str, CompressedFile]:
    """Return the files of Dash's components, by the addresses that pages ask for them under."""
    found = {
        f"{SUITES}{package}/{path}": _component_file(package, path, ASK_AGAIN)
        for package, paths in app.registered_paths.items()
        for path in paths
        if not path.endswith(".map")
    }
    fingerprints: Any = fingerprint
    for address, package, path in _SCRIPT.findall(app._generate_scripts_html()):
        found[address] = _component_file(package, fingerprints.check_fingerprint(path)[0], FOR_EVER)
    found[plotly_address()] = _component_file(*PLOTLY, FOR_EVER)
    found[fingerprinted(*TABLE)] = _component_file(*TABLE, FOR_EVER)
    return {address: file for address, file in found.items() if not any(part in address for part in _UNNEEDED)}


def plotly_address() -> str:
    """Return the address of the file that draws charts, which changes with it."""
    return fingerprinted(*PLOTLY, plotly_fingerprint())


def fingerprinted(package: str, path: str, changed: int | str = 0) -> str:
    """Return the address of a package's file, which changes with the package's version, or with `changed`."""
    fingerprints: Any = fingerprint
    return f"{SUITES}{package}/{fingerprints.build_fingerprint(path, version(package), changed)}"


@cache
def _component_file(package: str, path: str, caching: str) -> CompressedFile:
    # Kept for all apps of a process: the packages do not change while it runs.
    media_type = mimetypes.guess_type(path)[0] or "application/octet-stream"
    place = Path(str(sys.modules[package].__file__)).parent / path

    def content() -> bytes:
        if place.suffix != ".js":
            return place.read_bytes()
        script = plotly_build() if (package, path) == PLOTLY else place.read_text("utf-8")
        return read_at_once(amended(package, script)).encode()

    return CompressedFile(content, media_type, caching)
