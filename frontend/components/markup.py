"""Elements that no callback names, as one component: Dash looks at each component of a page at every change."""

from __future__ import annotations

from copy import copy
from typing import Any

import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from frontend.components.elements import NAMESPACE, Element, Link

_NAMED_BY_CALLBACKS = frozenset({"id", "n_clicks", "n_clicks_timestamp"})
_TAGS = frozenset(
    {
        *("A", "B", "Br", "Button", "Code", "Dd", "Details", "Div", "Dl", "Dt", "Em", "Figure", "Footer", "H1", "H2"),
        *("H3", "H4", "Header", "Hr", "I", "Img", "Kbd", "Label", "Li", "Ol", "P", "Pre", "Section", "Small", "Span"),
        *("Strong", "Sub", "Summary", "Sup", "Table", "Tbody", "Td", "Th", "Thead", "Time", "Tr", "Ul"),
    }
)
"""Elements that only show something."""
_DRAWN_BY_SCRIPTS = (Link, dmc.Tooltip)
"""Components of which a page may have many; `_markup.js` draws them without Dash."""
_FEWEST = 2
"""Elements that are worth a component of their own kind."""

Tree = list[Any]
"""Texts, numbers of children that are components of Dash, and elements: name, properties, and a tree within."""


class Markup(Element):
    """Draws a tree of elements without identifiers, with Dash's components at their places (assets/_markup.js)."""

    _namespace = NAMESPACE
    _prop_names = ["children", "tree"]  # noqa: RUF012 - as Dash declares them
    tree: Tree
    children: list[Any] | None

    def __init__(self, tree: Tree, components: list[Any]) -> None:
        super().__init__(tree=tree, children=components or None)


class Later(Element):
    """Draws its content when it is first in sight; until then callbacks read and set what it holds, as ever."""

    _namespace = NAMESPACE
    _prop_names = ["children"]  # noqa: RUF012

    def __init__(self, content: Component) -> None:
        super().__init__(children=content)


def lean(content: Any) -> Any:
    """Return the content with as few components of Dash as there can be; it looks and behaves as before."""
    return _lean(content, {})


def tree_of(content: Any) -> Tree:
    """Return the tree of elements that no callback names, as a property of a component that draws it itself."""
    components: list[Any] = []
    tree = _tree(content, components, {})
    assert not components, "only elements that no callback names can be drawn without Dash"
    return tree


def _lean(content: Any, done: dict[int, Any]) -> Any:
    """Return the content as `lean` does; `done` caches converted components, which a discarded tree visits twice."""
    components: list[Any] = []
    tree = _tree(content, components, done)
    if _num_elements(tree) >= _FEWEST:
        return Markup(tree, components)
    if isinstance(content, list | tuple):
        return [_lean_within(each, done) for each in content]
    return _lean_within(content, done)


def _tree(content: Any, components: list[Any], done: dict[int, Any]) -> Tree:
    """Return the content's tree, and append what stays a component of Dash to `components`."""
    if content is None or isinstance(content, bool):
        return []
    if isinstance(content, list | tuple):
        return [node for each in content for node in _tree(each, components, done)]
    if not isinstance(content, Component):
        return [str(content)]
    if not _is_plain(content):
        components.append(_lean_within(content, done))
        return [len(components) - 1]
    untyped: Any = content
    properties = untyped.to_plotly_json()["props"]
    within = _tree(properties.pop("children", None), components, done)
    name = content._type if isinstance(content, _DRAWN_BY_SCRIPTS) else content._type.lower()
    return [[name, properties, within]]


def _is_plain(component: Component) -> bool:
    is_known = isinstance(component, _DRAWN_BY_SCRIPTS) or (
        component._namespace == html.Div._namespace and component._type in _TAGS
    )
    return is_known and not any(hasattr(component, name) for name in _NAMED_BY_CALLBACKS)


def _lean_within(content: Any, done: dict[int, Any]) -> Any:
    """Return a component with lean children."""
    if not isinstance(content, Component) or getattr(content, "children", None) is None:
        return content
    if id(content) not in done:
        changed = copy(content)
        changed.children = _lean(content.children, done)
        done[id(content)] = changed
    return done[id(content)]


def _num_elements(tree: Tree) -> int:
    return sum(1 + _num_elements(node[2]) for node in tree if isinstance(node, list))
