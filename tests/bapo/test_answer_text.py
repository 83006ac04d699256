"""Where the answer of a response is, in each form that tasks ask for."""

from __future__ import annotations

import pytest

from bapo.answer_text import after_hashes, answer_span, last_line, stated_answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("3 * 4 = 12. Answer: 12", "12"),
        ("Answer: 3\nNo, wait.\n**Answer:** 12 clips \n", "12 clips"),
        ("48 + 24 = 72\n#### 72", "72"),
        ("48 + 24 = 1,272\n####\n 1,272 \nThat is all.", "1,272"),
        (r"So \boxed{ 7 }. Answer: 8", "7"),
        ("<answer> 9 </answer> #### 8", "9"),
        (r"So \boxed{ }. Answer: 8", "8"),
    ],
)
def test_the_answer_is_found_in_each_form(text: str, answer: str) -> None:
    span = answer_span(text)
    assert span is not None
    assert text[slice(*span)] == answer
    assert stated_answer(text) == answer.replace("1,272", "1272")


@pytest.mark.parametrize("text", ["The result is 12.", "<answer>7"])
def test_a_text_without_a_form_has_no_answer(text: str) -> None:
    assert (answer_span(text), stated_answer(text)) == (None, None)
    assert (last_line("The result is 12."), after_hashes("The result is 12.")) == (None, None)


def test_numbers_after_hashes_lose_the_commas_of_thousands_and_texts_keep_theirs() -> None:
    assert after_hashes("#### 1,272") == "1272"
    assert after_hashes("#### 1,2") == "1,2"
