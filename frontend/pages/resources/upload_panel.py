"""The panel that takes a file: where to drop it, what was found in it, and the name that it gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.api.uploads import CatalogueEntry, UploadInfo, UploadPage
from bapo.figures import formatting
from bapo.own_data.report import OPTIONAL, REQUIRED, ColumnMapping, DataReport, DataTask, Remark
from frontend.components.card import section_title
from frontend.components.choices import choices, project_select, select
from frontend.components.controls import icon_button, small_button
from frontend.components.dialogs import drawer
from frontend.components.elements import attributes
from frontend.components.icon import icon
from frontend.components.markup import Markup
from frontend.components.table import cell, row, table, table_card
from frontend.components.text import moment

HIDDEN: Mapping[str, str] = {"display": "none"}
SHOWN: Mapping[str, str] = {}
TASKS: Mapping[DataTask, str] = {"file": "Question and answer", "countdown": "Countdown"}
LABELS = {
    "prompt": "Prompt",
    "answer": "Answer",
    "solution": "Worked solution",
    "images": "Images",
    "data_source": "Data source",
    "nums": "Numbers",
    "target": "Target",
}
HINTS = {
    "prompt": "What is asked",
    "answer": "What the verifier compares with",
    "solution": "If it has one: a warm start learns from it",
    "images": "If it has some",
    "data_source": "If it has one: metrics are filed under it",
    "nums": "List of whole numbers",
    "target": "What they must reach",
}
MOST_HOSTS = 4
"""That are named."""
VERIFIERS = ("math", "exact", "countdown")
_COLOURS = {"problem": "red", "warning": "yellow", "note": "gray"}
_STATES = {
    "receiving": "received in part",
    "fetching": "being fetched",
    "checking": "being checked",
    "checked": "waits for its name",
}


def upload_drawer(page: UploadPage, projects: Sequence[str]) -> dmc.Drawer:
    """Return the panel, closed."""
    return drawer(
        "upload",
        dmc.Stack(
            [
                html.Div(
                    [
                        project_select("upload-project", projects, description="Whose runs may use it", mb="sm"),
                        _drop_zone(page.max_bytes),
                        *([_address(page.fetch_hosts)] if page.fetch_hosts else []),
                        *([_catalogue(page.catalogue)] if page.catalogue else []),
                    ],
                    id="upload-start",
                ),
                html.Div(id="upload-problem", className="upload-problem", hidden=True, **attributes(role="alert")),
                html.Div(id="upload-progress", className="upload-progress", hidden=True),
                html.Div(id="upload-found"),
                _form(),
            ],
            gap="sm",
        ),
        title="Upload data or a model",
        size="xl",
        className="upload-drawer",
    )


def _drop_zone(max_bytes: int) -> html.Div:
    hint = f"JSONL, CSV or Parquet with problems, or a model's folder as .zip; up to {formatting.size(max_bytes)}"
    what = "A problem has a prompt and an answer. Every row is checked, and you see the result before it is registered."
    file = ["input", {"type": "file", "id": "upload-file", "accept": ".jsonl,.csv,.parquet,.zip"}, []]
    words = [
        ["span", {"className": "upload-call"}, ["Drop a file here, or choose one"]],
        ["span", {"className": "queue-detail"}, [hint]],
        ["span", {"className": "queue-detail"}, [what]],
    ]
    label = ["label", {"className": "upload-drop", "id": "upload-drop", "htmlFor": "upload-file"}, [file, *words]]
    return html.Div(Markup([label], []))


def _address(hosts: Sequence[str]) -> html.Div:
    """Return the field for what the server fetches."""
    named = [host for host in hosts if host != "*"]
    where = "any public host" if "*" in hosts else ", ".join(named[:MOST_HOSTS]) + (" …" if named[MOST_HOSTS:] else "")
    return html.Div(
        [
            dmc.TextInput(
                id="upload-url",
                label="Or fetch it from a URL",
                description=f"From {where}; of the hub as hf://OWNER/MODEL or hf://datasets/OWNER/NAME",
                placeholder="https://…",
            ),
            dmc.Button("Fetch", id="upload-fetch", variant="default"),
        ],
        className="upload-address",
    )


def _catalogue(models: Sequence[CatalogueEntry]) -> html.Div:
    """Return the models that the server fetches by their names."""
    rows = [
        row(
            html.Div([html.Div(each.title), html.Div(each.about, className="queue-detail")]),
            html.Div(
                [
                    f"{formatting.count(each.num_parameters)} parameters, {each.context_tokens:,} tokens of context",
                    html.Div(f"Licence {each.licence}", className="queue-detail"),
                ]
            ),
            small_button(
                f"Fetch {formatting.size(each.num_bytes)}",
                {"type": "catalogue-fetch", "id": each.name},
                **attributes(aria_label=f"Fetch {each.title}"),
            ),
        )
        for each in models
    ]
    return html.Div(
        [section_title("Or take a model from the catalogue"), table(("Model", "", ""), rows, "", spacing=4)]
    )


def _form() -> html.Div:
    return html.Div(
        dmc.Stack(
            [
                section_title("Register it"),
                dmc.TextInput(
                    id="upload-name",
                    label="Name",
                    description="Letters, digits, dots, hyphens and underscores; configs refer to it as @name. Other "
                    "content under a name that you have used is its next version.",
                    withAsterisk=True,
                ),
                dmc.TextInput(
                    id="upload-licence",
                    label="Licence",
                    description="Of the data or the model, such as MIT or CC BY 4.0; noted with the version",
                ),
                dmc.Textarea(id="upload-description", label="Description", autosize=True, minRows=1, maxRows=6),
                dmc.Checkbox(id="upload-accept", label="I have read the warnings above", checked=False),
                html.Div(id="upload-refusal"),
                dmc.Group([dmc.Button("Register", id="upload-submit")], justify="flex-end"),
            ],
            gap="sm",
        ),
        id="upload-form",
        style=HIDDEN,
    )


# ---------------------------------------------------------------- what was found


def arriving(upload: UploadInfo) -> html.Div:
    """Return the panel's content while the server fetches the file, or reads it."""
    if upload.state == "fetching":
        total = f" of {formatting.size(upload.num_bytes)}" if upload.num_bytes > upload.next_offset else ""
        text = f"{upload.file_name}: {formatting.size(upload.next_offset)}{total} fetched…"
    else:
        checked = "The model" if upload.kind == "model" else "Every row"
        text = f"{upload.file_name} has arrived ({formatting.size(upload.num_bytes)}). {checked} is being checked…"
    return html.Div(
        [dmc.Loader(size="sm"), html.Span(text, className="wrap-anywhere")],
        className="upload-checking",
        **attributes(role="status"),
    )


