"""Texts and images of a user message."""

from __future__ import annotations

import base64

from bapo.engines.verl.chat_content import message_content
from bapo.tasks import Problem

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_prompt_without_images_is_a_text() -> None:
    assert message_content(Problem("p:1", "p", "1 + 1?", {"text": "2"})) == "1 + 1?"


def test_each_mark_gives_way_to_its_image() -> None:
    problem = Problem("p:1", "p", "<image>Find x.<image>", {"text": "2"}, (PNG + b"1", PNG + b"2"))
    content = message_content(problem)
    assert isinstance(content, list)
    assert [part["type"] for part in content] == ["image", "text", "image"]
    assert content[1]["text"] == "Find x."
    data = [base64.b64decode(part["image"].partition("base64,")[2]) for part in (content[0], content[2])]
    assert data == [PNG + b"1", PNG + b"2"]
    assert content[0]["image"].startswith("data:image")
