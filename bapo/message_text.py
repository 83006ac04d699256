"""Makes text of what is said in a chat: messages, content of several parts, tool calls.

Every way in uses it (loops, TRL, verl, imported files, uploads), because a prompt is known by its text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

_SAID = ("text", "thinking", "reasoning", "refusal")
"""Keys of a part under which it holds text."""
_CALLS = frozenset(("tool_use", "tool_call", "function_call"))
"""Types of parts that call a tool."""
IMAGE = "image"


class MessageError(ValueError):
    """Something that has no text; the message says what was given and what to give."""


def chat_text(messages: Iterable[Any]) -> str:
    """Return the text of messages: of one its own, of several each with its role. Raises MessageError."""
    said = chat_turns(messages)
    if len(said) == 1:
        return said[0][1]
    return "\n\n".join(f"{role}: {text}" for role, text in said)


def chat_turns(messages: Iterable[Any], image_mark: str | None = None) -> list[tuple[str, str]]:
    """Return the role and the text of each message, images as `content_text` writes them. Raises MessageError."""
    return [(message["role"], message_text(message, image_mark)) for message in map(_mapping, messages)]


def message_text(message: Mapping[str, Any], image_mark: str | None = None) -> str:
    """Return the reasoning, the content and the tool calls of a message. Raises MessageError."""
    calls = list(_items(message.get("tool_calls")))
    if (call := message.get("function_call")) is not None:
        calls.append(call)
    reasoning = message.get("reasoning_content")
    pieces = [
        reasoning if isinstance(reasoning, str) else "",
        content_text(message.get("content"), image_mark),
        *map(_call_text, calls),
    ]
    return "\n".join(filter(None, pieces))


def content_text(content: Any, image_mark: str | None = None) -> str:
    """Return the text of a message's content: nothing, a text, or parts of which some are text.

    A part without text is its kind in brackets, such as `[image]`, followed by a hash of what it holds where that can
    be read: two images are two prompts, and one image is the same prompt wherever it lies in memory. With
    `image_mark`, that mark takes the place of an image. Raises MessageError.
    """
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, bool | int | float):
        return str(content)
    parts = [content] if isinstance(content, Mapping) else _items(content)
    return "\n".join(_part_text(part, image_mark) for part in parts)


def response_text(said: Any) -> str:
    """Return the text of a response: a text, messages of a chat, one message, or parts. Raises MessageError."""
    if isinstance(said, str):
        return said
    if said is None:
        return ""
    if isinstance(said, Mapping) or hasattr(said, "model_dump"):
        said = _mapping(said)
        return message_text(said) if _is_message(said) else content_text(said)
    items = list(_items(said))
    return chat_text(items) if items and all(map(_is_message, items)) else content_text(items)


def is_chat(given: Any) -> bool:
    """Return whether the value is a list of messages, each with a role and something said."""
    return isinstance(given, list) and bool(given) and all(map(_is_message, given))


def _is_message(given: Any) -> bool:
    if hasattr(given, "model_dump"):
        given = given.model_dump()
    said = ("content", "tool_calls", "function_call", "reasoning_content")
    return isinstance(given, Mapping) and "role" in given and any(key in given for key in said)


def _mapping(message: Any) -> Mapping[str, Any]:
    if hasattr(message, "model_dump"):
        message = message.model_dump()
    if not _is_message(message):
        kind = type(message).__name__
        raise MessageError(f"a message is a {kind} without role and content: give messages with role and content")
    found: Mapping[str, Any] = message
    return found


def _items(given: Any) -> Iterable[Any]:
    """Return the items of a list, a tuple or an array; none of None. Raises MessageError for anything else."""
    if given is None:
        return ()
    if hasattr(given, "tolist"):
        given = given.tolist()
    if not isinstance(given, list | tuple):
        # Never as Python writes it: that may hold an address, which differs with each visit.
        raise MessageError(f"content of a message is a {type(given).__name__}: give a text, or a list of parts")
    return given


def _part_text(part: Any, image_mark: str | None) -> str:
    if isinstance(part, str):
        return part
    if hasattr(part, "model_dump"):
        part = part.model_dump()
    if not isinstance(part, Mapping):
        return _in_place(IMAGE if hasattr(part, "tobytes") else type(part).__name__.lower(), part, image_mark)
    # A table has all keys in every row, with None where a part lacks one.
    return _structure_text({key: value for key, value in part.items() if value is not None}, image_mark)


def _structure_text(part: Mapping[str, Any], image_mark: str | None) -> str:
    kind = part.get("type")
    if kind in _CALLS:
        return _call_text(part)
    for key in _SAID:
        if isinstance(part.get(key), str) and kind in (None, key, f"input_{key}", f"output_{key}"):
            return str(part[key])
    if "content" in part:
        return content_text(part["content"], image_mark)
    held = {key: value for key, value in part.items() if key != "type"}
    name = str(kind if kind is not None else next(iter(held), "nothing"))
    if name in _SAID:
        # Said to be a text, and empty.
        return ""
    return _in_place(name.removeprefix("input_").removesuffix("_url"), list(held.values()), image_mark)


def _in_place(kind: str, held: Any, image_mark: str | None) -> str:
    if kind == IMAGE and image_mark is not None:
        return image_mark
    content = _bytes(held)
    return f"[{kind} {hashlib.sha256(content).hexdigest()[:8]}]" if content else f"[{kind}]"


def _bytes(held: Any) -> bytes:
    """Return what a part holds, the same each time it is read; nothing of an object that cannot be read."""
    if isinstance(held, bytes):
        return held
    if isinstance(held, str | bool | int | float):
        return str(held).encode("utf-8", "surrogatepass")
    if isinstance(held, Mapping):
        # A dataset's image has its bytes, and a path that may be that of a temporary file.
        return _bytes(held["bytes"]) if held.get("bytes") else b"\0".join(_bytes(held[key]) for key in sorted(held))
    if isinstance(held, list | tuple):
        return b"\0".join(filter(None, map(_bytes, held)))
    if hasattr(held, "tobytes"):
        try:
            return f"{getattr(held, 'mode', '')} {getattr(held, 'size', '')} ".encode() + bytes(held.tobytes())
        except OSError as error:
            raise MessageError(f"an image of the prompt cannot be read ({error}): give one that can") from None
    return b""


def _call_text(call: Any) -> str:
    """Return `name(arguments)` of a tool call, whether it is a structure or a structure as JSON."""
    if hasattr(call, "model_dump"):
        call = call.model_dump()
    if isinstance(call, str):
        try:
            call = json.loads(call)
        except (ValueError, RecursionError):
            return str(call)
    if not isinstance(call, Mapping):
        return str(call) if isinstance(call, str | int | float) else f"[{type(call).__name__.lower()}]"
    function = call.get("function")
    named = function if isinstance(function, Mapping) else call
    arguments = next((named[key] for key in ("arguments", "input", "args") if named.get(key) is not None), "")
    if isinstance(arguments, Mapping):
        arguments = {key: value for key, value in arguments.items() if value is not None}
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=_kind)
    return f"{named.get('name') or function or 'call'}({text})"


def _kind(value: Any) -> str:
    return type(value).__name__.lower()
