"""Errors of commands: short lines on standard error instead of a traceback, and the exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import NoReturn

import httpx
from pydantic import ValidationError

from bapo.client.errors import ApiError, BapoError, InvalidRequestError, UnreachableError
from bapo.client.servers import AddressError
from bapo.config import ConfigError
from bapo.config.error_messages import problems_said
from bapo.files.safe_paths import OutsideError
from bapo.run.journal import JournalError
from bapo.run.line_reader import LineTooLongError


class Exit(IntEnum):
    """Exit codes of the commands."""

    DONE = 0
    FAILED = 1
    """The server refused, or the work failed."""
    BAD_INPUT = 2
    """An option, a field or a value is wrong."""
    SERVER_AWAY = 3
    """The server cannot be reached, or is overloaded: the same command may work later."""
    NOT_LOGGED_IN = 4
    """No token, or one that is not valid (any more)."""
    RUN_FAILED = 5
    RUN_CANCELLED = 6
    RUN_PAUSED = 7
    TIME_IS_UP = 8
    INTERRUPTED = 130
    """Ctrl-C."""


class RefusedError(Exception):
    """A command cannot be carried out; the message says what to do."""

    def __init__(self, message: str, code: Exit = Exit.BAD_INPUT) -> None:
        super().__init__(message)
        self.code = code


def exit_code_of(error: BapoError) -> Exit:
    """Return the exit code for an error of the client."""
    if error.is_passing:
        return Exit.SERVER_AWAY
    if isinstance(error, ApiError) and error.status == 401:
        return Exit.NOT_LOGGED_IN
    is_wrong = isinstance(error, InvalidRequestError) or (isinstance(error, ApiError) and error.status == 422)
    return Exit.BAD_INPUT if is_wrong else Exit.FAILED


def lines_of(error: BapoError) -> list[str]:
    """Return field, value and remedy of each problem, then the request id to look for in the server's log."""
    if isinstance(error, UnreachableError):
        return [f"the server cannot be reached ({error.cause}): {error.remedy}"]
    found = [f"{problem.field} = {problem.value!r}: {problem.remedy}" for problem in error.problems]
    if not found:
        found = [f"{error.field} = {error.value!r}: {error.remedy}" if error.field else error.remedy]
    status = f"HTTP {error.status} " if isinstance(error, ApiError) else ""
    if isinstance(error, InvalidRequestError):
        return found
    return [*found, f"({status}{error.code}, request {error.request_id})"]


@contextmanager
def plain_errors() -> Iterator[None]:
    """Print errors that the user can fix, and exit with their code."""
    try:
        yield
    except ConfigError as error:
        leave(Exit.BAD_INPUT, *map(str, error.problems))
    except JournalError as error:
        leave(Exit.FAILED, str(error))
    except LineTooLongError as error:
        leave(Exit.BAD_INPUT, str(error))
    except OutsideError as error:
        leave(Exit.BAD_INPUT, f"{error}; a run's folder is read without following links: copy the file into it")
    except RefusedError as error:
        leave(error.code, str(error))
    except BapoError as error:
        leave(exit_code_of(error), *lines_of(error))
    except KeyboardInterrupt:
        leave(Exit.INTERRUPTED)


def outside_failure(error: Exception) -> tuple[Exit, str] | None:
    """Exit code and line for what the system or a library says of the input; None for what is a bug of ours.

    For what no command foresees: a disk that is full, a file that may not be read, a value that no model takes.
    """
    found: tuple[Exit, str] | None = None
    match error:
        case BrokenPipeError():
            pass  # The reader has seen enough.
        case AddressError():
            found = Exit.BAD_INPUT, f"bapo: {error}"
        case UnicodeDecodeError():
            found = Exit.BAD_INPUT, f"bapo: what is read is not text in {error.encoding} ({error.reason}): convert it"
        case OSError():
            named = "" if error.filename is None else f"{error.filename}: "
            found = Exit.FAILED, f"bapo: {named}{error.strerror or error}"
        case ValidationError():
            found = Exit.BAD_INPUT, "\n".join(map(str, problems_said(error.errors())))
        case httpx.HTTPError() | httpx.InvalidURL():
            found = Exit.FAILED, f"bapo: a request failed: {error or type(error).__name__}"
        case _:
            pass
    return found


def leave(code: Exit, *lines: str) -> NoReturn:
    """Print lines on standard error and exit."""
    for line in lines:
        print(line, file=sys.stderr)
    raise SystemExit(int(code)) from None
