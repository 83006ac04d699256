"""Markdown as elements of a page: notes that people wrote, and responses of models with their formulas.

Raw HTML and images stay text, so that nothing in a text acts, or tells another site who reads it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from dash import html
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.tree import SyntaxTreeNode

from bapo.answer_text import Span, box_at
from frontend.components.formulas import LONGEST_FORMULA, formula
from frontend.components.markup import Markup, Tree

LONGEST_RENDERED = 40_000
"""Letters of a response, about 10,000 tokens; what is longer stays text, because the parser takes the square of it."""

_SCHEMES = frozenset({"http", "https"})
_ELEMENTS: Mapping[str, str] = {
    "paragraph": "p",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    **{name: name for name in ("blockquote", "em", "strong", "s", "table", "thead", "tbody", "tr", "th", "td")},
}
_HEADINGS = ("h3", "h4", "h5", "h6")
"""The page's own headings come before: # is the third level."""
_OPEN, _CLOSE = "\ue000", "\ue001"
"""Delimiters of the answer while a response is parsed: letters for private use, which a text has no use for."""
_SIGNS = re.compile(f"[{_OPEN}{_CLOSE}]")

# ---------------------------------------------------------------- formulas in Markdown

_FORMULA = re.compile(
    rf"\$\$([^$]{{1,{LONGEST_FORMULA}}})\$\$|\\\[(.{{1,{LONGEST_FORMULA}}}?)\\\]|\\\((.{{1,{LONGEST_FORMULA}}}?)\\\)"
    # An amount of money is no formula: it has a space before the next sign, or a digit after it.
    rf"|\$(?![\s$])([^$\n]{{0,{LONGEST_FORMULA}}}?[^\s\\$])\$(?!\d)",
    re.DOTALL,
)
_BLOCKS: Mapping[str, str] = {"$$": "$$", r"\[": r"\]"}
_PRODUCT = re.compile(r"(?<=[0-9A-Za-z)])\*{1,2}(?=[0-9A-Za-z(])")


