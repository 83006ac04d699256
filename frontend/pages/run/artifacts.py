"""The tab with what can be downloaded: the checkpoints as Hugging Face folders, journal, report and text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
import httpx
from dash import Dash, Input, Output, State, ctx, dcc, html, no_update

from bapo.api.artifacts import ArtifactCreate, ArtifactInfo
from bapo.api.checkpoints import CheckpointInfo, CheckpointPage
from bapo.api.runs import RunDetail
from bapo.client import ApiError, AsyncClient
from bapo.figures import formatting
from frontend.components.attributes import attributes
from frontend.components.icon import icon
from frontend.components.moment import moment
from frontend.components.notices import error_text, toast
from frontend.components.store_button import button_store, store_button, store_id
from frontend.session import Api

ARTIFACT = "artifact"
"""Buttons that make a download, or take it away."""
REFRESH_MILLISECONDS = 1500
OTHERS: tuple[tuple[str, str, str], ...] = (
    ("journal", "Journal", "All that its trainers wrote, of all attempts; bapo import shows it in another server."),
    ("report", "Report", "The paper's figures and tables in one HTML file, which needs no server and no network."),
    ("config", "Config", "TOML, as bapo train takes it."),
    ("log", "Log", "Output of the trainers, one attempt after the other."),
    ("samples", "Samples", "Prompts with their responses, one JSON line a group."),
)
OPEN = ("requested", "preparing")


async def artifacts_panel(client: AsyncClient, run: RunDetail, _: Mapping[str, str]) -> html.Div:
    """Filled at once, and followed for as long as something is being made."""
    board, is_open = await _board(client, run.id)
    return html.Div(
        [
            html.Div(board, id="artifacts-board", className="panel-stack"),
            button_store(ARTIFACT),
            dcc.Interval(id="artifacts-refresh", interval=REFRESH_MILLISECONDS, disabled=not is_open),
        ]
    )


async def _board(client: AsyncClient, run_id: str) -> tuple[list[Any], bool]:
    checkpoints, page = await client.checkpoints(run_id), await client.artifacts(run_id)
    newest: dict[tuple[str, int | None], ArtifactInfo] = {}
    for artifact in reversed(page.items):
        newest[(artifact.kind, artifact.step)] = artifact
    is_open = any(artifact.state in OPEN for artifact in newest.values())
    return [_checkpoints(run_id, checkpoints, newest), _others(newest)], is_open


# ---------------------------------------------------------------- tables


def _checkpoints(run_id: str, page: CheckpointPage, newest: Mapping[tuple[str, int | None], ArtifactInfo]) -> html.Div:
    if page.items:
        names = sorted({name for each in page.items for name in each.evaluations})
        head = ("Step", "Written", "On disk", *names, "Model", "")
        rows = [_checkpoint(run_id, each, names, newest.get(("checkpoint", each.step))) for each in page.items]
        content: list[Any] = [_table(head, rows), _snippet(page.items[0], newest)]
    else:
        content = [dmc.Text(_why_none(page), size="sm", c="dimmed")]
    return html.Div(
        [
            html.H3("Checkpoints", className="chart-title"),
            dmc.Text(
                "A download holds the model alone, as a Hugging Face folder: weights in safetensors format, config and "
                "tokenizer.",
                size="sm",
                c="dimmed",
            ),
            *content,
        ],
        className="panel-card",
    )


def _why_none(page: CheckpointPage) -> str:
    if page.host is None:
        return "None that this server could reach: no worker of its own has trained this run."
    return "None is kept: the first one comes after the interval that the config sets, or has been deleted."


def _checkpoint(run_id: str, each: CheckpointInfo, names: Sequence[str], artifact: ArtifactInfo | None) -> dmc.TableTr:
    cells = [
        dmc.TableTd(f"{each.step:,}", className="number"),
        dmc.TableTd(moment(each.written_at), className="nowrap"),
        dmc.TableTd(formatting.size(each.num_bytes), className="number nowrap"),
        *(dmc.TableTd(formatting.percent(each.evaluations.get(name)), className="number nowrap") for name in names),
        dmc.TableTd(_action("checkpoint", each.step, artifact, f"the checkpoint of step {each.step:,}")),
        dmc.TableTd(
            dcc.Link(f"Fork from step {each.step:,}", href=f"/new?fork={run_id}&step={each.step}", className="nowrap")
        ),
    ]
    return dmc.TableTr(cells, **attributes(data_step=str(each.step)))


def _others(newest: Mapping[tuple[str, int | None], ArtifactInfo]) -> html.Div:
    rows = [
        dmc.TableTr(
            [
                dmc.TableTd([html.Div(label, className="artifact-name"), html.Div(text, className="artifact-text")]),
                dmc.TableTd(_action(kind, None, newest.get((kind, None)), f"the {label.lower()}")),
            ],
            **attributes(data_kind=kind),
        )
        for kind, label, text in OTHERS
    ]
    return html.Div(
        [html.H3("Records and reports", className="chart-title"), _table(("File", "Download"), rows)],
        className="panel-card",
    )


def _table(head: Sequence[str], rows: Sequence[Any]) -> dmc.TableScrollContainer:
    return dmc.TableScrollContainer(
        dmc.Table(
            [
                dmc.TableThead(dmc.TableTr([dmc.TableTh(title, className="nowrap") for title in head])),
                dmc.TableTbody(list(rows)),
            ],
            className="artifact-table",
            verticalSpacing="xs",
        ),
        minWidth=0,
    )


# ---------------------------------------------------------------- one cell


def _action(kind: str, step: int | None, artifact: ArtifactInfo | None, what: str) -> html.Div:
    """Ask for it, how far it is, or the file itself."""
    if artifact is not None and artifact.state in OPEN:
        return _progress(artifact, what)
    parts: list[Any] = []
    if artifact is not None and artifact.state == "ready":
        parts = [_link(artifact, what), _ask(kind, step, what, again=True), _delete(artifact, what)]
    else:
        parts = [_ask(kind, step, what, again=False)]
        if artifact is not None:
            parts.append(html.Span(f"{artifact.state}: {artifact.reason}", className="artifact-text"))
    return html.Div(parts, className="artifact-action")


def _link(artifact: ArtifactInfo, what: str) -> html.A:
    return html.A(
        [icon("download", 16), f"Download {formatting.size(artifact.num_bytes)}"],
        href=f"/api/v1/runs/{artifact.run_id}/artifacts/{artifact.id}/content",
        download=artifact.file_name,
        className="artifact-link",
        title=f"{artifact.file_name}, until {formatting.exact_time(artifact.expires_at)}; SHA-256 {artifact.sha256}",
        **attributes(aria_label=f"Download {what}, {formatting.size(artifact.num_bytes)}"),
    )


def _ask(kind: str, step: int | None, what: str, *, again: bool) -> Any:
    # A checkpoint and a config stay what they are.
    if again and kind in ("checkpoint", "config"):
        return None
    return dmc.Button(
        "Make anew" if again else "Prepare",
        size="compact-xs",
        variant="subtle" if again else "default",
        color="gray",
        **store_button(ARTIFACT, kind=kind, step=step),
        **attributes(aria_label=f"{'Make anew' if again else 'Prepare'} {what} for download"),
    )


def _delete(artifact: ArtifactInfo, what: str) -> dmc.ActionIcon:
    return dmc.ActionIcon(
        icon("cross", 14),
        variant="subtle",
        color="gray",
        size="sm",
        **store_button(ARTIFACT, delete=artifact.id),
        **attributes(aria_label=f"Take the download of {what} away; the run keeps it"),
    )


def _progress(artifact: ArtifactInfo, what: str) -> html.Div:
    total = artifact.num_bytes
    share = 100 * artifact.received_bytes / total if total else 0
    text = (
        f"{formatting.size(artifact.received_bytes)} of {formatting.size(total)}"
        if total
        else (artifact.reason or "waits")
    )
    return html.Div(
        [
            dmc.Progress(
                value=share or 100,
                animated=not share,
                striped=not share,
                size="sm",
                **attributes(aria_label=f"Preparing {what}"),
            ),
            html.Span(text, className="artifact-text"),
        ],
        className="artifact-progress",
    )


def _snippet(newest_checkpoint: CheckpointInfo, newest: Mapping[tuple[str, int | None], ArtifactInfo]) -> html.Div:
    """How to load it, with the names of the newest checkpoint's download."""
    artifact = newest.get(("checkpoint", newest_checkpoint.step))
    name = artifact.file_name.removesuffix(".zip") if artifact is not None else "FOLDER"
    code = (
        "from transformers import AutoModelForCausalLM, AutoTokenizer\n\n"
        f'model = AutoModelForCausalLM.from_pretrained("{name}")  # the unpacked folder\n'
        f'tokenizer = AutoTokenizer.from_pretrained("{name}")\n'
    )
    return html.Div(
        [
            html.Div(
                [
                    html.Span("Load it", className="artifact-name"),
                    dmc.CopyButton(
                        value=code, children="Copy", copiedChildren="Copied", size="compact-xs", variant="default"
                    ),
                ],
                className="artifact-snippet-head",
            ),
            html.Pre(code, className="artifact-snippet"),
        ]
    )


