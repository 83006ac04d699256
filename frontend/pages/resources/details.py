"""The contents of a resource, and the runs that use it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import dash_mantine_components as dmc
from dash import html

from bapo.analysis.findings.finding import Evidence
from bapo.analysis.number_format import bounds_text
from bapo.api.resources import DataProbe, ResourceInfo, ResourceKind, ResourcePreview, ResourceRun, ResourceVersion
from bapo.api.runs import RunStatus
from bapo.figures import formatting
from bapo.figures.formatting import MISSING
from frontend.components.card import section_title
from frontend.components.changes_query import changes_text
from frontend.components.elements import Link
from frontend.components.notices import link_button
from frontend.components.runs import status_badge
from frontend.components.table import row, table
from frontend.components.text import moment

INSTRUCTION = "Put the final answer within \\boxed{}."
"""Instruction that puts the answer where verifiers of texts look for it."""
TEMPLATE_TOKENS = 64
"""Maximum number of tokens that a chat template adds to a prompt."""
MOST_PROMPT_TOKENS = 8_192
LEADS: Mapping[ResourceKind, str] = {
    "dataset": "Train on this",
    "model": "Train this",
    "verifier": "Train with this",
}
"""Labels of the links to the form of a new run."""


def contents_panel(info: ResourceInfo, preview: ResourcePreview, probes: Sequence[DataProbe]) -> html.Div:
    """Return the versions, what probes say, and the first rows, the config's fields, or the source; always as text."""
    if preview.text is not None:
        content: Any = html.Pre(preview.text, className="resource-source", tabIndex=0)
        title = "Source"
    else:
        rows = [row(*(html.Code(_text(value), className="resource-value") for value in each)) for each in preview.rows]
        content = table(preview.columns, rows, "striped", spacing=4)
        total = f"{preview.num_rows:,}" if preview.num_rows is not None else "all"
        title = "Config" if info.kind == "model" else f"First {len(preview.rows):,} of {total} rows"
    return html.Div(
        [
            html.Code(info.path, className="resource-path"),
            html.Div(info.description, className="resource-description") if info.description else None,
            _use_it(info),
            *_versions(info),
            probes_panel(info, probes),
            section_title(title),
            content,
        ]
    )


def _versions(info: ResourceInfo) -> list[Any]:
    """Return what was uploaded under the name, the newest first."""
    if not info.versions:
        return []
    now = datetime.now(UTC)
    rows = [
        row(
            html.Code(f"@{info.name}:{version.number}"),
            html.Div(
                [
                    version.file_name,
                    *[html.Div(f"from {each}", className="queue-detail wrap-anywhere") for each in _source_of(version)],
                    html.Div(f"SHA-256 {version.sha256[:16]}…", className="queue-detail"),
                ]
            ),
            _rows_of(version),
            version.licence or "not noted",
            html.Div([version.author, html.Div(moment(version.created_at, now=now), className="queue-detail nowrap")]),
        )
        for version in info.versions
    ]
    head = ("Version", "Uploaded file", "Contents", "Licence", "By")
    return [section_title("Versions"), table(head, rows, "", spacing=4), *_remarks_of(info.versions[0])]


def _source_of(version: ResourceVersion) -> list[str]:
    return [str(version.details["source"])] if "source" in version.details else []


def _rows_of(version: ResourceVersion) -> str:
    num_rows = version.details.get("num_rows")
    size = formatting.size(version.num_bytes)
    return size if num_rows is None else f"{num_rows:,} rows · {size}"


def _remarks_of(version: ResourceVersion) -> list[Any]:
    if version.report is None:
        return []
    items = [html.Li(each.text, className=f"upload-remark {each.severity}") for each in version.report.remarks]
    return [
        section_title(f"What the check of version {version.number} found"),
        html.Ul(items, className="upload-remarks"),
    ]


