"""Converts prompts to messages of a chat, with each content a text, or texts and images in turn."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from bapo.tasks.base import Problem
from bapo.tasks.problem_files import IMAGE_MARK


def chat_messages(problem: Problem) -> list[dict[str, Any]]:
    """Return the problem's messages, in the parts that Hugging Face's chat templates take.

    Each `<image>` gives way to its image, as a data URL, which verl hands to qwen-vl-utils.
    """
    images = iter(problem.images)
    return [
        {"role": turn.role, "content": _parts(turn.content, images) if problem.images else turn.content}
        for turn in problem.messages
    ]


def _parts(text: str, images: Iterator[bytes]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for place, between in enumerate(text.split(IMAGE_MARK)):
        if place:
            image = base64.b64encode(next(images)).decode()
            parts.append({"type": "image", "image": f"data:image;base64,{image}"})
        if between:
            parts.append({"type": "text", "text": between})
    return parts
