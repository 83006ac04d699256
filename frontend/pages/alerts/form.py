"""The form of an alert rule: its fields by kind, what was typed as a rule, and the preview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import dash_mantine_components as dmc
from dash import html
from pydantic import ValidationError

from bapo.analysis.findings.finding import LABELS
from bapo.analysis.number_format import counted
from bapo.api.alerts import RulePreview, RuleWrite
from bapo.config.error_messages import said
from frontend.components.alert_cards import KINDS
from frontend.components.card import section_title
from frontend.components.choices import choices, project_select, select
from frontend.components.dialogs import form_drawer
from frontend.components.elements import Link, Store

MOST_RUNS = 6
"""Runs that the preview names."""


class FieldText(NamedTuple):
    """The words of a number that a condition takes."""

    name: str
    label: str
    description: str
    value: float | None
    step: float = 1


FIELDS: Mapping[str, Sequence[FieldText]] = {
    "stalled": (FieldText("minutes", "Minutes", "Without a record while a worker holds the run", 30, 5),),
    "entropy_collapse": (
        FieldText("below", "Below", "Nats per token; empty: any level", 0.05, 0.01),
        FieldText("fall_percent", "Fall in %", "Of the level; empty: any fall", 50, 5),
        FieldText("within_steps", "Within steps", "How far apart the two levels are", 20, 5),
    ),
    "empty_batches": (FieldText("steps", "Steps in a row", "With an empty training batch", 3),),
    "fill_rate": (
        FieldText("below", "Below", "Share of the batch size B, 0 to 1", 0.5, 0.05),
        FieldText("steps", "Steps in a row", "Below that share", 10),
    ),
    "ratio": (
        FieldText("low", "Lowest", "Mean importance ratio, 0 to 1", 0.5, 0.1),
        FieldText("high", "Highest", "1 or more", 2, 0.5),
        FieldText("steps", "Steps in a row", "Outside this range", 3),
    ),
    "metric": (
        FieldText("threshold", "Threshold", "Compared with the metric", 0, 0.1),
        FieldText("steps", "Values in a row", "For which it holds", 3),
    ),
}
WITH_FIELDS = frozenset({*FIELDS, "finding"})
"""Kinds that need more than their name."""
SCOPE = (
    ("tag", "Tag", "Runs with this tag"),
    ("method", "Method", "Such as bapo or grpo"),
    ("run_id", "Run", "Identifier of a run"),
)
COMPARISONS = ((">", "above"), (">=", "at or above"), ("<", "below"), ("<=", "at or below"))
CHOSEN = ("key", "comparison", "smoothing", "severity", "findings")
"""Fields that are no numbers."""
LEAST = (("note", "a note"), ("warning", "a warning"), ("problem", "a problem"))
SMOOTHINGS = (("", "each value"), ("mean:5", "mean of 5"), ("mean:10", "mean of 10"), ("mean:25", "mean of 25"))


def field_id(kind: str, name: str) -> dict[str, str]:
    """Return the identifier of an input."""
    return {"type": "rule-field", "kind": kind, "name": name}


def editor(projects: Sequence[str], keys: Sequence[str]) -> dmc.Drawer:
    """Return the drawer, which is closed until a rule is created or edited."""
    groups = [
        html.Div(
            [*_own(kind, keys), *(_number(kind, field) for field in FIELDS.get(kind, ()))],
            id={"type": "rule-group", "kind": kind},
            className="rule-fields hidden",
        )
        for kind in KINDS
    ]
    scope = [
        dmc.TextInput(id=field_id("scope", name), label=label, description=text, placeholder="any")
        for name, label, text in SCOPE
    ]
    fields = [
        Store(id="rule-editing"),
        Store(id="rule-typed"),
        Store(id="rule-previewing", data=False),
        dmc.TextInput(id=field_id("rule", "name"), label="Name", withAsterisk=True),
        select("rule-kind", "What to watch", "failed", choices(KINDS.items())),
        *groups,
        section_title("Which runs"),
        html.Div(scope, className="rule-fields"),
        project_select("rule-project", projects, next(iter(projects), None)),
        html.Div(id="rule-preview", className="rule-preview", role="status"),
    ]
    return form_drawer("rule", "Rule", fields)


def _number(kind: str, field: FieldText) -> dmc.NumberInput:
    return dmc.NumberInput(
        id=field_id(kind, field.name),
        label=field.label,
        description=field.description,
        value=field.value,
        step=field.step,
    )


def _own(kind: str, keys: Sequence[str]) -> list[Any]:
    if kind == "finding":
        return [
            _choice(kind, "severity", "At least", LEAST, "warning"),
            dmc.MultiSelect(
                id=field_id(kind, "findings"),
                label="Kinds",
                description="Empty: every kind",
                value=[],
                data=choices(LABELS.items()),
                searchable=True,
            ),
        ]
    if kind != "metric":
        return []
    return [
        dmc.Autocomplete(
            id=field_id(kind, "key"),
            label="Metric",
            description="As the charts name it",
            value="actor/grad_norm",
            data=sorted(keys),
            limit=100,
        ),
        _choice(kind, "comparison", "Is", COMPARISONS, ">"),
        _choice(kind, "smoothing", "Compare", SMOOTHINGS, ""),
    ]


def _choice(kind: str, name: str, label: str, options: Sequence[tuple[str, str]], value: str) -> dmc.Select:
    return select(field_id(kind, name), label, value, choices(options), description="\u00a0")


class Written(NamedTuple):
    """The form read as a rule, or the problems with it."""

    rule: RuleWrite | None
    problems: dict[tuple[str, str], str]
    """By kind and name of the field."""


def written(kind: str, values: Mapping[tuple[str, str], Any], project: str | None, *, enabled: bool = True) -> Written:
    """Read the form; the checks and their words are the server's."""
    condition: dict[str, Any] = {"kind": kind}
    for (group, name), value in values.items():
        if group == kind and (value not in ("", None) or (kind, name) in _OPTIONAL):
            condition[name] = None if value in ("", None) else value
    scope = {name: (values.get(("scope", name)) or "").strip() or None for name, *_ in SCOPE}
    content = {
        "name": (values.get(("rule", "name")) or "").strip(),
        "condition": condition,
        "scope": scope,
        "project": project,
        "enabled": enabled,
    }
    try:
        return Written(RuleWrite.model_validate(content), {})
    except ValidationError as error:
        return Written(None, {_place(kind, finding["loc"]): said(finding) for finding in error.errors()})


