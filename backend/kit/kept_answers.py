"""Answers what is asked again from what is kept, before the request is taken apart.

Most of a short answer's time is not the answer: it is the way through routing, parameters, a thread and a transaction.
What is left here is to ask the database whether there is more by now; requests that come meanwhile share the next look.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress

import psycopg
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from backend.kit.context import Context, question_of
from backend.kit.database import Database
from backend.kit.permissions import Permission, permissions_of
from backend.kit.principal import Principal
from backend.kit.response_cache import REVISIONS

LOG = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
"""A database that takes longer is asked in the usual way, whose errors say what is wrong."""


class RevisionReader:
    """Reads revisions of runs in the event loop, one look at a time for all who wait."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: psycopg.AsyncConnection[tuple[str, int]] | None = None
        self._wanted: set[str] = set()
        self._next: asyncio.Future[Mapping[str, int]] | None = None
        self._task: asyncio.Task[None] | None = None

    async def revisions(self, run_ids: Sequence[str]) -> tuple[int, ...] | None:
        """Return a number per run that grows with every stored record, read after this call; None where it cannot be
        read."""
        self._wanted.update(run_ids)
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        asked = self._next
        if self._task is None:
            self._task = asyncio.create_task(self._look(), name="revisions")
        # Shielded: who goes away leaves the others their answer.
        found = await asyncio.shield(asked)
        return tuple(found.get(run_id, 0) for run_id in run_ids) if found else None

    async def _look(self) -> None:
        try:
            while self._next is not None:
                asked, self._next = self._next, None
                wanted, self._wanted = list(self._wanted), set()
                found: Mapping[str, int] = {}
                try:
                    async with asyncio.timeout(LOOK_SECONDS):
                        found = await self._read(wanted)
                except (psycopg.Error, TimeoutError) as error:
                    LOG.warning("cannot look for news", extra={"cause": str(error).strip()})
                    await self.close()
                finally:
                    asked.set_result(found)
        finally:
            self._task = None

    async def _read(self, run_ids: list[str]) -> Mapping[str, int]:
        if self._connection is None:
            self._connection = await psycopg.AsyncConnection.connect(self._database.conninfo, autocommit=True)
        cursor = await self._connection.execute(REVISIONS, {"run_ids": run_ids}, prepare=True)
        return dict(await cursor.fetchall())

    async def close(self) -> None:
        """Give the connection back."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                await connection.close()


class KeptAnswers:
    """Answers a GET whose answer is kept and still true; passes on all others."""

    def __init__(self, app: ASGIApp, context: Context) -> None:
        self.app = app
        self._context = context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or not await self._answer(scope, receive, send):
            await self.app(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> bool:
        caller: Principal | None = scope["state"]["principal"]
        kept = self._context.answers.peek(question_of(scope))
        if caller is None or kept is None or Permission.READ not in permissions_of(caller):
            return False
        if not self._context.visibility.known_to_see(caller, kept.run_ids):
            return False
        now = await self._context.part(RevisionReader).revisions(kept.run_ids)
        if now != kept.revisions:
            return False
        scope.update(kept.route)
        await kept.answer.response(Headers(scope=scope).get("if-none-match"))(scope, receive, send)
        return True
