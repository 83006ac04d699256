"""Notes and responses in Markdown: what is meant by it, and nothing that a text could do with it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from bapo.answer_text import answer_span
from frontend.components.formulas import formula
from frontend.components.markdown import LONGEST_RENDERED, markdown, response_tree
from frontend.components.markup import Tree


def tree(source: str) -> Tree:
    """The elements of a note: name, properties, and what is within."""
    note: Any = markdown(source)
    found: Tree = note.children.tree
    return found


def elements(found: Tree) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and properties of all elements of a tree."""
    for node in found:
        if not isinstance(node, str):
            yield node[0], node[1]
            yield from elements(node[2])


def names(found: Tree) -> set[str]:
    return {name for name, _ in elements(found)}


def said(found: Tree) -> str:
    """All text of a tree."""
    return "".join(node if isinstance(node, str) else said(node[2]) for node in found)


def marked(text: str) -> list[str]:
    """Texts of the elements that are marked as the answer."""

    def within(found: Tree) -> Iterator[str]:
        for node in found:
            if not isinstance(node, str):
                if "answer" in node[1].get("className", "").split():
                    yield said(node[2])
                else:
                    yield from within(node[2])

    return list(within(response_tree(text, answer_span(text))))


def test_paragraphs_lists_and_code_become_their_elements() -> None:
    assert tree("# Title\n\nIt is *so* **bold**.") == [
        ["h3", {}, ["Title"]],
        ["p", {}, ["It is ", ["em", {}, ["so"]], " ", ["strong", {}, ["bold"]], "."]],
    ]
    assert tree("- a\n- b") == [
        ["ul", {}, [["li", {}, [["p", {}, ["a"]]]], ["li", {}, [["p", {}, ["b"]]]]]],
    ]
    assert tree("`c1`\n\n```\nx < 1\n```") == [
        ["p", {}, [["code", {}, ["c1"]]]],
        ["pre", {}, [["code", {}, ["x < 1\n"]]]],
    ]
    assert said(tree("| a |\n|---|\n| 1 |")) == "a1"
    assert names(tree("| a |\n|---|\n| 1 |")) == {"table", "thead", "tbody", "tr", "th", "td"}


def test_a_link_to_a_web_page_is_one() -> None:
    [(_, _), (name, properties)] = elements(tree("[paper](https://arxiv.org/abs/2602.20722)"))
    assert (name, properties["href"]) == ("a", "https://arxiv.org/abs/2602.20722")
    assert properties["rel"] == "noopener noreferrer nofollow"


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
    assert "a" not in names(tree(f"[press]({address})"))
    assert "press" in said(tree(f"[press]({address})"))


@pytest.mark.parametrize(
    "source", ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "a <b onclick=alert(1)>b</b> c"]
)
def test_html_stays_text(source: str) -> None:
    assert names(tree(source)) == {"p"}
    assert said(tree(source)) == source


def test_an_image_is_not_loaded() -> None:
    assert tree("![who](https://evil.example/pixel.png)") == [["p", {}, ["who"]]]


def test_an_unfinished_or_empty_text_is_shown_as_it_is() -> None:
    assert tree("**bold") == [["p", {}, ["**bold"]]]
    assert markdown("").children == []


# ---------------------------------------------------------------- responses


def test_lines_of_reasoning_stay_lines() -> None:
    assert response_tree("3 + 4 = 7\nso 7") == [["p", {}, ["3 + 4 = 7", ["br", {}, []], "so 7"]]]
    # A line of dashes beneath it makes no heading of a sentence.
    assert names(response_tree("sum\n---\n7")) == {"p", "hr"}


def test_items_have_the_numbers_that_the_model_wrote() -> None:
    numbers = [
        properties["value"] for name, properties in elements(response_tree("1. a\n2. b\n\n1. c")) if name == "li"
    ]
    assert numbers == ["1", "2", "1"]
    assert [properties for name, properties in elements(tree("7. a\n7. b")) if name in ("ol", "li")] == [
        {"start": 7},
        {},
        {},
    ]


@pytest.mark.parametrize("product", ["3*4*2 = 24", "2**3 and 2**4", "(1+2)*(3)*4", "a_1*b_2*c"])
def test_a_product_is_no_emphasis(product: str) -> None:
    assert response_tree(product) == [["p", {}, [product]]]


def test_a_formula_is_mathml_with_its_source() -> None:
    [[_, _, [_, [name, properties, [[math, _, _]]]]]] = response_tree(r"so $\frac{1}{2}$")
    assert (name, properties) == ("span", {"className": "formula", "title": r"\frac{1}{2}"})
    assert math == "math"
    assert "mfrac" in names(response_tree(r"so \(\frac{1}{2}\)"))
    assert "menclose" in names(response_tree(r"so \boxed{\frac{1}{2}}"))


