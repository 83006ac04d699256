"""Logging of all services: one line per event on standard error, JSON or plain, with secrets masked.

What a line is about (request, run, attempt, user) is bound once with `about`, and every line within carries it.
"""

from __future__ import annotations

import logging
import logging.config
import re
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Literal

import orjson

LogFormat = Literal["auto", "json", "plain"]
LogLevel = Literal["debug", "info", "warning", "error"]

MASK = "***"
SHORTEST_SECRET = 8
"""A shorter secret would match inside ordinary words."""

_NOTHING: Mapping[str, str | int] = MappingProxyType({})
_CONTEXT: ContextVar[Mapping[str, str | int]] = ContextVar("bapo_log_context", default=_NOTHING)
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    # The password of an address: redis://:secret@host, postgresql://user:secret@host.
    (re.compile(r"(://[^\s/:@\"']*:)[^\s@\"']+(?=@)"), rf"\1{MASK}"),
    (re.compile(r"(?i)\b(bearer|basic)(\s+)[A-Za-z0-9._~+/=-]+"), rf"\1\2{MASK}"),
    # Cookies, parameters of an address, and connection strings: name=value.
    (
        re.compile(r"(?i)\b([\w-]*(?:session|token|password|passwd|secret|api_?key|code))=(?!=)[^\s&;,\"'\\)}\]]+"),
        rf"\1={MASK}",
    ),
    # Fields of a JSON text or of a Python dict.
    (
        re.compile(r"(?i)(\\?[\"'][\w-]*(?:token|password|secret|cookie)\\?[\"']\s*:\s*\\?[\"'])[^\"'\\]+"),
        rf"\1{MASK}",
    ),
    # Our own secrets wherever they occur: 256 bits in base64url.
    (re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])"), MASK),
)

_SECRETS: set[str] = set()
_SECRETS_LOCK = threading.Lock()


def hide(*secrets: str | None) -> None:
    """Mask these secrets in the log from now on."""
    found = {secret for secret in secrets if secret and len(secret) >= SHORTEST_SECRET}
    with _SECRETS_LOCK:
        _SECRETS.update(found)


def mask(line: str) -> str:
    """Return the text with secrets masked: those given to `hide`, and whatever has the form of one."""
    for secret in sorted(_SECRETS, key=len, reverse=True):
        line = line.replace(secret, MASK)
    for pattern, replacement in _PATTERNS:
        line = pattern.sub(replacement, line)
    return line


@contextmanager
def about(**facts: str | int | None) -> Iterator[None]:
    """Add these facts to every line logged inside; those that are None are left out."""
    known = {name: fact for name, fact in facts.items() if fact is not None}
    token = _CONTEXT.set({**_CONTEXT.get(), **known})
    try:
        yield
    finally:
        _CONTEXT.reset(token)


def bind(**facts: str | int | None) -> None:
    """Add facts to each line as `about` does, until the current task or thread ends."""
    known = {name: fact for name, fact in facts.items() if fact is not None}
    _CONTEXT.set({**_CONTEXT.get(), **known})


def facts_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return the facts of a line, and those given as `extra`."""
    extra = {name: value for name, value in vars(record).items() if name not in _STANDARD}
    return {**_CONTEXT.get(), **extra}


class JsonFormatter(logging.Formatter):
    """Formats a line as JSON: time, level, service, logger, message and facts."""

    def __init__(self, service: str) -> None:
        super().__init__()
        self._service = service

    def format(self, record: logging.LogRecord) -> str:
        """Format a log record as one line."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "service": self._service,
            "logger": record.name,
            "message": record.getMessage(),
            **facts_of(record),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["traceback"] = "".join(traceback.format_exception(*record.exc_info))
        masked = {name: _masked(value) for name, value in line.items()}
        return orjson.dumps(masked, default=lambda value: mask(str(value)), option=orjson.OPT_NON_STR_KEYS).decode()


def _masked(value: Any) -> Any:
    """Mask the texts within a value; numbers stay numbers."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {str(name): _masked(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_masked(each) for each in value]
    return value


class PlainFormatter(logging.Formatter):
    """Formats a line for a terminal: time, level, message and facts."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a log record as one line, and a traceback below it."""
        at = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        facts = " ".join(f"{name}={fact}" for name, fact in facts_of(record).items())
        line = f"{at} {record.levelname.lower():7} {record.getMessage()}{'  ' if facts else ''}{facts}"
        if record.exc_info and record.exc_info[0] is not None:
            line += "\n" + "".join(traceback.format_exception(*record.exc_info)).rstrip()
        return mask(line)


def configure(service: str, format: LogFormat = "auto", level: LogLevel = "info") -> None:
    """Send all logging of this process to standard error; `auto` is plain on a terminal and JSON elsewhere."""
    is_plain = format == "plain" or (format == "auto" and sys.stderr.isatty())
    formatter = {"()": PlainFormatter} if is_plain else {"()": JsonFormatter, "service": service}
    ours = level.upper()
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"line": formatter},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
            "root": {"level": "ERROR" if ours == "ERROR" else "WARNING", "handlers": ["stderr"]},
            "loggers": {package: {"level": ours} for package in ("bapo", "backend", "frontend", "worker", "__main__")},
        }
    )
