"""Puts the dashboard together: Dash in its own ASGI app, the gate in front of it."""

from __future__ import annotations

import logging
import pkgutil
from functools import partial
from importlib import import_module
from typing import Any

from dash.exceptions import CallbackException, DependencyException, PreventUpdate
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.staticfiles import StaticFiles

from bapo.report.document import ASSETS, SCRIPTS
from frontend import pages, shell
from frontend.components import dialogs, prompts
from frontend.components.actions import in_toast
from frontend.components.icon import icon_styles
from frontend.components.page import Page
from frontend.delivery.files import OWN, Bundle, PageFiles, Pages, own_files
from frontend.request.answers import malformed_call
from frontend.request.calls import UNFIT, CallError
from frontend.request.session import Api
from frontend.server.gate import Gate
from frontend.server.settings import FrontendSettings
from frontend.server.shared_boards import page_scripts

LOG = logging.getLogger(__name__)
_MODULES = [import_module(each.name) for each in pkgutil.walk_packages(pages.__path__, f"{pages.__name__}.")]
"""Modules of the pages: `PAGES` are the addresses of one, and its function `register` makes it react."""
PAGES: tuple[Page, ...] = tuple(page for module in _MODULES for page in getattr(module, "PAGES", ()))


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
    dialogs.register(app)
    prompts.register(app, api)
    for module in _MODULES:
        if hasattr(module, "register"):
            module.register(app, api)
    # Dash on FastAPI finishes its set-up at the first request for "/", which a deep link never makes: its index page
    # would come without our assets.
    untyped: Any = app
    untyped._setup_server()
    app.server.add_exception_handler(DependencyException, _no_such_file)
    app.server.add_exception_handler(CallError, _refused_call)
    app.server.add_exception_handler(PreventUpdate, _no_change)
    app.server.add_exception_handler(CallbackException, _unfit_call)
    shared = page_scripts()
    static = PageFiles(app.server, app, [scripts, styles, shared])
    return Gate(app.server, static, settings, app.csp_hashes(), api, shared.address, app.callback_map)
