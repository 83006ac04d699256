"""Puts the dashboard together: Dash in its own ASGI app, the gate in front of it."""

from __future__ import annotations

import logging
import re
from functools import partial
from typing import Any

from dash.exceptions import CallbackException, DependencyException, PreventUpdate
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.staticfiles import StaticFiles

from bapo.report.document import ASSETS, SCRIPTS
from frontend import shell
from frontend.answers import malformed_call
from frontend.calls import UNFIT, CallError
from frontend.components import confirm, prompt_marking
from frontend.components.actions import in_toast
from frontend.gate import Gate
from frontend.icons import icon_styles
from frontend.page import Page
from frontend.pages import (
    account,
    alerts,
    audit,
    boards,
    compare,
    new_run,
    paper,
    people,
    prices,
    projects,
    prompt,
    prompt_lists,
    prompts,
    queue,
    resources,
    run,
    runs,
    storage,
    studies,
)
from frontend.session import Api
from frontend.settings import FrontendSettings
from frontend.shared_boards import page_scripts
from frontend.shipping import OWN, Bundle, Pages, Shipping, own_files

LOG = logging.getLogger(__name__)
PAGES = (
    Page(re.compile(r"/runs"), "Runs", runs.layout, section="runs", query_makes_page=False, events="/api/v1/events"),
    Page(
        re.compile(r"/runs/(?P<run_id>[^/]+)"),
        "Run",
        run.layout,
        section="a-run",
        query_makes_page=False,
        events="/api/v1/runs/{run_id}/events",
    ),
    Page(
        re.compile(r"/runs/(?P<run_id>[^/]+)/prompts/(?P<prompt_id>.+)"),
        "Prompt",
        prompt.layout,
        section="a-run",
        query_makes_page=True,
    ),
    Page(
        re.compile(r"/prompts"), "Prompts", prompts.list_layout, section="prompts-over-all-runs", query_makes_page=True
    ),
    Page(
        re.compile(r"/prompts/(?P<prompt_id>.+)"),
        "Prompt",
        prompts.layout,
        section="prompts-over-all-runs",
        query_makes_page=True,
    ),
    Page(
        re.compile(r"/prompt-lists"),
        "Prompt lists",
        prompt_lists.list_layout,
        section="prompt-lists",
        query_makes_page=True,
    ),
    Page(
        re.compile(r"/prompt-lists/(?P<list_id>[^/]+)"),
        "Prompt list",
        prompt_lists.layout,
        section="prompt-lists",
        query_makes_page=True,
    ),
    Page(re.compile(r"/new"), "New run", new_run.layout, section="new-run", query_makes_page=True),
    Page(re.compile(r"/paper"), "Paper view", paper.layout, section="paper-view-and-reports", query_makes_page=True),
    Page(re.compile(r"/compare"), "Compare", compare.layout, section="compare", query_makes_page=False),
    Page(re.compile(r"/boards"), "Boards", boards.list_layout, section="boards", query_makes_page=False),
    Page(
        re.compile(r"/boards/(?P<board_id>[^/]+)"),
        "Board",
        boards.layout,
        section="boards",
        query_makes_page=False,
        events="/api/v1/events",
    ),
    Page(re.compile(r"/studies"), "Studies", studies.list_layout, section="studies", query_makes_page=False),
    Page(re.compile(r"/studies/new"), "New study", studies.new_layout, section="studies", query_makes_page=True),
    Page(
        re.compile(r"/studies/(?P<study_id>[^/]+)"), "Study", studies.layout, section="studies", query_makes_page=False
    ),
    Page(re.compile(r"/queue"), "Queue", queue.queue_layout, section="queue", query_makes_page=False),
    Page(re.compile(r"/workers"), "Workers", queue.workers_layout, section="workers", query_makes_page=False),
    Page(re.compile(r"/account"), "Account", account.layout, section="account", query_makes_page=False),
    Page(re.compile(r"/people"), "People", people.layout, section="people-and-projects", query_makes_page=False),
    Page(
        re.compile(r"/worker-tokens"),
        "Worker tokens",
        people.worker_tokens_layout,
        section="workers",
        query_makes_page=False,
    ),
    Page(re.compile(r"/projects"), "Projects", projects.layout, section="people-and-projects", query_makes_page=False),
    Page(re.compile(r"/audit"), "Audit trail", audit.layout, section="audit-trail", query_makes_page=True),
    Page(re.compile(r"/prices"), "Prices", prices.layout, section="prices", query_makes_page=False),
    Page(re.compile(r"/storage"), "Storage", storage.layout, section="storage", query_makes_page=False),
    Page(re.compile(r"/alerts"), "Alerts", alerts.alerts_layout, section="alerts", query_makes_page=False),
    Page(re.compile(r"/alerts/rules"), "Alert rules", alerts.rules_layout, section="alerts", query_makes_page=False),
    Page(re.compile(r"/alerts/webhooks"), "Webhooks", alerts.webhooks_layout, section="alerts", query_makes_page=False),
    Page(re.compile(r"/data"), "Data and models", resources.layout, section="data--models", query_makes_page=False),
)