def _use_it(info: ResourceInfo) -> html.Div:
    examples = ", ".join(f"{field} = @{info.name}" for field in info.fields)
    train = link_button(LEADS[info.kind], new_run_with(info), size="compact-sm")
    return html.Div(
        [train, html.Div(["In a config: ", html.Code(examples)], className="queue-detail")], className="use-it"
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def new_run_with(info: ResourceInfo) -> str:
    """Return the address of the form of a new run that uses the resource."""
    fields = {"model": "model.path", "dataset": "task.train_file", "verifier": "task.verifier"}
    is_countdown = {"nums", "target"} <= set(info.details.get("columns", ()))
    task = {} if info.kind == "model" else {"task.type": "countdown" if is_countdown else "file"}
    if info.versions and info.kind == "dataset":
        task |= _as_checked(info.details)
    query = {"set": changes_text({**task, fields[info.kind]: f"@{info.name}"}), "project": info.project}
    return "/new?" + urlencode({name: text for name, text in query.items() if text}, safe="@:;/")


def _as_checked(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the check of uploaded data knows: its verifier, and how long prompts are at most."""
    changes: dict[str, Any] = {"task.verifier": details["verifier"]}
    if details["task"] == "file":
        changes["task.instruction"] = INSTRUCTION
        # A token has a character at least.
        longest = details["longest_prompt"] + len(INSTRUCTION) + TEMPLATE_TOKENS
        changes["rollout.max_prompt_tokens"] = min(max(64, 1 << (longest - 1).bit_length()), MOST_PROMPT_TOKENS)
    return changes


def probes_panel(info: ResourceInfo, probes: Sequence[DataProbe]) -> html.Div | None:
    """Return what probes on a data set say, the newest first; nothing for what is no data set."""
    if info.kind != "dataset":
        return None
    if not probes:
        hint = "None yet: “Probe first”, in the form of a new run, lets the base model answer some of its problems."
        return html.Div([section_title("Probes"), dmc.Text(hint, size="sm", c="dimmed")])
    now = datetime.now(UTC)
    rows = [
        row(
            html.Div(
                [
                    Link(probe.model, href=f"/runs/{probe.run_id}?tab=findings", title=probe.name),
                    html.Div(_made(probe, now), className="queue-detail"),
                ]
            ),
            *([_share(probe.figures.dead), _share(probe.figures.accuracy)] if probe.figures else [MISSING, MISSING]),
            html.Div([formatting.duration(probe.figures.seconds if probe.figures else None), *_cost_of(probe)]),
        )
        for probe in probes
    ]
    head = ("Model", "No gradient", "Right", "Planned run")
    return html.Div([section_title("Probes"), table(head, rows, "", spacing=4)])


def _made(probe: DataProbe, now: datetime) -> list[Any]:
    version = [f"version {probe.version} · "] if probe.version else []
    return [*version, f"{probe.author}, ", html.Span(moment(probe.created_at, now=now), className="nowrap")]


def _share(figure: Evidence) -> html.Div:
    interval = bounds_text(figure.low, figure.high, formatting.percent)
    return html.Div(
        [formatting.percent(figure.value), html.Div(interval, className="queue-detail")],
        title=f"{figure.label}, with the 95 % interval over prompts",
    )


def _cost_of(probe: DataProbe) -> list[Any]:
    if probe.figures is None:
        return [html.Div("too few answers yet", className="queue-detail")]
    text = formatting.money(probe.cost, probe.currency) if probe.unpriced is None else probe.unpriced
    return [html.Div(text, className="queue-detail")]


def runs_panel(info: ResourceInfo, uses: Sequence[ResourceRun]) -> html.Div:
    """Return the runs with the field that names the resource, the newest first."""
    if not uses:
        content: Any = dmc.Text("No run uses it yet.", size="sm", c="dimmed")
    else:
        content = html.Div(
            [
                html.Div(
                    [
                        Link(use.name, href=f"/runs/{use.id}", className="queue-name", title=use.name),
                        status_badge(RunStatus(use.status), size="sm"),
                        html.Code(use.field, className="queue-detail"),
                        html.Span(f"version {use.version}", className="queue-detail") if use.version else None,
                    ],
                    className="slot-head",
                )
                for use in uses
            ],
            className="slots",
        )
    return html.Div([section_title("Runs that use it"), content])
