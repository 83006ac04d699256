"""GET /documents/docs/studies.md: the documents of the installed version, as pages; their links lead to one another."""

from __future__ import annotations

import html
import re
import sysconfig
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

from frontend.delivery.plain_page import document
from frontend.request.answers import problem
from frontend.request.prefix import served

DOCUMENTS_PREFIX = "/documents/"
START = "README.md"
DASHBOARD = "docs/dashboard.md"
PATTERNS = (
    "[A-Z]*.md",
    "docs/*.md",
    "docs/benchmarks/*.md",
    "docs/studies/*.md",
    "docs/images/*",
    "DECISIONS/*.md",
    "examples/README.md",
)
_FOLDERS = (Path(__file__).parents[2], Path(sysconfig.get_path("data")) / "share" / "doc" / "bapo-control-plane")
"""A checkout; where pip puts the documents of an installation."""
# Raw HTML is allowed: these texts are ours.
_PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


@cache
def documents() -> Mapping[str, Path]:
    """Return what is served: name, such as `docs/studies.md`, to file. Empty where no documents are installed."""
    folder = next((each for each in _FOLDERS if (each / "docs").is_dir()), None)
    found = [] if folder is None else [path for pattern in PATTERNS for path in folder.glob(pattern)]
    return {path.relative_to(folder).as_posix(): path for path in found if folder and not path.is_symlink()}


def address(place: str) -> str:
    """Return where a browser reads a document, with or without a section: `docs/studies.md#the-file`."""
    return served(DOCUMENTS_PREFIX + place)


def document_of(request: Request) -> Response:
    """Return the document or image of an address."""
    name = request.url.path.removeprefix(DOCUMENTS_PREFIX) or START
    path = documents().get(name)
    if path is None or request.method not in ("GET", "HEAD"):
        return problem(404, "not_found", f"there is no such document: begin at {address(START)}")
    if path.suffix != ".md":
        return FileResponse(path)
    title, content = rendered(name, path.read_text("utf-8"))
    links = f'<nav><a href="{served("/runs")}">Dashboard</a> <a href="{address(START)}">Documents</a></nav>'
    return HTMLResponse(document(f"{title} · BAPO", links + content, style=_STYLE))


def rendered(name: str, text: str) -> tuple[str, str]:
    """Return title and markup. Headings have the anchors that GitHub gives them; a link to what is not served is
    plain text."""
    tokens = _PARSER.parse(text)
    seen: dict[str, int] = {}
    title = name
    for token, content in pairwise(tokens):
        if token.type == "heading_open":
            slug = re.sub(r"[^\w\- ]", "", content.content.lower()).replace(" ", "-")
            token.attrSet("id", f"{slug}-{seen[slug]}" if slug in seen else slug)
            seen[slug] = seen.get(slug, 0) + 1
            title = html.unescape(content.content) if token.tag == "h1" else title
    for token in tokens:
        _lead(name, token.children or [])
    return title, str(_PARSER.renderer.render(tokens, _PARSER.options, {}))


def _lead(name: str, inline: list[Token]) -> None:
    """Make the links of a line lead to pages of ours, to other sites in a new tab, or nowhere."""
    for opening, closing in _links(inline):
        target = str(opening.attrs["href"])
        path, _, _ = target.partition("#")
        if "://" in target:
            opening.attrs |= {"target": "_blank", "rel": "noopener"}
        elif path and normpath(join(dirname(name), path)) not in documents():
            opening.tag = closing.tag = "span"
            opening.attrs = {}


def _links(inline: list[Token]) -> Iterator[tuple[Any, Any]]:
    opening = None
    for token in inline:
        if token.type == "link_open":
            opening = token
        elif token.type == "link_close":
            yield opening, token


_STYLE = """
body { display: block; line-height: 1.6; }
main { max-width: 900px; margin: 0 auto; overflow-wrap: break-word; }
nav { display: flex; gap: 16px; margin-bottom: 24px; font-size: 13px; }
a { color: var(--accent); }
h1, h2, h3, h4 { margin: 28px 0 12px; font-size: 17px; color: var(--text); }
h1 { margin-top: 0; font-size: 26px; } h2 { font-size: 21px; }
img { max-width: 100%; background: #fff; }
pre { padding: 12px; overflow-x: auto; border: 1px solid var(--border); border-radius: 8px; background: var(--page); }
code { overflow-wrap: break-word; }
table { display: block; overflow-x: auto; border-collapse: collapse; font-size: 14px; }
th, td { padding: 6px 10px; text-align: left; vertical-align: top; border: 1px solid var(--border); }
ul { font-size: inherit; color: inherit; }
"""