def found(upload: UploadInfo, verifiers: Sequence[str]) -> list[Any]:
    """Return what the check found, the most severe first; `verifiers`: registered ones, as `@name`."""
    if upload.kind == "model":
        return [_alert("green", "The model can be registered", _model_facts(upload.details))]
    assert upload.mapping is not None, "a checked data set has columns"
    assert upload.preview is not None, "and rows"
    return [
        *_verdict(upload),
        section_title("Columns"),
        _columns(upload.mapping, upload.preview.choices, verifiers),
        *([] if upload.report is None else _details(upload.report)),
        section_title(f"First {len(upload.preview.rows)} rows of {upload.file_name}"),
        table(
            upload.preview.columns,
            [
                row(*(html.Code(_text(value), className="resource-value") for value in each))
                for each in upload.preview.rows
            ],
            "",
            spacing=4,
        ),
    ]


def _model_facts(details: Mapping[str, object]) -> str:
    parameters = details.get("num_parameters")
    counted = f", {formatting.count(parameters)} parameters" if isinstance(parameters, int) else ""
    num_bytes = details.get("num_bytes")
    held = formatting.size(num_bytes) if isinstance(num_bytes, int) else ""
    plain = "" if details.get("has_chat_template") else " It has no chat template: prompts are passed on as plain text."
    return f"{details.get('model_type', 'unknown')}{counted}, {held}; weights as safetensors.{plain}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _alert(colour: str, title: str, text: Any) -> dmc.Alert:
    return dmc.Alert(text, title=title, color=colour, variant="light")


def _verdict(upload: UploadInfo) -> list[Any]:
    report = upload.report
    if upload.problem is not None:
        return [_alert("red", "This file is not taken", upload.problem)]
    if report is None:
        assert upload.mapping is not None, "a checked data set has columns"
        missing = " and the ".join(LABELS[name].lower() for name in upload.mapping.missing)
        return [_alert("yellow", "Which column is what?", f"No column is known to hold the {missing}: choose below.")]
    kept = f"{report.num_kept:,} of {report.num_rows:,} rows"
    if report.is_refused:
        return [_alert("red", "This file cannot be registered yet", _remarks(report.remarks))]
    if report.warnings:
        return [_alert("yellow", f"{kept} can be registered: read this first", _remarks(report.remarks))]
    return [_alert("green", f"{kept} can be registered", _remarks(report.remarks))]


