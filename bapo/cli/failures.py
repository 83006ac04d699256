"""How a command that cannot do its work says so: short lines on standard error, never a traceback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from bapo.client import ApiError
from bapo.config import ConfigError
from bapo.journal import JournalError

EXIT_FAILED = 1
EXIT_BAD_INPUT = 2


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn what the user can mend into lines and an exit code."""
    try:
        yield
    except ConfigError as error:
        print(*error.problems, sep="\n", file=sys.stderr)
        raise SystemExit(EXIT_BAD_INPUT) from None
    except JournalError as error:
        print(error, file=sys.stderr)
        raise SystemExit(EXIT_FAILED) from None
    except ApiError as error:
        print(error, file=sys.stderr)
        raise SystemExit(EXIT_BAD_INPUT if error.status < 500 else EXIT_FAILED) from None
    except httpx.TransportError as error:
        print(f"the server cannot be reached ({error}): check its address and that it is up", file=sys.stderr)
        raise SystemExit(EXIT_FAILED) from None