def _no_such_file(_: Request, __: Exception) -> Response:
    """Answer 404 for a component's file that does not exist, where Dash would fail."""
    return PlainTextResponse("There is no such file.", status_code=404)


def _refused_call(_: Request, error: Exception) -> Response:
    """Answer 400 for a call with values that its callback cannot take, where Dash would fail."""
    return malformed_call(error)


def _no_change(_: Request, __: Exception) -> Response:
    """Answer a call after which the page stays as it is, as Dash does."""
    return Response(status_code=204)


def _unfit_call(_: Request, error: Exception) -> Response:
    """Answer 400 if Dash rejects a call's outputs, or the result of its values, as invalid for a page."""
    LOG.error("a callback's answer does not fit the page", extra={"failure": str(error).strip()[:200]})
    return malformed_call(CallError(UNFIT))


def create_app(settings: FrontendSettings) -> Gate:
    """Return the ASGI app that serves the dashboard and passes the API through."""
    api = Api(settings.backend_url, settings.session_check_seconds)
    # The drawings of reports look and work here as in their own file.
    scripts = Bundle([*(ASSETS / name for name in SCRIPTS), *own_files("js")], "js")
    styles = Bundle([ASSETS / "paper.css", *own_files("css")], "css", icon_styles())
    server: Any = FastAPI(openapi_url=None)
    server.mount("/assets/report", StaticFiles(directory=ASSETS))
    # Before Dash's own address of that name.
    server.add_api_route("/_dash-layout", partial(shell.first_layout, api, PAGES), include_in_schema=False)
    app = Pages(
        "frontend",
        routes_pathname_prefix="/",
        requests_pathname_prefix=f"{settings.prefix}/",
        backend="fastapi",
        server=server,
        assets_folder=str(OWN),
        # They travel as one file each.
        include_assets_files=False,
        external_stylesheets=[settings.prefix + styles.address],
        external_scripts=[settings.prefix + scripts.address],
        index_string=shell.index(settings.prefix),
        title="BAPO",
        update_title="",
        suppress_callback_exceptions=True,
        # Default for callbacks without an `on_error`.
        on_error=in_toast(),
        meta_tags=[{"name": "viewport", "content": "width=device-width, initial-scale=1"}],
    )
    app.layout = shell.shell_layout()
    shell.register(app, api, PAGES)
    confirm.register(app)
    prompt_marking.register(app, api)
    for page in (
        runs,
        run,
        prompt,
        prompts,
        prompt_lists,
        new_run,
        paper,
        queue,
        resources,
        compare,
        boards,
        studies,
        account,
        people,
        projects,
        audit,
        prices,
        storage,
        alerts,
    ):
        page.register(app, api)
    # Dash on FastAPI finishes its set-up at the first request for "/", which a deep link never makes: its index page
    # would come without our assets.
    untyped: Any = app
    untyped._setup_server()
    app.server.add_exception_handler(DependencyException, _no_such_file)
    app.server.add_exception_handler(CallError, _refused_call)
    app.server.add_exception_handler(PreventUpdate, _no_change)
    app.server.add_exception_handler(CallbackException, _unfit_call)
    shared = page_scripts()
    static = Shipping(app.server, app, [scripts, styles, shared])
    return Gate(app.server, static, settings, app.csp_hashes(), api, shared.address, app.callback_map)