@pytest.mark.parametrize(("opened", "closed"), [("$$", "$$"), (r"\[", r"\]")])
def test_lines_of_a_formula_are_no_list(opened: str, closed: str) -> None:
    lines = r"\begin{align}" "\n" r"- a &= b \\" "\n" r"+ c &= d" "\n" r"\end{align}"
    found = response_tree(f"Then\n{opened}\n{lines}\n{closed}\nso")
    assert [node[0] for node in found] == ["p", "span", "p"]
    assert "mtable" in names(found)
    assert "(1)" not in said(found), "formulas of a response are not numbered"


def test_amounts_of_money_are_no_formulas() -> None:
    text = "She pays $5 for it, and $7 more, $12 in all: $5-$7."
    assert response_tree(text) == [["p", {}, [text]]]


@pytest.mark.parametrize(
    "source", [r"\frac{1}", "", "^", r"\left(", "{" * 900, r"\frac{1}{" * 90 + "}" * 90, "x" * 1_001]
)
def test_what_is_no_formula_is_shown_as_its_source(source: str) -> None:
    name, properties, [within] = formula(source, is_block=False)
    if source != r"\frac{1}":
        assert within == ["code", {}, [source]]
    assert (name, properties["title"]) == ("span", source[:1_000])


@pytest.mark.parametrize(
    "attack",
    [
        "<img src=x onerror=alert(1)>",
        "<script>alert(1)</script>\n\n<iframe src=//evil.example>",
        "[press](javascript:alert(1))",
        "[press][1]\n\n[1]: javascript:alert(1)",
        "<https://evil.example> ![who](https://evil.example/pixel.png)",
        r"$\href{javascript:alert(1)}{x}$",
        r"$\style{position:fixed;inset:0}{x} \class{sample-card}{y} \hspace{9999em}$",
        r"$\text{<img src=x onerror=alert(1)>}$",
        r"\boxed{\href{javascript:alert(1)}{7}}",
        "```\n<img src=x onerror=alert(1)>",
    ],
)
def test_nothing_that_a_model_writes_acts(attack: str) -> None:
    found = list(elements(response_tree(attack, answer_span(attack))))
    inert = {"p", "br", "pre", "code", "span", "mark", "math", "menclose"}
    assert {name for name, _ in found} <= inert | {"mrow", "mi", "mn", "mo", "mtext", "mspace"}
    for name, properties in found:
        assert set(properties) <= {"className", "title", "display"}, name
        assert not set(properties.get("className", "").split()) - {"formula", "formula-block", "answer", "box"}


def test_links_of_a_model_stay_as_they_are_written() -> None:
    assert response_tree("[a](https://x.example)") == [["p", {}, ["[a](https://x.example)"]]]


def test_the_answer_is_marked_where_it_stands() -> None:
    assert marked("<answer>7</answer> no: <answer> 42 </answer>") == ["42"]
    assert marked(r"so \boxed{7}, no: $x = \boxed{42}$.") == ["x=42"]
    assert marked("```\n<answer>42</answer>\n```") == ["42"]
    assert marked("<answer>\none\n\ntwo\n</answer>") == ["one", "two"]
    assert marked("no answer") == []


def test_signs_that_stand_for_the_answer_cannot_be_written() -> None:
    assert said(response_tree("\ue000 x \ue001")) == "\ufffd x \ufffd"


@pytest.mark.parametrize(
    "text",
    ["x" * 32_000, "```\n" + "word " * 6_400, "שלום world " * 2_600, "\u202eevil\u202c " * 4_000, "> " * 500 + "deep"],
)
def test_long_and_unfinished_texts_are_shown_whole(text: str) -> None:
    assert len(said(response_tree(text)).strip()) >= len(text.strip().lstrip("`>\n ")) - 4


@pytest.mark.parametrize("piece", ["`a", "$a ", "\\(", "\\[\n", "\\boxed{"])
def test_time_grows_with_the_length_of_a_text(piece: str) -> None:
    began = time.process_time()
    response_tree((piece * LONGEST_RENDERED)[:LONGEST_RENDERED])
    # Two seconds at most of a degenerate text of 40,000 letters; the square of it takes minutes.
    assert time.process_time() - began < 20


def test_a_text_that_is_too_long_stays_as_it_is() -> None:
    text = "**x** " * LONGEST_RENDERED
    assert response_tree(text) == [["p", {}, [text]]]


def test_a_tree_can_be_sent() -> None:
    assert orjson.dumps(response_tree("> " * 300 + r"$\sqrt{" * 3 + "$"))
