"""Assembles the ASGI application from its parts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio.to_thread
from fastapi import FastAPI

import backend.account.endpoints
import backend.alerts.endpoints
import backend.artifacts.endpoints
import backend.audit.endpoints
import backend.auth.endpoints
import backend.auth.openid.endpoints
import backend.boards.endpoints
import backend.checkpoints.endpoints
import backend.compare.endpoints
import backend.configs.endpoints
import backend.control.endpoints
import backend.difficulty.endpoints
import backend.dispatch.endpoints
import backend.events.endpoints
import backend.findings.endpoints
import backend.imports.endpoints
import backend.maintenance_jobs.endpoints
import backend.openapi.endpoints
import backend.ops.diagnosis.endpoints
import backend.ops.health
import backend.ops.metrics.endpoints
import backend.people.endpoints
import backend.prices.endpoints
import backend.projects.endpoints
import backend.prompt_lists.endpoints
import backend.prompts.endpoints
import backend.queue.endpoints
import backend.records.endpoints
import backend.records.series_endpoints
import backend.resources.endpoints
import backend.runs.endpoints
import backend.samples.endpoints
import backend.storage.endpoints
import backend.studies.endpoints
import backend.submissions.endpoints
import backend.uploads.endpoints
import backend.views.endpoints
import backend.walk.endpoints
import backend.webhooks.endpoints
import backend.what_if.endpoints
import backend.workers.endpoints
from backend.alerts.following import AlertFollower
from backend.auth import bootstrap
from backend.auth.openid.provider import Provider
from backend.auth.passwords import Passwords
from backend.auth.service import authenticate
from backend.dispatch.dispatcher import Dispatcher
from backend.events.hub import EventHub
from backend.findings.cache import FindingsCache
from backend.findings.watching import FindingsWatcher
from backend.kit import errors, middleware
from backend.kit.context import Context
from backend.kit.database import NUM_THREADS, Database
from backend.kit.kept_answers import KeptAnswers, RevisionReader
from backend.kit.permissions import declared_routes
from backend.kit.principal import Principal
from backend.kit.recent_callers import RecentCallers
from backend.kit.request_rate import RequestRate
from backend.kit.settings import Settings
from backend.kit.visibility import Visibility
from backend.openapi.description import DESCRIPTION
from backend.ops.maintenance import MaintenanceThread
from backend.ops.metrics.middleware import RequestMetrics
from backend.ops.readiness import ReadinessCache
from backend.studies.following import StudyFollower
from backend.uploads.checking import UploadChecker
from backend.uploads.fetching import UploadFetcher
from backend.visits.cache import VisitCache
from backend.webhooks.delivering import Deliverer
from backend.what_if.cache import RecordingCache
from bapo import __version__
from bapo.api.events import StreamEvent

ROUTERS = (
    backend.auth.endpoints.router,
    backend.auth.openid.endpoints.router,
    backend.account.endpoints.router,
    backend.people.endpoints.router,
    backend.projects.endpoints.router,
    backend.audit.endpoints.router,
    backend.configs.endpoints.router,
    backend.submissions.endpoints.router,
    backend.runs.endpoints.router,
    backend.control.endpoints.router,
    backend.records.endpoints.router,
    backend.records.series_endpoints.router,
    backend.prompts.endpoints.router,
    backend.prompt_lists.endpoints.router,
    backend.samples.endpoints.router,
    backend.difficulty.endpoints.router,
    backend.checkpoints.endpoints.router,
    backend.artifacts.endpoints.router,
    backend.maintenance_jobs.endpoints.router,
    backend.compare.endpoints.router,
    backend.ops.diagnosis.endpoints.router,
    backend.events.endpoints.router,
    backend.imports.endpoints.router,
    backend.queue.endpoints.router,
    backend.resources.endpoints.router,
    backend.uploads.endpoints.router,
    backend.studies.endpoints.router,
    backend.prices.endpoints.router,
    backend.storage.endpoints.router,
    backend.views.endpoints.router,
    backend.boards.endpoints.router,
    backend.walk.endpoints.router,
    backend.what_if.endpoints.router,
    backend.findings.endpoints.router,
    backend.workers.endpoints.router,
    backend.dispatch.endpoints.router,
    backend.alerts.endpoints.router,
    backend.webhooks.endpoints.router,
    backend.openapi.endpoints.router,
    backend.ops.health.router,
    backend.ops.metrics.endpoints.router,
)

MOST_REQUESTS_BY_LINK = 600
"""Of one address in a minute, at each process: pages behind links ask once for each panel."""


def _wake(dispatcher: Dispatcher, follower: AlertFollower, studies: StudyFollower) -> Callable[[StreamEvent], None]:
    """A run may be waiting, or a slot free; and there may be something to tell."""

    def observer(event: StreamEvent) -> None:
        if event.event == "status":
            dispatcher.wake()
            studies.wake()
        if event.event != "alert":
            follower.wake()

    return observer


def create_app(settings: Settings) -> FastAPI:
    """The server. Raises RuntimeError where a route does not declare who may call it."""
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
        routes=[route for router in ROUTERS for route in router.routes],
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
