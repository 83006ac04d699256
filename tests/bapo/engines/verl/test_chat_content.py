"""Messages of prompts, with texts and images."""

from __future__ import annotations

import base64

from bapo.engines.verl.chat_content import chat_messages
from bapo.tasks import Problem
from bapo.tasks.base import Turn

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_prompt_without_images_is_a_message_of_the_user() -> None:
    assert chat_messages(Problem("p:1", "p", "1 + 1?", {"text": "2"})) == [{"role": "user", "content": "1 + 1?"}]


def test_each_mark_gives_way_to_its_image() -> None:
    problem = Problem("p:1", "p", "<image>Find x.<image>", {"text": "2"}, (PNG + b"1", PNG + b"2"))
    ((role, content),) = (message.values() for message in chat_messages(problem))
    assert role == "user"
    assert [part["type"] for part in content] == ["image", "text", "image"]
    assert content[1]["text"] == "Find x."
    data = [base64.b64decode(part["image"].partition("base64,")[2]) for part in (content[0], content[2])]
    assert data == [PNG + b"1", PNG + b"2"]
    assert content[0]["image"].startswith("data:image")


def test_images_lie_in_the_messages_that_mark_them() -> None:
    turns = (Turn("system", "Be brief."), Turn("user", "<image>Is it a cat?"), Turn("user", "And <image>?"))
    problem = Problem("p:1", "p", "text", {"text": "2"}, (PNG + b"1", PNG + b"2"), turns=turns)
    system, first, second = chat_messages(problem)
    assert system == {"role": "system", "content": [{"type": "text", "text": "Be brief."}]}
    assert [part["type"] for part in first["content"]] == ["image", "text"]
    assert [part["type"] for part in second["content"]] == ["text", "image", "text"]
    assert second["content"][1]["image"].endswith(base64.b64encode(PNG + b"2").decode())
