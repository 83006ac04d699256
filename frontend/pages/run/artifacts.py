"""The tab Artifacts: downloads of the checkpoints as Hugging Face folders, of journal, report and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import Dash, Input, Output, State, html

from bapo.api.artifacts import ArtifactCreate, ArtifactInfo, CheckpointInfo, CheckpointPage
from bapo.api.runs import RunDetail
from bapo.client import AsyncClient
from bapo.figures import formatting
from frontend.components.actions import in_toast, tell, when_pressed
from frontend.components.card import card
from frontend.components.controls import icon_button
from frontend.components.elements import Interval, Link, attributes, button_store, pressed_in, store_button
from frontend.components.icon import icon
from frontend.components.table import cell, row, table
from frontend.components.text import moment
from frontend.request.prefix import served
from frontend.request.session import Api

ARTIFACT = "artifact"
"""Names the buttons that prepare a download, or remove it."""
REFRESH_MILLISECONDS = 1500
OTHERS: tuple[tuple[str, str, str], ...] = (
    ("journal", "Journal", "The records of all attempts; bapo import shows them on another server."),
    ("report", "Report", "The paper's figures and tables in one HTML file that needs no server and no network."),
    ("config", "Config", "TOML, for bapo train."),
    ("log", "Log", "Output of the trainer, one attempt after the other."),
    ("samples", "Samples", "Prompts with their responses, one JSON line per group."),
)
OPEN = ("requested", "preparing")


async def artifacts_panel(client: AsyncClient, run: RunDetail, _: Mapping[str, str]) -> html.Div:
    """Return the tab; it follows the server while a download is being prepared."""
    board, is_open = await _board(client, run.id)
    return html.Div(
        [
            html.Div(board, id="artifacts-board", className="panel-stack"),
            button_store(ARTIFACT),
            Interval(id="artifacts-refresh", interval=REFRESH_MILLISECONDS, disabled=not is_open),
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


def _checkpoints(run_id: str, page: CheckpointPage, newest: Mapping[tuple[str, int | None], ArtifactInfo]) -> Any:
    if page.items:
        names = sorted({name for each in page.items for name in each.evaluations})
        head = ("Step", "Written", "On disk", *names, "Model", "")
        rows = [_checkpoint(run_id, each, names, newest.get(("checkpoint", each.step))) for each in page.items]
        content: list[Any] = [table(head, rows, "artifact-table"), _snippet(page.items[0], newest)]
    else:
        content = [dmc.Text(_why_none(page), size="sm", c="dimmed")]
    text = (
        "A download holds the model alone, as a Hugging Face folder: weights in safetensors format, config and "
        "tokenizer."
    )
    return card(dmc.Text(text, size="sm", c="dimmed"), *content, title="Checkpoints")


def _why_none(page: CheckpointPage) -> str:
    if page.host is None:
        return "None that this server can reach: none of its workers has trained this run."
    return "None is kept: they have been deleted, or the first one has not been written yet."


def _checkpoint(run_id: str, each: CheckpointInfo, names: Sequence[str], artifact: ArtifactInfo | None) -> html.Tr:
    return row(
        cell(f"{each.step:,}", "number"),
        cell(moment(each.written_at), "nowrap"),
        cell(formatting.size(each.num_bytes), "number nowrap"),
        *(cell(formatting.percent(each.evaluations.get(name)), "number nowrap") for name in names),
        _action("checkpoint", each.step, artifact, f"the checkpoint of step {each.step:,}"),
        Link(f"Fork from step {each.step:,}", href=f"/new?fork={run_id}&step={each.step}", className="nowrap"),
        attributes=attributes(data_step=str(each.step)),
    )


def _others(newest: Mapping[tuple[str, int | None], ArtifactInfo]) -> Any:
    rows = [
        row(
            [html.Div(label, className="artifact-name"), html.Div(text, className="artifact-text")],
            _action(kind, None, newest.get((kind, None)), f"the {label.lower()}"),
            attributes=attributes(data_kind=kind),
        )
        for kind, label, text in OTHERS
    ]
    return card(table(("File", "Download"), rows, "artifact-table"), title="Records and reports")


# ---------------------------------------------------------------- one cell


def _action(kind: str, step: int | None, artifact: ArtifactInfo | None, what: str) -> html.Div:
    """Return a button that requests it, its progress, or a link to the file."""
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
        href=served(f"/api/v1/runs/{artifact.run_id}/artifacts/{artifact.id}/content"),
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
        "Prepare again" if again else "Prepare",
        size="compact-xs",
        variant="subtle" if again else "default",
        color="gray",
        className="for-members",
        **store_button(ARTIFACT, kind=kind, step=step),
        **attributes(aria_label=f"{'Prepare again:' if again else 'Prepare'} {what} for download"),
    )


def _delete(artifact: ArtifactInfo, what: str) -> dmc.ActionIcon:
    label = f"Remove the download of {what}; the run keeps it"
    return icon_button(
        "cross", label, size=14, colour="gray", className="for-members", **store_button(ARTIFACT, delete=artifact.id)
    )


def _progress(artifact: ArtifactInfo, what: str) -> html.Div:
    total = artifact.num_bytes
    share = 100 * artifact.received_bytes / total if total else 0
    text = (
        f"{formatting.size(artifact.received_bytes)} of {formatting.size(total)}"
        if total
        else (artifact.reason or "waiting")
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
    """Return how to load the newest checkpoint, with the name of its download."""
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
    """Register the callbacks: requesting, following and removing."""

    @when_pressed(
        app,
        Input("artifacts-refresh", "n_intervals"),
        pressed_in(ARTIFACT),
        outputs=[Output("artifacts-board", "children"), Output("artifacts-refresh", "disabled")],
        states=[State("run-id", "data")],
        on_error=in_toast("Not done"),
    )
    async def change(pressed: Any, run_id: str) -> Any:
        client = api.client()
        if pressed != "artifacts-refresh":
            await _carry_out(client, run_id, pressed)
        content, is_open = await _board(client, run_id)
        return content, not is_open


async def _carry_out(client: AsyncClient, run_id: str, press: Mapping[str, Any]) -> None:
    if "delete" in press:
        await client.delete_artifact(run_id, press["delete"])
        tell("The run itself keeps everything.", "Download removed")
    else:
        await client.request_artifact(run_id, ArtifactCreate(kind=press["kind"], step=press["step"]))
