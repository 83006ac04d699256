"""Callbacks of the upload panel: showing the findings, checking again, registering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dash import ALL, Dash, Input, Output, State, ctx, no_update, set_props
from dash.exceptions import PreventUpdate

from bapo.api.uploads import UploadCheck, UploadFetch, UploadInfo, UploadRegister
from bapo.client import AsyncClient
from bapo.own_data.report import OPTIONAL, REQUIRED, DataTask
from frontend.components.actions import clientside, in_place, in_toast, show, tell, when_pressed, when_submitted
from frontend.components.elements import Interval, Store
from frontend.pages.resources.tables import sections
from frontend.pages.resources.upload_panel import HIDDEN, SHOWN, arriving, found, go_on, waiting
from frontend.request.session import Api

POLL_MILLISECONDS = 1_000
ARRIVING = ("fetching", "checking")
"""States that end by themselves."""


def stores() -> list[Any]:
    """Return what the panel keeps: the upload that it shows, and the clock of its check."""
    return [
        Store(id="upload-current"),
        Store(id="upload-sink"),
        Interval(id="upload-clock", interval=POLL_MILLISECONDS, disabled=True),
    ]


async def redraw(client: AsyncClient) -> None:
    """Draw the lists of the page again."""
    show("resources", sections(await client.resources(), shows_projects=len((await client.me()).projects) > 1))
    show("uploads", waiting(await client.uploads()))


async def _draw(client: AsyncClient, upload: UploadInfo) -> None:
    set_props("upload-clock", {"disabled": upload.state not in ARRIVING})
    is_ready = upload.state == "checked" and (
        upload.kind == "model" or (upload.report is not None and not upload.report.is_refused)
    )
    set_props("upload-form", {"style": SHOWN if is_ready else HIDDEN})
    match upload.state:
        case "receiving":
            show("upload-found", go_on(upload))
        case "fetching" | "checking":
            show("upload-found", arriving(upload))
        case "failed":
            show("upload-found", "")
            set_props("upload-problem", {"children": f"{upload.file_name}: {upload.problem}", "hidden": False})
        case "checked":
            registered = [f"@{each.name}" for each in (await client.resources("verifier")).items]
            show("upload-found", found(upload, registered))
            has_warnings = upload.report is not None and bool(upload.report.warnings)
            # That of a model of the catalogue is known.
            if licence := upload.details.get("licence"):
                set_props("upload-licence", {"value": licence})
            set_props("upload-accept", {"checked": False, "error": "", "style": SHOWN if has_warnings else HIDDEN})


def register(app: Dash, api: Api) -> None:
    """Register the callbacks of the panel."""
    clientside(app, "uploads", "opened", Output("upload-sink", "data"), Input("upload-drawer", "opened"), initial=False)
    _showing(app, api)
    _fetching(app, api)
    _deciding(app, api)


def _showing(app: Dash, api: Api) -> None:
    @when_pressed(app, "resource-upload")
    async def begin(_: Any) -> None:
        set_props("upload-drawer", {"opened": True})
        set_props("upload-current", {"data": None})
        set_props("upload-clock", {"disabled": True})
        set_props("upload-form", {"style": HIDDEN})
        set_props("upload-problem", {"hidden": True})
        show("upload-found", "")

    @app.callback(
        Output("upload-name", "value"),
        Input("upload-current", "data"),
        Input("upload-clock", "n_intervals"),
        State("upload-name", "value"),
        prevent_initial_call=True,
        on_error=in_place("upload-found"),
    )
    async def look(current: Mapping[str, Any] | None, _: int | None, name: str | None) -> Any:
        if not current:
            raise PreventUpdate
        client = api.client()
        upload = await client.upload(current["id"])
        is_new = ctx.triggered_id == "upload-current"
        if is_new:
            set_props("upload-licence", {"value": ""})
        if is_new or upload.state != "checking":
            await _draw(client, upload)
        if upload.state == "checked" and current.get("is_fetched"):
            # Until then it stays there to be corrected.
            set_props("upload-url", {"value": ""})
        if is_new or upload.state not in ARRIVING:
            show("uploads", waiting(await client.uploads()))
        return upload.suggested_name if is_new else no_update

    @when_pressed(app, {"type": "upload-open", "id": ALL}, on_error=in_toast())
    async def open_upload(pressed: Mapping[str, str]) -> None:
        set_props("upload-drawer", {"opened": True})
        set_props("upload-problem", {"hidden": True})
        set_props("upload-current", {"data": {"id": pressed["id"]}})

    @when_pressed(app, {"type": "upload-delete", "id": ALL}, on_error=in_toast())
    async def delete(pressed: Mapping[str, str]) -> None:
        client = api.client()
        set_props("upload-current", {"data": None})
        set_props("upload-clock", {"disabled": True})
        await client.delete_upload(pressed["id"])
        tell("What had been received is deleted.", "Upload deleted")
        show("uploads", waiting(await client.uploads()))


def _fetching(app: Dash, api: Api) -> None:
    @when_submitted(
        app,
        "upload-fetch",
        fields={"url": "upload-url"},
        problem="upload-found",
        states=[State("upload-url", "value"), State("upload-project", "value")],
    )
    async def fetch(url: str | None, project: str | None) -> None:
        body = UploadFetch.model_construct(url=(url or "").strip(), project=project)
        upload = await api.client().fetch_upload(body)
        set_props("upload-problem", {"hidden": True})
        set_props("upload-current", {"data": {"id": upload.id, "is_fetched": True}})

    @when_pressed(
        app,
        {"type": "catalogue-fetch", "id": ALL},
        states=[State("upload-project", "value")],
        on_error=in_place("upload-found"),
    )
    async def fetch_model(pressed: Mapping[str, str], project: str | None) -> None:
        body = UploadFetch.model_construct(url=f"catalogue:{pressed['id']}", project=project)
        upload = await api.client().fetch_upload(body)
        set_props("upload-problem", {"hidden": True})
        set_props("upload-current", {"data": {"id": upload.id}})


def _deciding(app: Dash, api: Api) -> None:
    @when_pressed(
        app,
        {"type": "upload-check", "id": ALL},
        states=[State("upload-current", "data"), State({"type": "upload-column", "field": ALL}, "value")],
        on_error=in_toast("Not checked"),
    )
    async def check(_: Any, current: Mapping[str, str], values: Sequence[str | None]) -> None:
        fields = [each["id"]["field"] for each in ctx.states_list[1]]
        given = dict(zip(fields, values, strict=True))
        task: DataTask = "countdown" if given.get("task") == "countdown" else "file"
        parts = (*REQUIRED[task], *OPTIONAL[task])
        columns = {field: column for field, column in given.items() if field in parts and column}
        body = UploadCheck(task=task, columns=columns, verifier=(given.get("verifier") or "").strip() or "math")
        client = api.client()
        await _draw(client, await client.check_upload(current["id"], body))

    @when_submitted(
        app,
        "upload-submit",
        fields={
            "name": "upload-name",
            "licence": "upload-licence",
            "description": "upload-description",
            "accepts_warnings": "upload-accept",
        },
        problem="upload-refusal",
        states=[
            State("upload-current", "data"),
            *(State(f"upload-{field}", "value") for field in ("name", "licence", "description")),
            State("upload-accept", "checked"),
        ],
    )
    async def submit(
        current: Mapping[str, str], name: str | None, licence: str | None, description: str | None, accepts: bool
    ) -> None:
        body = UploadRegister.model_construct(
            name=(name or "").strip(),
            licence=(licence or "").strip(),
            description=description or "",
            accepts_warnings=bool(accepts),
        )
        client = api.client()
        made = await client.register_upload(current["id"], body)
        set_props("upload-drawer", {"opened": False})
        set_props("upload-current", {"data": None})
        text = (
            f"Version {made.version} of @{made.name}."
            if made.is_new
            else f"@{made.name} has it as version {made.version}."
        )
        tell(text, "Registered" if made.is_new else "Known already")
        await redraw(client)
