"""The text of messages, which a prompt is known by."""

from __future__ import annotations

from typing import Any

import pytest

from bapo.message_text import MessageError, chat_text, content_text, is_chat, message_text, response_text

CALL = {"type": "function", "function": {"name": "calc", "arguments": '{"e": "2+2"}'}}


class Opaque:
    """An image whose content cannot be read."""


class Image:
    """As Pillow's."""

    mode, size = "L", (1, 1)

    def __init__(self, pixels: bytes) -> None:
        self._pixels = pixels

    def tobytes(self) -> bytes:
        return self._pixels


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        (None, ""),
        (42, "42"),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        (["one", {"type": "input_text", "text": "two"}], "one\ntwo"),
        ([{"text": "one"}, {"type": "output_text", "text": "two"}], "one\ntwo"),
        # As Arrow fills a structure up.
        (
            [{"type": "text", "text": "one", "image": None}, {"type": "image", "text": None, "image": None}],
            "one\n[image]",
        ),
        ([{"type": "image"}, {"type": "text", "text": "How many?"}], "[image]\nHow many?"),
        ([{"type": "image", "image": Opaque()}, {"type": "text", "text": "How many?"}], "[image]\nHow many?"),
        ([{"type": "text", "text": None}], ""),
        ([{"type": "thinking", "thinking": "Let me see."}, {"type": "text", "text": "4"}], "Let me see.\n4"),
        ([{"type": "tool_use", "name": "calc", "input": {"e": 1}}], 'calc({"e": 1})'),
        ([{"type": "tool_result", "content": [{"type": "text", "text": "4"}]}], "4"),
        ([], ""),
    ],
)
def test_content_becomes_text(content: Any, text: str) -> None:
    assert content_text(content) == text


def test_an_image_is_the_same_wherever_it_lies_in_memory_and_another_is_another() -> None:
    def text(image: Any) -> str:
        return content_text([{"type": "image", "image": image}])

    assert text(Opaque()) == text(Opaque()) == "[image]"
    assert text(Image(b"a")) == text(Image(b"a")) != text(Image(b"b"))
    assert text("https://example.org/a.png") != text("https://example.org/b.png")
    assert text({"bytes": b"a", "path": "a.png"}) == text({"bytes": b"a", "path": None})
    url = content_text([{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}])
    assert url == text("https://example.org/a.png")
    assert url.startswith("[image ")


def test_a_mark_takes_the_place_of_an_image() -> None:
    parts = [{"type": "image", "image": "a.png"}, {"type": "text", "text": "How many?"}]
    assert content_text(parts, "<image>") == "<image>\nHow many?"


@pytest.mark.parametrize(
    "call",
    [
        CALL,
        {"name": "calc", "arguments": {"e": "2+2"}},
        {"function": {"name": "calc", "arguments": {"e": "2+2", "other": None}}},
        '{"function": {"name": "calc", "arguments": "{\\"e\\": \\"2+2\\"}"}}',
    ],
)
def test_a_tool_call_is_a_name_and_arguments_in_whatever_shape_it_comes(call: Any) -> None:
    assert message_text({"role": "assistant", "content": None, "tool_calls": [call]}) == 'calc({"e": "2+2"})'


def test_one_message_is_its_text_and_several_have_their_roles() -> None:
    assert chat_text([user("2 + 2 = ?")]) == "2 + 2 = ?"
    said = [user("2 + 2 = ?"), {"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "content": "4"}]
    assert chat_text(said) == 'user: 2 + 2 = ?\n\nassistant: calc({"e": "2+2"})\n\ntool: 4'


def test_a_response_is_a_text_messages_or_parts() -> None:
    assert response_text("4") == response_text([{"role": "assistant", "content": "4"}]) == "4"
    assert response_text({"role": "assistant", "content": "4"}) == response_text([{"text": "4"}]) == "4"
    assert response_text(None) == response_text([]) == ""


def test_what_has_no_text_is_refused_without_its_address() -> None:
    with pytest.raises(MessageError, match=r"content of a message is a Opaque: give a text"):
        content_text(Opaque())
    with pytest.raises(MessageError, match="give messages with role and content"):
        chat_text([{"from": "human", "value": "2 + 2 = ?"}])
    assert not is_chat([{"from": "human", "value": "2 + 2 = ?"}])
