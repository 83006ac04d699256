"""Assembles the ASGI application from its parts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio.to_thread
from fastapi import FastAPI

import backend.boards.endpoints
import backend.files.artifacts.endpoints
import backend.files.resources.endpoints
import backend.files.storage.endpoints
import backend.files.uploads.endpoints
import backend.fleet.control.endpoints
import backend.fleet.dispatch.endpoints
import backend.fleet.maintenance_jobs.endpoints
import backend.fleet.queue.endpoints
import backend.identity.account.endpoints
import backend.identity.audit.endpoints
import backend.identity.auth.endpoints
import backend.identity.auth.openid.endpoints
import backend.identity.people.endpoints
import backend.identity.projects.endpoints
import backend.launch.configs.endpoints
import backend.launch.imports.endpoints
import backend.launch.studies.endpoints
import backend.launch.submissions.endpoints
import backend.notices.alerts.endpoints
import backend.notices.events.endpoints
import backend.notices.webhooks.endpoints
import backend.openapi.endpoints
import backend.ops.diagnosis.endpoints
import backend.ops.endpoints
import backend.ops.metrics.endpoints
import backend.prices.endpoints
import backend.readings.compare.endpoints
import backend.readings.difficulty.endpoints
import backend.readings.findings.endpoints
import backend.readings.prompt_lists.endpoints
import backend.readings.prompts.endpoints
import backend.readings.samples.endpoints
import backend.readings.series.endpoints
import backend.readings.walk.endpoints
import backend.readings.what_if.endpoints
import backend.records.endpoints
import backend.runs.checkpoints.endpoints
import backend.runs.endpoints
import backend.runs.views.endpoints
import backend.workers.endpoints
from backend.files.uploads.checking import UploadChecker
from backend.files.uploads.fetching import UploadFetcher
from backend.fleet.dispatch.dispatcher import Dispatcher
from backend.identity.auth import bootstrap
from backend.identity.auth.openid.provider import Provider
from backend.identity.auth.passwords import Passwords
from backend.identity.auth.service import authenticate
from backend.kit import errors, middleware
from backend.kit.context import Context
from backend.kit.database import NUM_THREADS, Database
from backend.kit.kept_answers import KeptAnswers, RevisionReader
from backend.kit.permissions import declared_routes
from backend.kit.principal import Principal
from backend.kit.recent_callers import RecentCallers
from backend.kit.request_rate import RequestRate
from backend.kit.visibility import Visibility
from backend.launch.studies.following import StudyFollower
from backend.notices.alerts.following import AlertFollower
from backend.notices.events.hub import EventHub
from backend.notices.webhooks.delivering import Deliverer
from backend.openapi.description import DESCRIPTION
from backend.ops.maintenance import MaintenanceThread
from backend.ops.metrics.middleware import RequestMetrics
from backend.ops.readiness import ReadinessCache
from backend.readings.findings.cache import FindingsCache
from backend.readings.findings.watching import FindingsWatcher
from backend.readings.visits.cache import VisitCache
from backend.readings.what_if.cache import RecordingCache
from backend.settings.environment import Settings
from bapo import __version__
from bapo.api.events import StreamEvent

ROUTERS = (
    backend.identity.auth.endpoints.router,
    backend.identity.auth.openid.endpoints.router,
    backend.identity.account.endpoints.router,
    backend.identity.people.endpoints.router,
    backend.identity.projects.endpoints.router,
    backend.identity.audit.endpoints.router,
    backend.launch.configs.endpoints.router,
    backend.launch.submissions.endpoints.router,
    backend.runs.endpoints.router,
    backend.fleet.control.endpoints.router,
    backend.records.endpoints.router,
    backend.readings.series.endpoints.router,
    backend.readings.prompts.endpoints.router,
    backend.readings.prompt_lists.endpoints.router,
    backend.readings.samples.endpoints.router,
    backend.readings.difficulty.endpoints.router,
    backend.runs.checkpoints.endpoints.router,
    backend.files.artifacts.endpoints.router,
    backend.fleet.maintenance_jobs.endpoints.router,
    backend.readings.compare.endpoints.router,
    backend.ops.diagnosis.endpoints.router,
    backend.notices.events.endpoints.router,
    backend.launch.imports.endpoints.router,
    backend.fleet.queue.endpoints.router,
    backend.files.resources.endpoints.router,
    backend.files.uploads.endpoints.router,
    backend.launch.studies.endpoints.router,
    backend.prices.endpoints.router,
    backend.files.storage.endpoints.router,
    backend.runs.views.endpoints.router,
    backend.boards.endpoints.router,
    backend.readings.walk.endpoints.router,
    backend.readings.what_if.endpoints.router,
    backend.readings.findings.endpoints.router,
    backend.workers.endpoints.router,
    backend.fleet.dispatch.endpoints.router,
    backend.notices.alerts.endpoints.router,
    backend.notices.webhooks.endpoints.router,
    backend.openapi.endpoints.router,
    backend.ops.endpoints.router,
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