_OPTIONAL = {("entropy_collapse", "below"), ("entropy_collapse", "fall_percent")}


def _place(kind: str, location: Sequence[int | str]) -> tuple[str, str]:
    if location[0] == "condition":
        # After the kind; a problem of several fields is shown at the first of them.
        name = str(location[-1])
        fields = [field.name for field in FIELDS.get(kind, ())]
        return kind, name if name in (*fields, *CHOSEN) else fields[0] if fields else "severity"
    if location[0] == "scope":
        return "scope", str(location[-1])
    return "rule", str(location[0])


def preview_panel(preview: RulePreview) -> list[Any]:
    """Return the rule in words, and where it would have fired."""
    fired = [run for run in preview.runs if run.firings]
    silent = sum(run.num_values == 0 for run in preview.runs)
    if not preview.num_runs:
        said = "There is no run yet that this rule would watch."
    elif not preview.num_firings:
        said = f"This rule would not have fired on your last {counted(preview.num_runs, 'run')}."
    else:
        times = "once" if preview.num_firings == 1 else f"{preview.num_firings} times"
        last, those = counted(preview.num_runs, "run"), counted(len(fired), "run")
        said = f"On your last {last} this rule would have fired {times}, in {those}:"
    items = [
        html.Li([Link(run.name, href=f"/runs/{run.run_id}", className="fact-link"), f": {_places(run.firings)}"])
        for run in fired[:MOST_RUNS]
    ]
    more = [html.Li(f"and {counted(len(fired) - MOST_RUNS, 'run')} more")] if len(fired) > MOST_RUNS else []
    unknown = (
        [html.Div(f"{counted(silent, 'run')} did not record what it reads.", className="queue-detail")]
        if silent
        else []
    )
    return [
        html.Div(preview.sentence, className="rule-preview-sentence"),
        html.Div(said),
        html.Ul([*items, *more]) if items else None,
        *unknown,
    ]


def _places(firings: Sequence[Any]) -> str:
    shown = [
        f"step {firing.step:,}"
        + ("" if firing.value is None else f" ({firing.value:.4g})")
        + (f" until {firing.resolved_step:,}" if firing.resolved_step is not None else "")
        for firing in firings[:3]
    ]
    return ", ".join(shown) + (f" and {len(firings) - 3} more" if len(firings) > 3 else "")
