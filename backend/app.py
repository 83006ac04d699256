"""Assembles the ASGI application from its parts, and the server that runs it."""

from __future__ import annotations

import pkgutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import import_module

import anyio.to_thread
from fastapi import APIRouter, FastAPI

import backend
from backend.files.uploads.checker import UploadChecker
from backend.files.uploads.fetcher import UploadFetcher
from backend.fleet.dispatch.dispatcher import Dispatcher
from backend.identity.auth import bootstrap
from backend.identity.auth.openid.provider import Provider
from backend.identity.auth.passwords import Passwords
from backend.identity.auth.service import authenticate
from backend.kit import errors, middleware
from backend.kit.callers import RecentCallers, Visibility
from backend.kit.context import Context
from backend.kit.database import NUM_THREADS, Database
from backend.kit.kept_answers import KeptAnswers, RevisionReader
from backend.kit.permissions import declared_routes
from backend.kit.principal import Principal
from backend.kit.request_rate import RequestRate
from backend.launch.studies.follower import StudyFollower
from backend.notices.alerts.follower import AlertFollower
from backend.notices.events.hub import EventHub
from backend.notices.webhooks.delivery import Deliverer
from backend.openapi.description import DESCRIPTION
from backend.ops.maintenance import MaintenanceThread
from backend.ops.metrics import RequestMetrics
from backend.ops.readiness import ReadinessCache
from backend.readings.findings.service import FindingsCache
from backend.readings.findings.watcher import FindingsWatcher
from backend.readings.visits.cache import VisitCache
from backend.readings.what_if import RecordingCache
from backend.settings.environment import Settings
from bapo import __version__
from bapo.api.records import StreamEvent
from bapo.deploy.http_server import Server

MOST_REQUESTS_BY_LINK = 600
"""Requests from one address in a minute, per process: pages behind links send one for each panel."""


def _routers() -> list[APIRouter]:
    """Return the router of every module of the server that is named `endpoints`."""
    modules = pkgutil.walk_packages(backend.__path__, "backend.")
    return [import_module(each.name).router for each in modules if each.name.endswith(".endpoints")]


def _wake(dispatcher: Dispatcher, follower: AlertFollower, studies: StudyFollower) -> Callable[[StreamEvent], None]:
    """Return an observer of events that wakes the parts of the server that have work to do."""

    def observer(event: StreamEvent) -> None:
        if event.event == "status":
            dispatcher.wake()
            studies.wake()
        if event.event != "alert":
            follower.wake()

    return observer


def create_app(settings: Settings) -> FastAPI:
    """Return the server. Raises RuntimeError where a route does not declare who may call it."""
    database = Database(settings.database_url, settings.permitted_folders)

    def principal_of(secret_hash: str) -> Principal | None:
        with database.session() as session, session.begin():
            return authenticate(session, secret_hash)

    callers = RecentCallers(principal_of)
    hub = EventHub(database)
    dispatcher = Dispatcher(database, settings)
    revisions = RevisionReader(database)
    caches = (VisitCache(), RecordingCache(), FindingsCache(), ReadinessCache())
    checker = UploadChecker(database, settings)
    fetcher = UploadFetcher(database, settings, checker.wake)
    providers = [Provider(settings)] if settings.oidc_issuer else []
    rate = RequestRate(MOST_REQUESTS_BY_LINK, 60.0)
    parts = (hub, dispatcher, Passwords(), revisions, checker, fetcher, rate, *caches, *providers)
    context = Context(settings, database, callers, Visibility(database), parts)

    maintenance = MaintenanceThread(database, settings)
    deliverer = Deliverer(database, settings.webhook_policy)
    follower = AlertFollower(database, settings.public_url, deliverer.wake)
    studies = StudyFollower(database)
    findings = FindingsWatcher(database, context)
    background = (dispatcher, maintenance, follower, deliverer, studies, findings, checker, fetcher)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with database.session() as session, session.begin():
            bootstrap.bootstrap(session, settings)
        if settings.metrics_token_file is not None:
            bootstrap.token_in(settings.metrics_token_file)
        anyio.to_thread.current_default_thread_limiter().total_tokens = NUM_THREADS
        hub.observe(_wake(dispatcher, follower, studies))
        hub.observe_deletions(context.forget_run)
        async with hub.running():
            for thread in background:
                thread.start()
            yield
            for thread in background:
                await anyio.to_thread.run_sync(thread.end)
        for provider in providers:
            provider.close()
        await revisions.close()
        database.close()

    app = FastAPI(
        title="BAPO Control Plane",
        version=__version__,
        description=DESCRIPTION,
        servers=[{"url": f"{settings.prefix}/", "description": "This server."}],
        lifespan=lifespan,
        routes=[route for router in _routers() for route in router.routes],
        # The description of the API is behind the login too.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
    )
    app.state.context = context
    errors.install(app)
    # The last one added is the first one passed.
    app.add_middleware(KeptAnswers, context=context)
    app.add_middleware(middleware.BodyLimit, seconds=settings.body_seconds)
    app.add_middleware(middleware.Authentication, callers=callers)
    app.add_middleware(middleware.HostGuard, hosts=settings.hosts, origins=settings.origins)
    app.add_middleware(middleware.RequestContext)
    app.add_middleware(RequestMetrics)

    declared_routes(app)
    return app


def build_server(settings: Settings) -> Server:
    """Return a server that is not running yet."""
    app = create_app(settings)
    return Server(app, app.state.context.part(EventHub).close_streams_threadsafe)
