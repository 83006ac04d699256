"""Markdown written by users, as HTML that is safe in any page: no raw HTML, no images, only links to web pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

_SCHEMES = frozenset({"http", "https"})
_DEEPEST = 6


def _is_web_page(address: str) -> bool:
    return urlsplit(address).scheme.lower() in _SCHEMES


def _heading(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, _: Any) -> str:
    # The page's own headings come before: # is the third level.
    token = tokens[index]
    token.tag = f"h{min(_DEEPEST, int(token.tag[1:]) + 2)}"
    return self.renderToken(tokens, index, options, {})


def _link(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, _: Any) -> str:
    tokens[index].attrs |= {"target": "_blank", "rel": "noopener noreferrer nofollow"}
    return self.renderToken(tokens, index, options, {})


def _parser() -> MarkdownIt:
    # An image would tell another site who reads this.
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
    parser.validateLink = _is_web_page  # type: ignore[assignment, method-assign]  # as the parser wants it
    parser.add_render_rule("heading_open", _heading)
    parser.add_render_rule("heading_close", _heading)
    parser.add_render_rule("link_open", _link)
    return parser


_PARSER = _parser()


def markdown_html(source: str) -> str:
    """Return the text with its lists, tables, code and links; what looks like HTML stays text."""
    return str(_PARSER.render(source))
