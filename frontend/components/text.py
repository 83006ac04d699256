"""Text that pages show: points in time, and Markdown that people wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from dash import html
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from bapo.figures import formatting
from frontend.components.elements import attributes


def moment(at: datetime | None, *, relative: bool = True, now: datetime | None = None) -> Any:
    """Return an age that keeps itself up to date, or date and time; the exact time with its zone shows on hover.

    Of a moment to come, the age is the time until then. The text is in UTC, until the browser has put its own zone in
    its place.
    """
    if at is None:
        return formatting.MISSING
    now = now or datetime.now(UTC)
    shown, text = "time", formatting.exact_time(at)
    if relative:
        # The browser's clock may differ: whether this is to come is for the server's to say.
        shown, text = ("until", formatting.until(at, now)) if at > now else ("age", formatting.ago(at, now))
    return html.Time(
        text,
        dateTime=at.astimezone(UTC).isoformat(timespec="seconds"),
        className="moment",
        title=formatting.exact_time(at),
        **attributes(data_shown=shown),
    )


_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_SCHEMES = frozenset({"http", "https"})

_ELEMENTS: Mapping[str, type[Any]] = {
    "paragraph": html.P,
    "bullet_list": html.Ul,
    "ordered_list": html.Ol,
    "list_item": html.Li,
    "blockquote": html.Blockquote,
    "em": html.Em,
    "strong": html.Strong,
    "s": html.S,
    "table": html.Table,
    "thead": html.Thead,
    "tbody": html.Tbody,
    "tr": html.Tr,
    "th": html.Th,
    "td": html.Td,
}
_HEADINGS = (html.H3, html.H4, html.H5, html.H6)
"""The page's own headings come before: # is the third level."""
_LEAVES: Mapping[str, Callable[[str], Any]] = {
    "softbreak": lambda _: " ",
    "hardbreak": lambda _: html.Br(),
    "hr": lambda _: html.Hr(),
    "code_inline": html.Code,
    "fence": lambda content: html.Pre(html.Code(content)),
    "code_block": lambda content: html.Pre(html.Code(content)),
}


def plain(text: str) -> str:
    """Return a line of the API's without the backticks around code, for use outside Markdown."""
    return text.replace("`", "")


def first_line(source: str) -> str:
    """Return the first line that says something, without the signs of a heading."""
    lines = (line.lstrip("#").strip() for line in source.splitlines())
    return next((line for line in lines if line), "")


def markdown(source: str) -> html.Div:
    """Return the text with its lists, tables, code and links to web pages; raw HTML and images stay text."""
    return html.Div(_children(SyntaxTreeNode(_PARSER.parse(source))), className="markdown")


def _children(node: SyntaxTreeNode) -> list[Any]:
    return [part for child in node.children for part in _rendered(child)]


def _rendered(node: SyntaxTreeNode) -> list[Any]:
    if node.type in _LEAVES:
        return [_LEAVES[node.type](node.content)]
    if node.type in _ELEMENTS:
        return [_ELEMENTS[node.type](_children(node))]
    if node.type == "heading":
        level = min(int(node.tag[1:]), len(_HEADINGS))
        return [_HEADINGS[level - 1](_children(node))]
    if node.type == "link":
        return [_link(node)]
    # Text, and what the page does not show as it is: an image, which would tell another site who reads this.
    return [node.content] if node.type in ("text", "image") else _children(node)


def _link(node: SyntaxTreeNode) -> Any:
    address = str(node.attrs.get("href", ""))
    if urlsplit(address).scheme.lower() not in _SCHEMES:
        return html.Span(_children(node))
    return html.A(_children(node), href=address, target="_blank", rel="noopener noreferrer nofollow", title=address)
