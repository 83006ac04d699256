"""Extraction of the answer from the text of a response."""

from __future__ import annotations

import re

ANSWER_TEXT = "text"
"""Key of a problem's answer that is one text."""

_BOX = re.compile(r"\\f?box(?:ed)?\s*\{")
_OPEN, _CLOSE = "<answer>", "</answer>"
_HASHES = "####"
_ANSWER_LINE = re.compile(r"\banswer\b[*_ ]*:[*_ \t]*(?P<said>[^\n]*)", re.IGNORECASE)
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?")


Span = tuple[int, int]
"""Start and end of a piece of a text."""


def last_answer(text: str) -> str | None:
    """Return the text in the last <answer>…</answer>, or else in the last \\boxed{…}; None where there is neither."""
    return _piece(text, _explicit_span(text))


def last_tagged(text: str) -> str | None:
    """Return the content of the last <answer>…</answer>; None without one, or if the last is not closed."""
    return _piece(text, _tagged_span(text))


def last_line(text: str) -> str | None:
    """Return what follows the last `Answer:` on its line; None without one."""
    return _piece(text, _line_span(text))


def after_hashes(text: str) -> str | None:
    """Return what follows the last `####` on its line, numbers without the commas that GSM8K writes; None without one.

    Verifiers that compare letters would expect the commas.
    """
    line = _piece(text, _hashes_span(text))
    return line.replace(",", "") if line and _THOUSANDS.fullmatch(line) else line


def last_boxed(text: str) -> str | None:
    """Return the content of the last \\boxed{…} (or \\fbox{…}); None without one, or if the last is not closed.

    A last box that is not closed belongs to a response that was cut: an earlier box is not its answer.
    """
    return _piece(text, _boxed_span(text))


def answer_span(text: str) -> Span | None:
    """Return the span of the answer, in the first form of these that holds one: tags, box, `Answer:`, `####`.

    It is without the spaces around it; None where the text has no answer.
    """
    spans = (form(text) for form in (_explicit_span, _line_span, _hashes_span))
    return next((span for span in spans if span is not None and span[0] < span[1]), None)


def stated_answer(text: str) -> str | None:
    """Return the answer at `answer_span`, numbers after `####` without their commas; None where the text has none."""
    span = answer_span(text)
    return after_hashes(text) if span == _hashes_span(text) else _piece(text, span)


def box_at(text: str, start: int) -> Span | None:
    """Return the span of the content of the \\boxed{…} at `start`; None without one, or if it is not closed."""
    match = _BOX.match(text, start)
    if match is None:
        return None
    depth, place = 1, match.end()
    while place < len(text):
        character = text[place]
        if character == "\\":
            # An escaped brace is no brace.
            place += 2
            continue
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return match.end(), place
        place += 1
    return None


def _explicit_span(text: str) -> Span | None:
    return _tagged_span(text) if _OPEN in text else _boxed_span(text)


def _line_span(text: str) -> Span | None:
    *_, last = (None, *_ANSWER_LINE.finditer(text))
    return _trimmed(text, *last.span("said")) if last else None


def _hashes_span(text: str) -> Span | None:
    mark = text.rfind(_HASHES)
    if mark < 0:
        return None
    start, _ = _trimmed(text, mark + len(_HASHES), len(text))
    end = text.find("\n", start)
    return _trimmed(text, start, len(text) if end < 0 else end)


def _tagged_span(text: str) -> Span | None:
    start = text.rfind(_OPEN)
    end = text.find(_CLOSE, start)
    return _trimmed(text, start + len(_OPEN), end) if start >= 0 and end >= 0 else None


def _boxed_span(text: str) -> Span | None:
    last = None
    for match in _BOX.finditer(text):
        last = match
    span = None if last is None else box_at(text, last.start())
    return None if span is None else _trimmed(text, *span)


def _trimmed(text: str, start: int, end: int) -> Span:
    content = text[start:end]
    first = start + len(content) - len(content.lstrip())
    return first, first + len(content.strip())


def _piece(text: str, span: Span | None) -> str | None:
    return None if span is None else text[slice(*span)]
