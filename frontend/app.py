"""Puts the dashboard together: Dash in its own ASGI app, the gate in front of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from dash import Dash
from dash.exceptions import DependencyException
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.staticfiles import StaticFiles

from bapo.report.document import ASSETS, SCRIPTS
from frontend import shell
from frontend.components import confirm
from frontend.components.actions import in_toast
from frontend.gate import Gate
from frontend.page import Page
from frontend.pages import (
    account,
    alerts,
    audit,
    compare,
    new_run,
    paper,
    people,
    projects,
    prompt,
    queue,
    resources,
    run,
    runs,
    storage,
    studies,
)
from frontend.session import Api
from frontend.settings import FrontendSettings

PAGES = (
    Page(re.compile(r"/runs"), "Runs", runs.layout, query_makes_page=False, events="/api/v1/events"),
    Page(
        re.compile(r"/runs/(?P<run_id>[^/]+)"),
        "Run",
        run.layout,
        query_makes_page=False,
        events="/api/v1/runs/{run_id}/events",
    ),
    Page(
        re.compile(r"/runs/(?P<run_id>[^/]+)/prompts/(?P<prompt_id>.+)"),
        "Prompt",
        prompt.layout,
        query_makes_page=True,
    ),
    Page(re.compile(r"/new"), "New run", new_run.layout, query_makes_page=True),
    Page(re.compile(r"/paper"), "Paper view", paper.layout, query_makes_page=True),
    Page(re.compile(r"/compare"), "Compare", compare.layout, query_makes_page=False),
    Page(re.compile(r"/studies"), "Studies", studies.list_layout, query_makes_page=False),
    Page(re.compile(r"/studies/new"), "New study", studies.new_layout, query_makes_page=True),
    Page(re.compile(r"/studies/(?P<study_id>[^/]+)"), "Study", studies.layout, query_makes_page=False),
    Page(re.compile(r"/queue"), "Queue", queue.queue_layout, query_makes_page=False),
    Page(re.compile(r"/workers"), "Workers", queue.workers_layout, query_makes_page=False),
    Page(re.compile(r"/account"), "Account", account.layout, query_makes_page=False),
    Page(re.compile(r"/people"), "People", people.layout, query_makes_page=False),
    Page(re.compile(r"/worker-tokens"), "Worker tokens", people.worker_tokens_layout, query_makes_page=False),
    Page(re.compile(r"/projects"), "Projects", projects.layout, query_makes_page=False),
    Page(re.compile(r"/audit"), "Audit trail", audit.layout, query_makes_page=True),
    Page(re.compile(r"/storage"), "Storage", storage.layout, query_makes_page=False),
    Page(re.compile(r"/alerts"), "Alerts", alerts.alerts_layout, query_makes_page=False),
    Page(re.compile(r"/alerts/rules"), "Alert rules", alerts.rules_layout, query_makes_page=False),
    Page(re.compile(r"/alerts/webhooks"), "Webhooks", alerts.webhooks_layout, query_makes_page=False),
    Page(re.compile(r"/data"), "Data and models", resources.layout, query_makes_page=False),
)


def _no_such_file(_: Request, __: Exception) -> Response:
    """Answers 404 where Dash would fail: for a component's file that does not exist."""
    return PlainTextResponse("There is no such file.", status_code=404)


def _report_asset(name: str) -> str:
    """Returns the address of a file of the reports; like Dash's own assets, it changes with the file."""
    return f"/assets/report/{name}?m={(ASSETS / name).stat().st_mtime_ns}"


def create_app(settings: FrontendSettings) -> Gate:
    """The ASGI app that serves the dashboard and passes the API through."""
    api = Api(settings.backend_url, settings.session_check_seconds)
    server: Any = FastAPI(openapi_url=None)
    server.mount("/assets/report", StaticFiles(directory=ASSETS))
    app = Dash(
        "frontend",
        backend="fastapi",
        server=server,
        assets_folder=str(Path(__file__).parent / "assets"),
        # first.js stands in the head already.
        assets_ignore=r"first\.js|logo\.svg|icons",
        # The drawings of reports look and work here as in their own file.
        external_stylesheets=[_report_asset("paper.css")],
        external_scripts=[_report_asset(name) for name in SCRIPTS],
        index_string=shell.INDEX,
        title="BAPO",
        update_title="",
        suppress_callback_exceptions=True,
        # What a callback shows that says nothing of its own.
        on_error=in_toast(),
        meta_tags=[{"name": "viewport", "content": "width=device-width, initial-scale=1"}],
    )
    app.layout = shell.shell_layout()
    shell.register(app, api, PAGES)
    confirm.register(app)
    for page in (
        runs,
        run,
        prompt,
        new_run,
        paper,
        queue,
        resources,
        compare,
        studies,
        account,
        people,
        projects,
        audit,
        storage,
        alerts,
    ):
        page.register(app, api)
    # Dash on FastAPI finishes its set-up at the first request for "/", which a deep link never makes: its index page
    # would come without our assets.
    untyped: Any = app
    untyped._setup_server()
    app.server.add_exception_handler(DependencyException, _no_such_file)
    return Gate(app.server, settings, app.csp_hashes(), api)