def _inline_formula(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    box = box_at(state.src[state.pos : state.pos + LONGEST_FORMULA], 0)
    if box is not None and box[0] < box[1]:
        end = state.pos + box[1] + 1
        content = state.src[state.pos : end]
    elif match := _FORMULA.match(state.src, state.pos):
        end = match.end()
        content = next(group for group in match.groups() if group is not None)
    else:
        return False
    if not silent:
        state.push("formula", "", 0).content = content
    state.pos = end
    return True


def _formula_block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Read a formula that begins a line and ends one: its own lines may look like lists or headings."""
    start = state.bMarks[first] + state.tShift[first]
    close = _BLOCKS.get(state.src[start : min(start + 2, state.eMarks[first])])
    end = -1 if close is None else state.src.find(close, start + 2, start + LONGEST_FORMULA)
    line = bisect_left(state.eMarks, end, first, last) if end >= 0 else last
    if line == last or state.src[end + 2 : state.eMarks[line]].strip():
        return False
    if not silent:
        token = state.push("formula_block", "", 0)
        token.content = state.getLines(first, line + 1, state.blkIndent, False).strip()[2:-2]
        token.map = [first, line + 1]
        state.line = line + 1
    return True


def _product(state: StateInline, silent: bool) -> bool:
    """Read 3*4 and 2**3 as they are: models mean no emphasis by it."""
    match = _PRODUCT.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        state.pending += match[0]
    state.pos = match.end()
    return True


def _response_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    # Links stay text: an address that a model makes up leads anywhere.
    parser.disable(
        ["link", "image", "autolink", "html_inline", "html_block", "reference", "entity", "code", "lheading"]
    )
    parser.inline.ruler.before("escape", "formula", _inline_formula)
    parser.inline.ruler.before("emphasis", "product", _product)
    interrupts = {"alt": ["paragraph", "blockquote", "list"]}
    parser.block.ruler.before("fence", "formula_block", _formula_block, interrupts)  # type: ignore[arg-type]
    return parser


_NOTES = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_RESPONSES = _response_parser()

# ---------------------------------------------------------------- elements


def markdown(source: str) -> html.Div:
    """Return a note with its lists, tables, code and links to web pages."""
    tree = _Renderer(is_response=False).tree(SyntaxTreeNode(_NOTES.parse(source)))
    return html.Div(Markup(tree, []) if tree else [], className="markdown")


def response_tree(text: str, answer: Span | None = None) -> Tree:
    """Return what a model wrote as a tree, with its formulas; the letters of the answer are marked."""
    if len(text) > LONGEST_RENDERED:
        return [["p", {}, [text]]]
    text = _SIGNS.sub("\ufffd", text)
    if answer is not None:
        start, end = answer
        text = f"{text[:start]}{_OPEN}{text[start:end]}{_CLOSE}{text[end:]}"
    return _Renderer(is_response=True).tree(SyntaxTreeNode(_RESPONSES.parse(text)))


class _Renderer:
    """Turns the syntax tree of one text into elements."""

    def __init__(self, *, is_response: bool) -> None:
        self._is_response = is_response
        self._is_answer = False

    def tree(self, node: SyntaxTreeNode) -> Tree:
        return [part for child in node.children for part in self._rendered(child)]

    def _rendered(self, node: SyntaxTreeNode) -> Tree:
        found: Tree
        match node.type:
            case "formula" | "formula_block":
                found = [self._formula(node.content, is_block=node.type == "formula_block")]
            case "text" | "image":
                found = list(self._marked(node.content))
            case "code_inline":
                found = [["code", {}, list(self._marked(node.content))]]
            case "fence" | "code_block":
                found = [["pre", {}, [["code", {}, list(self._marked(node.content))]]]]
            case "softbreak":
                # A model ends a line of its reasoning as a person ends a line of a sum.
                found = [["br", {}, []] if self._is_response else " "]
            case "hardbreak" | "hr":
                found = [["br" if node.type == "hardbreak" else "hr", {}, []]]
            case "heading":
                level = min(int(node.tag[1:]), len(_HEADINGS))
                found = [[_HEADINGS[level - 1], {}, self.tree(node)]]
            case "link":
                found = [self._link(node)]
            case kind if kind in _ELEMENTS:
                found = [[_ELEMENTS[kind], self._properties(node), self.tree(node)]]
            case _:
                found = self.tree(node)
        return found

    def _marked(self, content: str) -> Iterator[Any]:
        """Yield the pieces of a text; those of the answer as marks."""
        at = 0
        for sign in _SIGNS.finditer(content):
            yield from self._piece(content[at : sign.start()])
            self._is_answer, at = sign[0] == _OPEN, sign.end()
        yield from self._piece(content[at:])

    def _piece(self, text: str) -> Iterator[Any]:
        if text:
            yield ["mark", {"className": "answer"}, [text]] if self._is_answer else text

    def _formula(self, content: str, *, is_block: bool) -> Tree:
        signs = _SIGNS.findall(content)
        is_answer = self._is_answer or bool(signs)
        if signs:
            self._is_answer = signs[-1] == _OPEN
        return formula(_SIGNS.sub("", content), is_block=is_block, is_answer=is_answer)

    def _link(self, node: SyntaxTreeNode) -> Tree:
        address = str(node.attrs.get("href", ""))
        if urlsplit(address).scheme.lower() not in _SCHEMES:
            return ["span", {}, self.tree(node)]
        properties = {"href": address, "target": "_blank", "rel": "noopener noreferrer nofollow", "title": address}
        return ["a", properties, self.tree(node)]

    def _properties(self, node: SyntaxTreeNode) -> dict[str, Any]:
        if node.type == "list_item" and node.info and self._is_response:
            # Markdown counts on by itself; a model that begins again with 1 means 1.
            return {"value": node.info}
        start = node.attrs.get("start")
        return {} if start is None else {"start": start}
