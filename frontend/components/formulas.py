"""Formulas in LaTeX as MathML that a page draws: elements and attributes of ours, none that names an address."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from html import unescape
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert_to_element

from frontend.components.markup import Tree

LONGEST_FORMULA = 1_000
"""Letters; a longer formula is shown as its source."""
_ELEMENTS = frozenset(
    (
        *("math", "menclose", "mfrac", "mi", "mn", "mo", "mover", "mpadded", "mphantom", "mroot", "mrow", "mspace"),
        *("msqrt", "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtext", "mtr", "munder", "munderover"),
    )
)
_ATTRIBUTES: Mapping[str, str] = {
    "display": "display",
    "displaystyle": "displaystyle",
    "scriptlevel": "scriptlevel",
    "mathvariant": "mathvariant",
    "stretchy": "stretchy",
    "fence": "fence",
    "form": "form",
    "accent": "accent",
    "columnalign": "columnalign",
    "linethickness": "linethickness",
    "minsize": "minsize",
    "maxsize": "maxsize",
    "lspace": "lspace",
    "width": "width",
    "notation": "className",
}
"""Attribute of MathML to property of ours."""
_VALUE = re.compile(r"[a-z]{1,20}|[+-]?\d{0,2}(\.\d+)?(em|ex|pt)?")
"""A word, or a length that fits a page."""
_DEEPEST = 60
_LINES = re.compile(r"\\(begin|end)\{(?:align|gather|equation|split)(?:ed)?\*?\}")
"""Environments of several lines, of which the converter knows `align` alone, and numbers each formula as the first."""


@lru_cache(maxsize=4_096)
def _converted(source: str, display: str) -> Tree | None:
    try:
        return _tree(convert_to_element(_LINES.sub(r"\\\1{align*}", source), display=display))
    except Exception:
        # The converter fails in many ways, and models write anything.
        return None


def formula(source: str, *, is_block: bool, is_answer: bool = False) -> Tree:
    """Return the element that shows a formula, with its source as the tooltip; the source where it is no formula."""
    source = source.strip()
    classes = " ".join(["formula", *(["formula-block"] if is_block else []), *(["answer"] if is_answer else [])])
    drawn = _converted(source, "block" if is_block else "inline") if len(source) <= LONGEST_FORMULA else None
    within = ["code", {}, [source]] if drawn is None else drawn
    return ["span", {"className": classes, "title": source[:LONGEST_FORMULA]}, [within]]


def _tree(element: Element, depth: int = 0) -> Tree:
    if depth > _DEEPEST:
        raise ValueError("the formula is nested deeper than an answer in JSON can be")
    properties = {
        _ATTRIBUTES[name]: value
        for name, value in element.attrib.items()
        if name in _ATTRIBUTES and _VALUE.fullmatch(value)
    }
    within: Tree = [unescape(element.text)] if element.text else []
    name = element.tag if element.tag in _ELEMENTS else "mrow"
    return [name, properties, within + [_tree(child, depth + 1) for child in element]]
