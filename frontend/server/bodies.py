"""Bodies of requests to the dashboard's own pages: read up to a limit, before anything else sees them."""

from __future__ import annotations

import asyncio

from starlette.types import Message, Receive

MAX_FORM_BYTES = 16_384
"""Maximum size of a body sent without a session: the forms of the login page."""
MAX_CALL_BYTES = 32_000_000
"""Maximum size of a logged-in page's call, which carries the state of that page."""
BODY_SECONDS = 60.0


class BodyError(Exception):
    """A body that is not read to its end."""

    def __init__(self, status: int, code: str, remedy: str) -> None:
        super().__init__(remedy)
        self.status, self.code, self.remedy = status, code, remedy


async def read_body(receive: Receive, limit: int) -> bytes:
    """Return the body. Raises BodyError as soon as it has more bytes than the limit, or takes longer than a minute."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    # The body is incomplete, and the client is gone.
                    raise BodyError(400, "cut_off", "the body was cut off: send it again")
                body += message.get("body", b"")
                if len(body) > limit:
                    raise BodyError(413, "too_large", f"the body is larger than {limit} bytes: send less at a time")
                more = message.get("more_body", False)
    except TimeoutError:
        remedy = f"the body was not received within {BODY_SECONDS:g} s: send less at a time"
        raise BodyError(408, "too_slow", remedy) from None
    return bytes(body)


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return a receive function that yields the body, then all later messages."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay
