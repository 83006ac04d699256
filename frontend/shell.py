"""The frame around every page: navigation, top bar, theme, connection, and the table of addresses."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import dash_mantine_components as dmc
from dash import Dash, Input, Output, State, html
from plotly.io.json import to_json_plotly
from starlette.requests import Request
from starlette.responses import Response

from bapo.figures.theme import css_variables, mantine_theme, mantine_variables
from frontend.components.actions import FAILURES, clientside
from frontend.components.choices import writable_projects
from frontend.components.controls import button_around, filter_select
from frontend.components.elements import Link, Location, Store, attributes
from frontend.components.icon import IconName, icon
from frontend.components.markup import lean
from frontend.components.page import Page, Shown, page_at, query_of
from frontend.delivery.documents import DASHBOARD, START, address, documents
from frontend.delivery.files import plotly_address
from frontend.request.prefix import PREFIX, served, within
from frontend.request.session import Api

NAVIGATION: tuple[tuple[str, str, IconName], ...] = (
    ("Runs", "/runs", "runs"),
    ("New run", "/new", "plus"),
    ("Compare", "/compare", "compare"),
    ("Paper view", "/paper", "notes"),
    ("Boards", "/boards", "board"),
    ("Studies", "/studies", "study"),
    ("Queue", "/queue", "queue"),
    ("Workers", "/workers", "worker"),
    ("Data & models", "/data", "data"),
    ("Prompts", "/prompts", "tag"),
    ("Alerts", "/alerts", "bell"),
)

_INDEX = """<!DOCTYPE html>
<html lang="en">
<head>
  {%metas%}
  <title>{%title%}</title>
  <link rel="icon" type="image/svg+xml" href="@PREFIX@/assets/logo.svg">
  <link rel="preload" as="fetch" crossorigin="anonymous" href="@PREFIX@/_dash-layout">
  <link rel="preload" as="fetch" crossorigin="anonymous" href="@PREFIX@/_dash-dependencies">
  <script src="@PREFIX@/assets/first.js" data-prefix="@PREFIX@" data-plotly="@PREFIX@@PLOTLY@"
    data-table="@PREFIX@@TABLE@" data-table-rest="@PREFIX@@REST@"></script>
  <style>@VARIABLES@</style>
  {%css%}
</head>
<body>
  {%app_entry%}
  <footer>{%config%}{%scripts%}{%renderer%}</footer>
</body>
</html>"""


def index(prefix: str) -> str:
    """Return the document that every page begins with, for a dashboard that is served under the prefix."""
    style = css_variables() + mantine_variables()
    return _INDEX.replace("@VARIABLES@", style).replace("@PLOTLY@", plotly_address()).replace("@PREFIX@", prefix)


class Viewer(NamedTuple):
    """The viewer, as far as the frame's content depends on them."""

    label: str = ""
    administration: Sequence[Any] = ()
    """Entries of the menu."""
    looks: str = ""
    """Classes of the frame: the style sheet offers nothing that makes something to those who may only look."""
    projects: Sequence[str] = ()
    """Those can be chosen between, where there are several."""


async def first_layout(api: Api, pages: Sequence[Page], request: Request) -> Response:
    """Answer with the frame and the requested page in it, built while the browser sets up its scripts.

    A page that does not say which one it is gets the frame alone, and asks for its content from there.
    """
    asking = urlsplit(request.headers.get("referer", ""))
    path = within(asking.path, PREFIX.get())
    if not path:
        layout = shell_layout(await _viewer(api))
    else:
        search = f"?{asking.query}" if asking.query else ""
        viewer, shown = await asyncio.gather(_viewer(api), page_at(api, pages, path, search))
        project = query_of(search).get("project") if path == "/runs" else None
        layout = shell_layout(viewer, shown, {"pathname": path, "search": search}, project)
    return Response(to_json_plotly(layout), media_type="application/json")


async def _viewer(api: Api) -> Viewer:
    try:
        user = await api.client().me()
    except FAILURES:
        return Viewer("server unavailable")
    names = [each.name for each in user.projects if not each.is_archived]
    looks = [] if writable_projects(user) else ["only-looks"]
    administration = _administration() if user.role == "admin" else []
    return Viewer(f"{user.name} · {user.role}", administration, " ".join(looks), names)


_NO_VIEWER = Viewer()


def shell_layout(
    viewer: Viewer = _NO_VIEWER,
    shown: Shown | None = None,
    place: Mapping[str, str] | None = None,
    project: str | None = None,
) -> dmc.MantineProvider:
    """Return everything that stays while pages change, and the page where it is known.

    `place`: the parts of the page's address. `project`: the one whose runs it lists.
    """
    content, route, events, about = shown or Shown(None, None, None, address(DASHBOARD))
    return dmc.MantineProvider(
        [
            Location(id="url", **(place or {})),
            Store(id="scheme"),
            Store(id="route", data=route),
            Store(id="asked-page"),
            Store(id="live-source", data=events),
            Store(id="live-state"),
            html.Div(id="title-sink", hidden=True),
            html.Div(id="bell-sink", hidden=True),
            html.Div(id="arrival-sink", hidden=True),
            html.A("Skip to the content", href="#page", className="skip-link"),
            dmc.NotificationContainer(id="notifications", position="bottom-right"),
            html.Div(id="connection-banner", className="connection-banner", role="status"),
            dmc.AppShell(
                [
                    dmc.AppShellHeader(_header(viewer, about, project), className="shell-header"),
                    dmc.AppShellNavbar(_links(), id="navbar", p="sm"),
                    dmc.AppShellMain(html.Div(content, id="page", className="page")),
                ],
                id="appshell",
                className=viewer.looks,
                header={"height": 52},
                navbar={"width": 196, "breakpoint": "md", "collapsed": {"mobile": True}},
                padding="md",
            ),
        ],
        id="mantine",
        defaultColorScheme="auto",
        theme=mantine_theme(),
    )


def _header(viewer: Viewer, about: str, project: str | None) -> dmc.Group:
    return dmc.Group(
        [
            dmc.Group(
                [
                    dmc.Burger(id="burger", size="sm", hiddenFrom="md", **attributes(aria_label="Navigation")),
                    Link(
                        [html.Img(src=served("/assets/logo.svg"), alt="", width=24, height=24), html.Span("BAPO")],
                        href="/runs",
                        className="brand",
                    ),
                ],
                gap="sm",
                wrap="nowrap",
            ),
            dmc.Group(
                [
                    *_project_choice(viewer, project),
                    dmc.TextInput(
                        id="search",
                        placeholder="Search runs",
                        # Enter sends the text with it, which otherwise follows each letter when the page is idle.
                        debounce=True,
                        leftSection=icon("search", 16),
                        rightSection=dmc.Kbd("/", size="xs"),
                        size="xs",
                        w=220,
                        visibleFrom="sm",
                        **attributes(aria_label="Search runs"),
                    ),
                    html.Button(
                        icon("command"),
                        id="palette-open",
                        type="button",
                        title="Commands (Ctrl+K or ⌘K)",
                        className="icon-button",
                        **attributes(aria_label="Commands", aria_keyshortcuts="Control+K", aria_haspopup="dialog"),
                    ),
                    html.Span("", id="connection", className="connection", role="status"),
                    html.A(
                        icon("book"),
                        id="help",
                        href=about,
                        target="_blank",
                        title="About this page",
                        className="bell",
                        hidden=DASHBOARD not in documents(),
                        **attributes(aria_label="About this page"),
                    ),
                    Link(
                        # The number comes from assets/alerts.js.
                        [icon("bell"), html.Span("", id="bell-count", className="bell-count")],
                        id="bell",
                        href="/alerts",
                        title="Alerts",
                        className="bell",
                    ),
                    dmc.Tooltip(
                        dmc.ActionIcon(
                            [icon("moon"), icon("sun")],
                            id="scheme-toggle",
                            variant="subtle",
                            color="gray",
                            className="scheme-toggle",
                            **attributes(aria_label="Switch between light and dark"),
                        ),
                        label="Light or dark",
                    ),
                    dmc.Menu(
                        [
                            dmc.MenuTarget(
                                icon("user"), boxWrapperProps=button_around("icon-button", aria_label="Account")
                            ),
                            dmc.MenuDropdown(
                                [
                                    dmc.MenuLabel(viewer.label, id="user"),
                                    dmc.MenuItem("Account", href=served("/account"), leftSection=icon("user", 16)),
                                    dmc.MenuItem("Projects", href=served("/projects"), leftSection=icon("data", 16)),
                                    dmc.MenuItem("Prices", href=served("/prices"), leftSection=icon("notes", 16)),
                                    dmc.MenuItem(
                                        "Documents",
                                        href=address(START),
                                        target="_blank",
                                        leftSection=icon("book", 16),
                                        display=None if documents() else "none",
                                    ),
                                    # A page of the server, not of the dashboard.
                                    dmc.MenuItem(
                                        "API",
                                        href=served("/api/v1/docs"),
                                        target="_blank",
                                        leftSection=icon("notes", 16),
                                    ),
                                    # Only what the caller may do.
                                    *viewer.administration,
                                    dmc.MenuDivider(),
                                    dmc.MenuItem("Log out", id="logout", leftSection=icon("logout", 16)),
                                ]
                            ),
                        ],
                        position="bottom-end",
                        shadow="md",
                    ),
                ],
                gap="xs",
                wrap="nowrap",
            ),
        ],
        justify="space-between",
        wrap="nowrap",
        h="100%",
        px="md",
    )


def _project_choice(viewer: Viewer, project: str | None) -> list[dmc.Select]:
    """Return the choice of the project whose runs are listed, for those who have several."""
    if not viewer.projects[1:]:
        return []
    label = "Project whose runs are listed"
    return [filter_select("project", label, project, list(viewer.projects), "All projects", 160, visibleFrom="sm")]


def _administration() -> list[dmc.MenuItem]:
    return [
        dmc.MenuItem("People", href=served("/people"), leftSection=icon("user", 16)),
        dmc.MenuItem("Worker tokens", href=served("/worker-tokens"), leftSection=icon("worker", 16)),
        dmc.MenuItem("Storage", href=served("/storage"), leftSection=icon("data", 16)),
        dmc.MenuItem("Audit trail", href=served("/audit"), leftSection=icon("notes", 16)),
    ]


def _links() -> Any:
    """Return the navigation; the script of the frame marks the page that is open."""
    links = [Link([icon(name), label], href=href, className="nav-link") for label, href, name in NAVIGATION]
    return lean(html.Div(links, className="shell-nav"))


def register(app: Dash, api: Api, pages: tuple[Page, ...]) -> None:
    """Register the routing and the callbacks of the frame."""

    @app.callback(
        Output("page", "children"),
        Output("route", "data"),
        Output("live-source", "data"),
        Output("help", "href"),
        Input("asked-page", "data"),
        # The frame comes with its first page.
        prevent_initial_call=True,
    )
    async def show(asked: dict[str, str]) -> Any:
        return await page_at(api, pages, asked["path"], asked["search"])

    in_browser = partial(clientside, app, "shell")
    # In the browser, which writes into the address whenever a control moves: most of what changes there is no page.
    address = [Input("url", name) for name in ("pathname", "search")]
    known = [State(name, "data") for name in ("route", "asked-page")]
    in_browser("ask", Output("asked-page", "data"), *address, *known, initial=False)
    in_browser(
        "scheme", Output("mantine", "forceColorScheme"), Output("scheme", "data"), Input("scheme-toggle", "n_clicks")
    )
    in_browser("navbar", Output("appshell", "navbar"), Input("burger", "opened"), State("appshell", "navbar"))
    in_browser("go", Output("burger", "opened"), Input("url", "pathname"))
    in_browser("logout", Output("logout", "disabled"), Input("logout", "n_clicks"), initial=False)
    typed = State("search", "value")
    in_browser("search", Output("url", "href"), Input("search", "n_submit"), typed, initial=False)
    in_browser("project", Output("url", "href", allow_duplicate=True), Input("project", "value"), initial=False)
    clientside(app, "shell", "arrived", Output("arrival-sink", "title"), Input("route", "data"))
    clientside(app, "view", "changed", Output("title-sink", "title"), Input("url", "href"))
    clientside(app, "live", "connect", Output("live-state", "data"), Input("live-source", "data"))
