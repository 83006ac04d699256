"""Several settings from one checkpoint: the part of the form of a fork that makes an experiment of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import ALL, Dash, Output, State, html, no_update

from bapo.api.configs import ConfigFieldInfo
from bapo.api.studies import StudyCheckpoint, StudyWrite
from bapo.config import ConfigError, ConfigProblem, parse_assignments
from frontend.components.actions import when_pressed
from frontend.components.choices import choices
from frontend.components.config_form.inputs import Filled
from frontend.components.elements import attributes
from frontend.pages.new_run.fork import Fork
from frontend.request.session import Api

UNCHANGED, NOISE = "unchanged", "noise"
SEED = "training.seed"
LENGTH = ("training.steps", "training.epochs")
USUAL_STEPS = 40
PARTS = {"type": "arms", "part": ALL}
"""Inputs of an experiment, in the order of `_parts`; none in a form that is not of a fork."""
ABOUT = (
    "Each line is an arm: a run from the checkpoint with these changes. All arms get the same fresh prompts and draws, "
    "so that they are compared prompt by prompt. What you change in the form below, but for its steps, holds for all."
)
NOISE_HELP = "The unchanged settings with another seed: how far apart runs come by the chance of their draws alone."


def arms_builder(fork: Fork, infos: Sequence[ConfigFieldInfo]) -> html.Section:
    """Return a switch, and behind it the arms, how long they train, and from which further checkpoints."""
    further = {key: label for key, label in fork.others.items() if key != f"{fork.parent.id}:{fork.step}"}
    return html.Section(
        [
            dmc.Switch(id="new-several", label="Try several settings", checked=False, size="sm"),
            html.Div(
                [
                    dmc.Text(ABOUT, size="sm", c="dimmed", mt="xs", mb="sm"),
                    html.Div(
                        [
                            dmc.Select(
                                id="arms-field",
                                data=[info.path for info in infos if info.path not in LENGTH],
                                placeholder="a field",
                                searchable=True,
                                size="sm",
                                **attributes(aria_label="Field of an arm"),
                            ),
                            dmc.TextInput(
                                id="arms-value",
                                value="",
                                placeholder="its value, such as 1/4",
                                size="sm",
                                **attributes(aria_label="Value of the field"),
                            ),
                            dmc.Button("Add as an arm", id="arms-add", size="sm", variant="default"),
                            dmc.Button("Add to last arm", id="arms-join", size="sm", variant="default"),
                        ],
                        className="arms-row",
                    ),
                    *_parts(fork, further),
                    html.Div(id="grid-preview", role="status"),
                ],
                id="grid-builder",
                style={"display": "none"},
            ),
        ],
        className="panel-card",
    )


def _parts(fork: Fork, further: Mapping[str, str]) -> list[Any]:
    left = fork.parent.num_steps - (fork.step or 0)
    return [
        dmc.Textarea(
            id={"type": "arms", "part": "1 lines"},
            label="Arms",
            description="One per line, such as method.c1=1/4; two changes in a line make one arm of both.",
            value="",
            autosize=True,
            minRows=2,
            maxRows=12,
            size="sm",
            mt="sm",
            spellCheck=False,
        ),
        dmc.CheckboxGroup(
            [
                dmc.Checkbox(label="With the unchanged settings, as the baseline", value=UNCHANGED, size="sm", mt="xs"),
                dmc.Checkbox(label="With an arm of noise", description=NOISE_HELP, value=NOISE, size="sm", mt="xs"),
            ],
            id={"type": "arms", "part": "2 kinds"},
            value=[UNCHANGED],
        ),
        dmc.NumberInput(
            id={"type": "arms", "part": "3 steps"},
            label="Further steps",
            description="Of every arm, after its checkpoint.",
            value=min(USUAL_STEPS, left) if left > 0 else USUAL_STEPS,
            min=1,
            allowDecimal=False,
            size="sm",
            maw=240,
            mt="sm",
        ),
        dmc.MultiSelect(
            id={"type": "arms", "part": "4 checkpoints"},
            label="Repeat from further checkpoints",
            description="One checkpoint gives no interval for the setting. Those of other seeds give the best one.",
            data=choices(further.items()),
            value=[],
            searchable=True,
            placeholder="none" if further else "this run and its group keep no other",
            disabled=not further,
            size="sm",
            mt="sm",
        ),
    ]


def plan_of(parts: Sequence[Any], name: str | None, filled: Filled) -> StudyWrite | None:
    """Return the experiment that the form describes; None without an arm.

    Raises ConfigError for a line that is none, ValueError for a number of steps that is none.
    """
    lines, kinds, steps, others = parts
    points = [_changes_of(line) for line in (lines or "").splitlines() if line.strip()]
    base = filled.start["values"]["shared"]
    if NOISE in (kinds or ()):
        points.append({SEED: int(base[SEED]) + 1})
    if not points:
        return None
    fork = filled.start["fork"]
    places = [(fork["run_id"], fork["step"]), *((run, int(step)) for run, step in (each.split(":") for each in others))]
    return StudyWrite(
        name=((name or "").strip() or "experiment")[:150],
        checkpoints=[StudyCheckpoint(run_id=run_id, step=step) for run_id, step in places],
        further_steps=steps,
        points=points,
        changes={field: value for field, value in filled.changes()[1].items() if field not in LENGTH},
        with_unchanged=UNCHANGED in (kinds or ()),
    )


def _changes_of(line: str) -> dict[str, Any]:
    try:
        return parse_assignments(line.split())
    except ConfigError:
        remedy = "write FIELD=VALUE, such as method.c1=1/4, with spaces between two changes and none within"
        raise ConfigError([ConfigProblem("arms", line, remedy)]) from None


def register(app: Dash, _: Api) -> None:
    """Add a field and its value to the arms."""
    lines = Output({"type": "arms", "part": "1 lines"}, "value")

    @when_pressed(
        app,
        "arms-add",
        "arms-join",
        outputs=[lines, Output("arms-value", "value")],
        states=[
            State("arms-field", "value"),
            State("arms-value", "value"),
            State({"type": "arms", "part": "1 lines"}, "value"),
        ],
    )
    async def add(button: str, field: str | None, value: str | None, text: str | None) -> Any:
        if not field or not (value or "").strip():
            return no_update, no_update
        change = f"{field}={''.join((value or '').split())}"
        glue = " " if button == "arms-join" and (text or "").strip() else "\n"
        return f"{(text or '').rstrip()}{glue}{change}".strip(), ""
