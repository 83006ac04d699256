"""Prompts of uploaded files that are messages of a chat."""

from __future__ import annotations

from typing import Any

import pytest

from bapo.own_data.mapping import mapped
from bapo.own_data.report import ColumnMapping
from bapo.tasks.problem_files import RowError

PNG = {"bytes": b"\x89PNG\r\n\x1a\n", "path": None}
IMAGE = {"type": "image", "text": None}
QUESTION = {"type": "text", "text": "How many cats?"}


def row_of(content: Any, images: Any = None) -> dict[str, Any]:
    mapping = ColumnMapping(columns={"prompt": "p", "answer": "a", "images": "i"})
    return mapped({"p": [{"role": "user", "content": content}], "a": "2", "i": images}, mapping)


def test_parts_of_a_message_are_its_text() -> None:
    assert row_of([QUESTION, {"type": "text", "text": "Count."}])["prompt"] == "How many cats?\nCount."


def test_a_message_without_content_adds_nothing() -> None:
    mapping = ColumnMapping(columns={"prompt": "p", "answer": "a"})
    chat = [{"role": "system", "content": None}, {"role": "user", "content": "1 + 1 = ?"}]
    assert mapped({"p": chat, "a": "2"}, mapping)["prompt"] == "1 + 1 = ?"
    with pytest.raises(RowError, match="the prompt leaves nothing to answer: end with a message of the user"):
        mapped({"p": chat[:1], "a": "2"}, mapping)


def test_several_messages_stay_messages() -> None:
    mapping = ColumnMapping(columns={"prompt": "p", "answer": "a", "images": "i"})
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [IMAGE, QUESTION]}]
    row = mapped({"p": chat, "a": "2", "i": [PNG]}, mapping)
    assert row["prompt"] == [chat[0], {"role": "user", "content": "<image>\nHow many cats?"}]
    # An image that no message marks comes before what the user asks.
    unmarked = mapped({"p": [chat[0], {"role": "user", "content": "Cats?"}], "a": "2", "i": [PNG]}, mapping)
    assert unmarked["prompt"][1]["content"] == "<image>Cats?"


def test_a_part_that_is_an_image_marks_the_place_of_one_of_the_row() -> None:
    assert row_of([IMAGE, QUESTION], [PNG])["prompt"] == "<image>\nHow many cats?"
    with pytest.raises(RowError, match="the prompt has 1 times <image>, and images holds 0"):
        row_of([IMAGE, QUESTION])


def test_content_that_has_no_text_is_refused() -> None:
    with pytest.raises(RowError, match="the prompt cannot be read: content of a message is a set"):
        row_of({1})