def _remarks(remarks: Sequence[Remark]) -> html.Ul:
    items = [html.Li(each.text, className=f"upload-remark {each.severity}") for each in remarks]
    return html.Ul(items, className="upload-remarks")


def _columns(mapping: ColumnMapping, columns: Sequence[str], verifiers: Sequence[str]) -> html.Div:
    fields = [
        dmc.Select(
            id={"type": "upload-column", "field": field},
            label=LABELS[field],
            description=HINTS[field],
            data=list(columns),
            value=mapping.columns.get(field),
            clearable=True,
            withAsterisk=field in REQUIRED[mapping.task],
            placeholder="none",
        )
        for field in (*REQUIRED[mapping.task], *OPTIONAL[mapping.task])
    ]
    verifier = dmc.Autocomplete(
        id={"type": "upload-column", "field": "verifier"},
        label="Verifier",
        description="What judges the responses",
        data=[*VERIFIERS, *verifiers],
        value=mapping.verifier,
    )
    task = select(
        {"type": "upload-column", "field": "task"},
        "Kind of problems",
        mapping.task,
        choices(TASKS.items()),
        description="As in task.type",
    )
    again = dmc.Button("Check again", id={"type": "upload-check", "id": "again"}, variant="light", size="compact-sm")
    return html.Div([html.Div([task, *fields, verifier], className="upload-columns"), again])


def _details(report: DataReport) -> list[Any]:
    """Return the rows that remarks are about."""
    made: list[Any] = []
    if report.bad_rows:
        rows = [row(cell(f"{each.row:,}", "number"), each.reason) for each in report.bad_rows]
        made.append(_folded(f"Rows that cannot be used ({report.num_bad:,})", ("Row", "Why"), rows))
    for title, number, repeated in (
        ("Rows that repeat a prompt", report.num_repeated, report.repeated),
        ("Rows that pose nearly the same problem", report.num_near, report.near),
    ):
        if repeated:
            rows = [
                row(cell(f"{each.row:,}", "number"), cell(f"{each.earlier:,}", "number"), each.text)
                for each in repeated
            ]
            made.append(_folded(f"{title} ({number:,})", ("Row", "As row", "Prompt"), rows))
    if report.overlaps:
        rows = [
            row(
                each.name,
                "test set" if each.is_test_set else "data set",
                cell(f"{each.num_problems:,}", "number"),
                ", ".join(f"{number:,}" for number in each.rows[:10]),
            )
            for each in report.overlaps
        ]
        made.append(_folded("Problems that other sets have", ("Set", "Kind", "Problems", "First rows"), rows))
    if report.trial.examples:
        rows = [row(cell(f"{each.row:,}", "number"), each.reason) for each in report.trial.examples]
        made.append(_folded(f"Verifier {report.trial.verifier} on samples", ("Row", "What"), rows))
    return [section_title("Rows to look at"), *made] if made else []


def _folded(title: str, head: Sequence[str], rows: Sequence[Any]) -> html.Details:
    return html.Details([html.Summary(title), table(head, rows, "", spacing=4)], className="upload-rows")


# ---------------------------------------------------------------- uploads that wait


def waiting(page: UploadPage) -> list[Any]:
    """Return the caller's uploads that are not registered yet."""
    if not page.items:
        return []
    now = datetime.now(UTC)
    rows = [
        row(
            html.Div(each.file_name, className="upload-name"),
            html.Div(_state(each), className="wrap-anywhere"),
            html.Div(["will be deleted ", moment(each.expires_at, now=now)], className="queue-detail nowrap"),
            small_button(
                "Choose it again" if each.state == "receiving" else "Open",
                {"type": "upload-open", "id": each.id},
            ),
            icon_button("trash", f"Delete {each.file_name}", id={"type": "upload-delete", "id": each.id}),
        )
        for each in page.items
    ]
    return [
        section_title("Uploads that wait"),
        table_card(("File", "State", "Unless you go on", "", ""), rows, "queue-table"),
    ]


def _state(upload: UploadInfo) -> str:
    if upload.state == "failed":
        return upload.problem or "failed"
    words = _STATES[upload.state]
    if upload.state == "receiving" or (upload.state == "fetching" and upload.num_bytes):
        return f"{words}: {formatting.size(upload.next_offset)} of {formatting.size(upload.num_bytes)}"
    return words


def go_on(upload: UploadInfo) -> dmc.Alert:
    """Return what to do with an upload that was cut."""
    received = f"{formatting.size(upload.next_offset)} of {formatting.size(upload.num_bytes)}"
    text = f"{received} of {upload.file_name} have arrived. Choose the same file above, and the rest is sent."
    return dmc.Alert([icon("info", 16), " ", text], color="blue", variant="light")