# ---------------------------------------------------------------- what reacts


def register(app: Dash, api: Api) -> None:
    """Asking, following and taking away."""
    board = (
        Output("artifacts-board", "children", allow_duplicate=True),
        Output("artifacts-refresh", "disabled", allow_duplicate=True),
        Output("notifications", "sendNotifications", allow_duplicate=True),
    )

    @app.callback(
        *board,
        Input("artifacts-refresh", "n_intervals"),
        Input(store_id(ARTIFACT), "data"),
        State("run-id", "data"),
        prevent_initial_call=True,
    )
    async def change(_: int | None, press: Mapping[str, Any] | None, run_id: str) -> Any:
        if not any(each["value"] for each in ctx.triggered):
            return no_update, no_update, no_update
        client, told = api.client(), no_update
        try:
            if press and store_id(ARTIFACT) in ctx.triggered_prop_ids.values():
                told = await _carry_out(client, run_id, press)
            content, is_open = await _board(client, run_id)
        except (ApiError, httpx.TransportError) as error:
            # A passing trouble must not wipe what is shown.
            return no_update, no_update, toast(error_text(error), title="Not done")
        return content, not is_open, told


async def _carry_out(client: AsyncClient, run_id: str, press: Mapping[str, Any]) -> Any:
    if "delete" in press:
        await client.delete_artifact(run_id, press["delete"])
        return toast("The run keeps what it was made of.", title="Download taken away", colour="green")
    await client.request_artifact(run_id, ArtifactCreate(kind=press["kind"], step=press["step"]))
    return no_update
