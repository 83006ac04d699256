"""Gives routes their dependencies: settings, database session, cached responses, parts of their own domain."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Protocol, TypeVar, runtime_checkable

import orjson
from fastapi import APIRouter, Depends, Request, Response
from fastapi.routing import APIRoute
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.types import Scope

from backend.kit import project_scope
from backend.kit.callers import RecentCallers, Visibility
from backend.kit.database import Database
from backend.kit.errors import not_found
from backend.kit.principal import Principal
from backend.kit.response_cache import Answer, AnswerCache
from backend.models import Run
from backend.settings.environment import Settings
from bapo.api.base import ErrorBody

Part = TypeVar("Part")
API_PREFIX = "/api/v1"

_ERRORS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": ErrorBody, "description": "The request was refused: the cause and the remedy."},
    "5XX": {"model": ErrorBody, "description": "The server failed."},
}


@runtime_checkable
class ForgetsRuns(Protocol):
    """Keeps something of runs in memory."""

    def forget(self, run_id: str) -> None:
        """Drop everything of a run that is deleted."""


@dataclass(frozen=True)
class Context:
    """The parts of a running server: those that every request needs by name, those of a domain by their type."""

    settings: Settings
    database: Database
    callers: RecentCallers
    visibility: Visibility
    parts: Sequence[object]
    """Objects that domains keep for the life of the process: caches, threads, the event hub; one of each type."""
    answers: AnswerCache = field(default_factory=AnswerCache)

    def part(self, kind: type[Part]) -> Part:
        """Return the part of this type."""
        return next(part for part in self.parts if isinstance(part, kind))

    def forget_run(self, run_id: str) -> None:
        """Drop everything that the process keeps of a deleted run."""
        for part in (self.answers, self.visibility, *self.parts):
            if isinstance(part, ForgetsRuns):
                part.forget(run_id)


def context_of(request: Request) -> Context:
    """Return the server that this request came to."""
    context: Context = request.app.state.context
    return context


async def _session(request: Request) -> Session:
    # Takes no connection before it is used.
    session = context_of(request).database.session()
    caller: Principal | None = request.scope["state"]["principal"]
    if caller is not None:
        project_scope.limit(session, caller.memberships)
        if caller.role != "worker":
            project_scope.hide_trash(session)
    return session


def _settings(request: Request) -> Settings:
    return context_of(request).settings


def question_of(scope: Scope) -> str:
    """Return the question of a request: its path and query."""
    return f"{scope['path']}?{scope['query_string'].decode('latin-1')}"


@dataclass(frozen=True)
class RecordAnswers:
    """Answers this request from recorded data, computed only if something new is stored."""

    cache: AnswerCache
    question: str
    is_limited: bool
    """True if the caller sees some projects only."""
    known: str | None
    """ETag of the answer that the caller has."""
    route: Mapping[str, Any]

    def about(self, *more: object) -> RecordAnswers:
        """Return these answers for a question that also depends on more, such as the names of runs."""
        return replace(self, question=" ".join([self.question, *map(str, more)]))

    def of(self, session: Session, run_ids: Sequence[str], work_out: Callable[[], Answer]) -> Response:
        """Return the response of a route. It may depend only on path, query and the records of these runs."""
        if self.is_limited:
            # The cached answer may contain runs that this caller may not see.
            seen = set(session.scalars(select(Run.id).where(Run.id.in_(run_ids))))
            if hidden := [run_id for run_id in run_ids if run_id not in seen]:
                raise not_found("run", hidden[0])
        return self.cache.answer(session, self.question, run_ids, work_out, self.route).response(self.known)


async def _answers(request: Request) -> RecordAnswers:
    caller: Principal = request.scope["state"]["principal"]
    return RecordAnswers(
        context_of(request).answers,
        question_of(request.scope),
        caller.memberships is not None,
        request.headers.get("if-none-match"),
        {name: request.scope[name] for name in ("route", "path_params")},
    )


@dataclass(frozen=True)
class InSession:
    """A dependency that works in the session which the route commits."""

    session: Session


DbSession = Annotated[Session, Depends(_session)]
SettingsOf = Annotated[Settings, Depends(_settings)]
AnswersOf = Annotated[RecordAnswers, Depends(_answers)]
ContextOf = Annotated[Context, Depends(context_of)]


def _committing(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(endpoint):
        # It opens its sessions itself, in threads.
        return endpoint

    @functools.wraps(endpoint)
    def call(**arguments: Any) -> Any:
        sessions = filter(None, map(_session_of, arguments.values()))
        if (session := next(sessions, None)) is None:
            return endpoint(**arguments)
        with session, session.begin():
            return endpoint(**arguments)

    return call


def _session_of(argument: object) -> Session | None:
    if isinstance(argument, InSession):
        return argument.session
    return argument if isinstance(argument, Session) else None


class _Request(Request):
    """A request whose body is read four times as fast: a batch of records is megabytes, read in the event loop."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            try:
                self._json = orjson.loads(await self.body())
            except orjson.JSONDecodeError:
                # Halves of surrogate pairs and numbers beyond a double are JSON: their field is named, not their byte.
                return await super().json()
        return self._json


class CommittingRoute(APIRoute):
    """Commits a route's session when the route returns, before the answer is sent: who has the answer sees its effect.

    In the same thread, without a way back to the event loop: a request that holds a lock must never wait for one of
    the threads, which may all be waiting for that lock.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, _committing(endpoint), **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of a request to the route."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(_Request(request.scope, request.receive))

        return handle


def new_router(*tags: str, prefix: str = API_PREFIX) -> APIRouter:
    """Return a router of a domain package, whose routes are what the server answers with.

    Nothing is added to them later: a router that is included in another has FastAPI analyse every route once more.
    """
    return APIRouter(
        tags=list(tags),
        prefix=prefix,
        route_class=CommittingRoute,
        responses=_ERRORS,
        generate_unique_id_function=lambda route: route.name,
    )
