"""Converts prompts to user messages: a text, or texts and images in turn."""

from __future__ import annotations

import base64
from typing import Any

from bapo.tasks.base import Problem
from bapo.tasks.problem_files import IMAGE_MARK


def message_content(problem: Problem) -> str | list[dict[str, Any]]:
    """Return the problem's content of the user message, in the parts that Hugging Face's chat templates take.

    Each `<image>` gives way to its image, as a data URL, which verl hands to qwen-vl-utils.
    """
    if not problem.images:
        return problem.prompt
    texts = problem.prompt.split(IMAGE_MARK)
    assert len(texts) == len(problem.images) + 1, "checked when the file was read"
    content: list[dict[str, Any]] = []
    for text, image in zip(texts, (*problem.images, None), strict=True):
        if text:
            content.append({"type": "text", "text": text})
        if image is not None:
            content.append({"type": "image", "image": f"data:image;base64,{base64.b64encode(image).decode()}"})
    return content
