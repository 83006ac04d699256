"""Notes in Markdown: what people mean by it, and nothing that they could do with it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from plotly.utils import PlotlyJSONEncoder

from frontend.components.text import markdown


def tree(source: str) -> Any:
    """The components as nested lists: type, text or children."""

    def plain(part: Any) -> Any:
        if not isinstance(part, dict):
            return part
        children = part["props"].get("children")
        inner = [plain(child) for child in children] if isinstance(children, list) else [plain(children)]
        return [part["type"], *([part["props"]["href"]] if "href" in part["props"] else []), *inner]

    return plain(json.loads(json.dumps(markdown(source), cls=PlotlyJSONEncoder)))[1:]


def test_paragraphs_lists_and_code_become_their_elements() -> None:
    assert tree("# Title\n\nIt is *so* **bold**.") == [
        ["H3", "Title"],
        ["P", "It is ", ["Em", "so"], " ", ["Strong", "bold"], "."],
    ]
    assert tree("- a\n- b") == [["Ul", ["Li", ["P", "a"]], ["Li", ["P", "b"]]]]
    assert tree("`c1`\n\n```\nx < 1\n```") == [["P", ["Code", "c1"]], ["Pre", ["Code", "x < 1\n"]]]
    assert tree("| a |\n|---|\n| 1 |") == [["Table", ["Thead", ["Tr", ["Th", "a"]]], ["Tbody", ["Tr", ["Td", "1"]]]]]


def test_a_link_to_a_web_page_is_one() -> None:
    assert tree("[paper](https://arxiv.org/abs/2602.20722)") == [
        ["P", ["A", "https://arxiv.org/abs/2602.20722", "paper"]]
    ]


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "/logout",
        "//evil.example",
        "ftp://x",
    ],
)
def test_any_other_link_is_text(address: str) -> None:
    assert '"A"' not in json.dumps(tree(f"[press]({address})"))
    assert "press" in json.dumps(tree(f"[press]({address})"))


@pytest.mark.parametrize(
    "source", ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "a <b onclick=alert(1)>b</b> c"]
)
def test_html_stays_text(source: str) -> None:
    found = tree(source)
    assert found == [["P", *found[0][1:]]]
    assert "".join(found[0][1:]) == source


def test_an_image_is_not_loaded() -> None:
    assert tree("![who](https://evil.example/pixel.png)") == [["P", "who"]]


def test_an_unfinished_or_empty_text_is_shown_as_it_is() -> None:
    assert tree("**bold") == [["P", "**bold"]]
    assert markdown("").children == []
