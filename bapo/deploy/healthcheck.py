"""`python -m bapo.deploy.healthcheck URL`: exit status 0 where a GET succeeds. For the health checks of containers."""

from __future__ import annotations

import sys
import urllib.error
import urllib.request
from http.client import HTTPException, HTTPResponse

TIMEOUT_SECONDS = 8.0


def opened(url: str, timeout_seconds: float) -> HTTPResponse:
    """Open an address of one of our own services with GET.

    No proxy of the environment is between a machine and itself. Raises OSError and HTTPException; HTTPError, an
    OSError, for a status that is no success.
    """
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    answer: HTTPResponse = opener.open(url, timeout=timeout_seconds)
    return answer


def answers(url: str) -> bool:
    """Return whether a GET of the address succeeds."""
    try:
        with opened(url, TIMEOUT_SECONDS):
            return True
    except (OSError, HTTPException):
        return False


def main(arguments: list[str]) -> int:
    """Ask once; a failure is printed to standard error."""
    if len(arguments) != 1 or not arguments[0].startswith(("http://", "https://")):
        print("usage: python -m bapo.deploy.healthcheck http://127.0.0.1:8001/readyz", file=sys.stderr)
        return 2
    try:
        with opened(arguments[0], TIMEOUT_SECONDS) as answer:
            print(answer.read(2_000).decode(errors="replace"))
    except urllib.error.HTTPError as error:
        print(f"{error.code}: {error.read(2_000).decode(errors='replace')}", file=sys.stderr)
        return 1
    except (OSError, HTTPException) as error:
        print(f"no answer: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
