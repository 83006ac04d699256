"""Elements without identifiers travel as one component; everything else stays what it was."""

from __future__ import annotations

from typing import Any

import dash_mantine_components as dmc
from dash import html

from frontend.components.elements import Link, attributes
from frontend.components.markup import Markup, lean


def test_elements_become_one_component() -> None:
    found = lean(html.Div([html.Span("a", className="b"), 3, None], **attributes(data_x="1")))
    assert isinstance(found, Markup)
    assert found.tree == [["div", {"data-x": "1"}, [["span", {"className": "b"}, ["a"]], "3"]]]
    assert getattr(found, "children", None) is None


def test_what_a_callback_may_name_stays_a_component_at_its_place() -> None:
    button = dmc.Button("go", id="go")
    named = html.Div([html.P("x"), html.P("y")], id="named")
    found: Any = lean([html.Div(["before", button]), html.Div(named)])
    assert found.tree == [["div", {}, ["before", 0]], ["div", {}, [1]]]
    assert found.children[0].id == "go"
    assert found.children[1].id == "named"
    assert found.children[1].children.tree == [["p", {}, ["x"]], ["p", {}, ["y"]]]
    assert isinstance(named.children, list), "the content that was given stays as it was"


def test_links_stay_within_the_dashboard() -> None:
    found: Any = lean(html.Div(Link("runs", href="/runs")))
    assert found.tree == [["div", {}, [["Link", {"href": "/runs"}, ["runs"]]]]]


def test_an_explanation_is_drawn_with_the_word_that_it_explains() -> None:
    found: Any = lean(html.Div(dmc.Tooltip(html.Span("K1"), label="Eq. 11")))
    assert found.tree == [["div", {}, [["Tooltip", {"label": "Eq. 11"}, [["span", {}, ["K1"]]]]]]]


def test_what_is_no_element_is_left_alone() -> None:
    assert lean("text") == "text"
    assert lean(None) is None
    single = html.Div("only one")
    assert lean([single])[0].children == "only one"
    buttons = [html.Button("a", n_clicks=0), html.Button("b", n_clicks=0)]
    assert [type(each) for each in lean(buttons)] == [html.Button, html.Button]
