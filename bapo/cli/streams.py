"""Standard output and standard error of commands, in encodings that lack some of the characters that are written."""

from __future__ import annotations

import codecs
import io
import sys
from typing import TextIO

ERRORS = "bapo_replace"
"""Name of the error handler below."""
_SIGNS = {
    "–": "-",
    "—": "-",
    "−": "-",
    "·": "-",
    "•": "*",
    "→": ">",
    "×": "x",
    "…": ".",
    "’": "'",
    "‘": "'",
    "“": '"',
    "”": '"',
}
"""Our own signs, each as one character, so that columns stay aligned."""


def _replaced(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return a similar character, the byte of a file name that is not text, or a question mark."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    character = error.object[error.start]
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return bytes([code - 0xDC00]), error.start + 1
    return _SIGNS.get(character, "?"), error.start + 1


codecs.register_error(ERRORS, _replaced)


def replace_what_cannot_be_written() -> None:
    """Let no command end because its output is not in UTF-8."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=ERRORS)


def data_output() -> TextIO:
    """Return standard output for a file's content, without loss: UTF-8, as files are written."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    return sys.stdout
