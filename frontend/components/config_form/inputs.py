"""The form's inputs as fields with values, as a draft, and which field a problem belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import dash_mantine_components as dmc
from dash import ALL, State, ctx, html

from bapo.api.base import FieldProblem
from bapo.api.configs import ConfigCheck, ConfigFieldInfo, ConfigReport
from bapo.client import ApiError
from bapo.figures import formatting
from bapo.figures.theme import palette_of, themed
from bapo.figures.threshold_map import starved_intervals, threshold_map_data, threshold_map_figure
from frontend.components.actions import Failure
from frontend.components.config_form.values import FormField, changes, knows, of_types
from frontend.components.notices import error_text
from frontend.request.session import Api

FORM = "new"
METHOD = "method.type"
TASK = "task.type"

Ids = Sequence[Mapping[str, Any]]


class StartValues(NamedTuple):
    """The values that the form starts from."""

    shared: Mapping[str, Any]
    """Fields that every method and type of tasks has, by dotted path."""
    own: Mapping[str, Mapping[str, Mapping[str, Any]]]
    """By chooser, `METHOD` or `TASK`, and choice: the fields of the choice."""

    def base(self, method: str, task: str) -> dict[str, Any]:
        """Return all fields of a method and a type of tasks."""
        return {**self.shared, **self.own[METHOD][method], **self.own[TASK][task]}


async def config_infos(api: Api) -> Sequence[ConfigFieldInfo]:
    """Return all config fields, which are the same for every user.

    A page that held them sent them back with every check; of each check, two callbacks ask at once.
    """
    return (await api.shared.get("config fields", api.client().config_fields)).items


def form_fields(infos: Sequence[ConfigFieldInfo], base: Mapping[str, Any], method: str, task: str) -> list[FormField]:
    """Return each field, as it is in method and task, with its start value: the base's or its default."""
    own = (of_types(info, method, task) for info in infos)
    return [FormField(info, base.get(info.path, info.default)) for info in own]


def hidden_fields(fields: Sequence[FormField], method: str, task: str) -> list[str]:
    """Return the paths of fields of other methods or types of tasks, which are on the form but hidden."""
    return [field.info.path for field in fields if not knows(field.info, method, task)]


def typed_values(ids: Ids, values: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the inputs of each field, in the order of their parts."""
    typed: dict[str, list[Any]] = {}
    for identifier, value in sorted(zip(ids, values, strict=True), key=lambda pair: pair[0]["part"]):
        typed.setdefault(identifier["path"], []).append(value)
    return typed


def by_field(problems: Sequence[FieldProblem], paths: Sequence[str]) -> tuple[dict[str, str], list[FieldProblem]]:
    """Return remedies by the form's fields, and the problems of fields that the form does not have.

    A problem inside a field, such as `method.c2.0`, belongs to the field.
    """
    placed: dict[str, str] = {}
    others = []
    for problem in problems:
        owner = next((path for path in paths if problem.field == path or problem.field.startswith(path + ".")), None)
        if owner is None:
            others.append(problem)
        else:
            placed[owner] = f"{placed[owner]}; {problem.remedy}" if owner in placed else problem.remedy
    return placed, others


def problems_of(error: Failure) -> list[FieldProblem]:
    """Return all problems of a refusal, or that the server does not answer."""
    if not isinstance(error, ApiError):
        return [FieldProblem(field="server", remedy=error_text(error))]
    body = error.body
    if body.problems:
        return list(body.problems)
    return [FieldProblem(field=body.field or "config", value=body.value, remedy=body.remedy)]


FIELDS = {"type": f"{FORM}-field", "path": ALL, "part": ALL}
"""Every input of the form."""
FILLED = (State("new-start", "data"), State(FIELDS, "value"))
"""Last states of a callback, from which it reads a `Filled`."""


class Filled(NamedTuple):
    """The form as it is filled in."""

    infos: Sequence[ConfigFieldInfo]
    start: Mapping[str, Any]
    """Values with which the form began, by path."""
    values: Sequence[Any]
    ids: Ids

    @classmethod
    async def read(cls, api: Api, start: Mapping[str, Any], values: Sequence[Any]) -> Filled:
        """Return the form of the callback at hand."""
        ids = [each["id"] for each in ctx.states_list[-1]]
        return cls(await config_infos(api), start, values, ids)

    @property
    def typed(self) -> dict[str, list[Any]]:
        """Returns the inputs of each field."""
        return typed_values(self.ids, self.values)

    @property
    def types(self) -> tuple[str, str]:
        """Returns the method and the type of tasks."""
        return str(self.typed[METHOD][0]), str(self.typed[TASK][0])

    def changes(self) -> tuple[list[FormField], dict[str, Any]]:
        """Return the form's fields, and the values that differ from where it started."""
        base = StartValues(**self.start["values"]).base(*self.types)
        fields = form_fields(self.infos, base, *self.types)
        return fields, changes(fields, self.typed, *self.types)


def draft_of(start: Mapping[str, Any], changed: Mapping[str, Any], project: str | None) -> ConfigCheck:
    """Return the config that the form describes."""
    fork = start.get("fork")
    step = None if fork is None else fork["step"]
    return ConfigCheck(
        recipe=start["recipe"], parent_id=start["parent_id"], fork_step=step, changes=dict(changed), project=project
    )


def problem_list(problems: Sequence[FieldProblem], *, colour: str, title: str) -> Any:
    """Return field, value and remedy of each problem."""
    return dmc.Alert(
        html.Ul(
            [
                html.Li(
                    [
                        html.Code(problem.field),
                        f" = {formatting.config_value(problem.value)}: " if problem.value is not None else ": ",
                        problem.remedy,
                    ]
                )
                for problem in problems
            ],
            className="problem-list",
        ),
        title=title,
        color=colour,
        variant="light",
        p="sm",
    )


def starvation_note(report: ConfigReport) -> Any:
    """Return where no k/G is admitted, so that nothing is reused there."""
    gaps = starved_intervals(threshold_map_data(report.threshold_map))
    if not gaps:
        return None
    named = ", ".join(f"{low:.2f} to {high:.2f}" if low < high else f"{low:.2f}" for low, high in gaps)
    return dmc.Alert(
        f"At r_tot from {named} no accuracy k/G lies in [c2, c3] (framed), so nothing is reused there.",
        color="yellow",
        variant="light",
        p="xs",
        className="caution",
    )


def threshold_map(report: ConfigReport, scheme: str | None) -> tuple[Any, Any, dict[str, str]]:
    """Return the map, the note above it and the style of their card, which a method without thresholds hides."""
    if not report.threshold_map:
        return None, None, {"display": "none"}
    palette = palette_of(scheme)
    figure = themed(threshold_map_figure(threshold_map_data(report.threshold_map), palette), palette)
    return figure, starvation_note(report), {}
