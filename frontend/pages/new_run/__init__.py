"""The form of a new run: from a recipe, or from another run with changes."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.analysis.findings.finding import LABELS
from bapo.api.configs import RecipeInfo
from bapo.api.runs import RunDetail
from bapo.config import ConfigError, apply_changes, resolve
from bapo.config.method import METHODS
from bapo.config.resolve import flatten
from frontend.components.card import card, page_title
from frontend.components.changes_query import parse_changes
from frontend.components.chart_card import table_button
from frontend.components.choices import project_select, writable_projects
from frontend.components.config_form.fields import Field, config_field, resets
from frontend.components.config_form.inputs import (
    FORM,
    METHOD,
    TASK,
    StartValues,
    config_infos,
    form_fields,
    hidden_fields,
)
from frontend.components.config_form.methods import CHOOSERS, looks, own_bases, shared_base
from frontend.components.config_form.values import FormField, shown
from frontend.components.elements import Graph, Link, Store, attributes, button_store, figure_named
from frontend.components.markup import Later
from frontend.components.notices import nothing_to_write, notice
from frontend.components.page import Page
from frontend.pages.new_run import arms, several
from frontend.pages.new_run import fork as forking
from frontend.pages.new_run.fork import Fork
from frontend.pages.new_run.prompts import prompts_card
from frontend.request.session import Api

OWN_FIELDS = "The method's own fields"
REFUSED = "This is of the last config that could run; the present one cannot."
NO_FIELDS = "This method adds no fields."
PROBE_TITLE = (
    "Let the base model answer some 256 of these problems first: how hard they are, which group size and thresholds "
    "suit them, and how long the run would take."
)

STEPS = "training.steps"
EXCLUDED = "task.exclude_prompts"

SECTIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("Training", "", ("method.type", STEPS, "training.learning_rate", "training.seed")),
    (
        OWN_FIELDS,
        "What is rolled out, kept, re-evaluated and trained on. Fields that are not changed here show the method's "
        "default.",
        (
            "method.c1",
            "method.v",
            "method.m",
            "method.c2",
            "method.max_reevaluated_prompts",
            "method.c3",
        ),
    ),
    ("Sizes", "", ("rollout.group_size", "rollout.batch_size", "training.batch_size")),
)
"""Fields that most runs change; all others follow below."""

DEFAULT_RECIPE = "countdown-demo"


async def layout(api: Api, _: Mapping[str, str], query: Mapping[str, str]) -> Any:
    """Return the form, filled from the recipe or the parent."""
    client = api.client()
    me = await client.me()
    if not writable_projects(me):
        return nothing_to_write("Runs are started by members of a project")
    recipes = (await client.recipes()).items
    infos = await config_infos(api)
    fork = await forking.choice(client, query["fork"], query.get("step")) if query.get("fork") else None
    parent = fork.parent if fork else (await client.run(query["parent"]) if query.get("parent") else None)
    if fork is not None and fork.step is None:
        return forking.nothing_to_fork(fork.parent)
    recipe = next((each for each in recipes if each.name == query.get("recipe", DEFAULT_RECIPE)), recipes[0])
    set_before = apply_changes(parent.explicit, fork.in_force if fork else {}) if parent else recipe.config
    # Completed without asking the server: what it refuses, such as a recipe's folder that this deployment does not
    # permit, or a fork with no step left, is reported at its field of the open form.
    try:
        base = flatten(resolve(set_before).config.model_dump(mode="json"))
    except ConfigError as error:
        return notice("This config cannot be opened", str(error), icon_name="alert")
    wished = parse_changes(query.get("set"))
    start = StartValues(
        shared_base(infos, base),
        {chooser: own_bases(chooser, infos, flatten(set_before), base) for chooser in CHOOSERS},
    )
    types = {chooser: _one_of(start.own[chooser], wished.get(chooser), base[chooser]) for chooser in CHOOSERS}
    method, task = types[METHOD], types[TASK]
    fields = form_fields(infos, start.base(method, task), method, task)
    hidden = hidden_fields(fields, method, task)
    registered = (await client.resources()).items
    offers = {info.path: sorted({f"@{each.name}" for each in registered if info.path in each.fields}) for info in infos}
    lists = (await client.prompt_lists()).items
    offers["task.prompt_list"] = sorted({f"@{each.name}" for each in lists if each.version})
    writable = writable_projects(me)
    wanted = parent.project if parent else query.get("project")
    project = project_select("new-project", writable, wanted, searchable=True, size="sm")
    heading = forking.heading(fork) if fork else _heading(parent, recipe, recipes)
    given = {field.info.path: value for field in fields for value in _given(field, query.get("set"))}
    if parent is not None and query.get("without") in LABELS:
        listed = (await client.finding_prompts(parent.id, query["without"])).items
        given[EXCLUDED] = list(dict.fromkeys([*(base.get(EXCLUDED) or ()), *(each.prompt_id for each in listed)]))
    if fork is not None and fork.step is not None and STEPS not in given:
        given |= forking.further_steps(fork.step, base[STEPS])
    key = uuid.uuid4().hex
    return html.Div(
        [
            button_store(resets(FORM)),
            Store(
                id="new-start",
                data={
                    "recipe": None if parent else recipe.name,
                    "parent_id": parent.id if parent else None,
                    "origin": f"“{parent.name}”" if parent else f"the recipe {recipe.name}",
                    "values": start._asdict(),
                    "key": key,
                    "fork": {"run_id": fork.parent.id, "step": fork.step} if fork else None,
                },
            ),
            # Separate from what each check sends to the server.
            Store(
                id="new-looks",
                data={
                    "key": key,
                    # What the inputs show for the method and the type of tasks that the form begins with, and what
                    # others show.
                    "types": types,
                    "shown": {field.info.path: shown(field.info, field.base) for field in fields},
                    "hidden": hidden,
                    "sections": {
                        section: [field.info.path for field in members] for section, members in further(fields).items()
                    },
                    "of": {
                        choice: look
                        for chooser in CHOOSERS
                        for choice, look in looks(chooser, infos, start, types).items()
                    },
                },
            ),
            Store(id="new-typed", data=0),
            Store(id="new-sink"),
            Store(id="new-checked"),
            Store(id="new-made"),
            Store(id="grid-asked"),
            Store(id="grid-label", data=several.START_RUNS),
            html.Div(
                [
                    _form(heading, fields, hidden, method, parent, recipe, given, project, fork, offers),
                    _summary(fork is not None),
                ],
                className="form-columns",
            ),
        ],
        className="new-run",
    )


def _one_of(types: Collection[str], wished: object, usual: object) -> str:
    """Return the type that an address asks for, if there is such a type."""
    return str(wished) if str(wished) in types else str(usual)


def _given(field: FormField, changes: str | None) -> list[Any]:
    """Return the field's value in an address, if it gives one that the field can show."""
    given = parse_changes(changes)
    if field.info.path not in given:
        return []
    value = given[field.info.path]
    try:
        shown(field.info, value)
    except (TypeError, ValueError):
        return []
    return [value]


def _heading(parent: RunDetail | None, recipe: RecipeInfo, recipes: Sequence[RecipeInfo]) -> html.Div:
    if parent:
        text: Any = [
            "Starts with the config of ",
            Link(parent.name, href=f"/runs/{parent.id}", className="wrap-anywhere"),
            " and your changes.",
        ]
        return html.Div(
            [page_title("Clone with changes"), dmc.Text(text, c="dimmed", size="sm")], className="form-heading"
        )
    return html.Div(
        [
            page_title("New run"),
            dmc.RadioGroup(
                html.Div([_recipe_card(each) for each in recipes], className="recipe-cards"),
                id="new-recipe",
                value=recipe.name,
                label="Recipe",
                size="sm",
            ),
        ],
        className="form-heading",
    )


def _recipe_card(recipe: RecipeInfo) -> dmc.RadioCard:
    return dmc.RadioCard(
        html.Div(
            [
                dmc.RadioIndicator(size="xs"),
                html.Div(
                    [
                        html.Div([recipe.title, " ", html.Code(recipe.name)], className="recipe-title"),
                        html.Div(" ".join(recipe.description.split()), className="recipe-text"),
                    ]
                ),
            ],
            className="recipe-card-body",
        ),
        value=recipe.name,
        p="sm",
        className="recipe-card",
        **attributes(aria_label=f"{recipe.title} ({recipe.name})"),
    )


def _form(
    heading: html.Div,
    fields: Sequence[FormField],
    hidden: Collection[str],
    method: str,
    parent: RunDetail | None,
    recipe: RecipeInfo,
    given: Mapping[str, Any],
    project: dmc.Select,
    fork: Fork | None,
    offers: Mapping[str, Sequence[str]],
) -> html.Div:
    """Return the fields; those that the address gives start with its values, and `offers` can be chosen."""

    def field_of(field: FormField, width: str = "normal") -> Field:
        value = given.get(field.info.path, field.base)
        source = None if parent else recipe.sources.get(field.info.path)
        is_hidden = field.info.path in hidden
        return config_field(
            FORM,
            field.info,
            value,
            method,
            width=width,
            base=field,
            source=source,
            is_hidden=is_hidden,
            offers=offers[field.info.path],
        )

    infos = [field.info for field in fields]
    by_path = {field.info.path: field for field in fields}
    listed = _listed(fields)
    rest = further(fields)
    about = html.Div(
        [
            dmc.TextInput(
                id="new-name",
                label="Name",
                value=suggested_name(recipe, parent, fork, given),
                required=True,
                size="sm",
                className="field-wide",
            ),
            dmc.TagsInput(id="new-tags", label="Tags", value=[], size="sm", placeholder="optional"),
            project,
        ],
        className="field-grid",
    )
    sections = [
        card(
            *([dmc.Text(text, size="sm", c="dimmed")] if text else []),
            html.Div(
                [
                    field_of(by_path[path], "wide" if by_path[path].info.kind == "fraction_range" else "normal")
                    for path in paths
                    if path in by_path
                ],
                className="field-grid four" if len(paths) == 4 else "field-grid",
            ),
            *([html.Div(NO_FIELDS, className="no-fields")] if title == OWN_FIELDS else []),
            title=title,
        )
        for title, text, paths in listed
    ]
    everything = dmc.Accordion(
        [
            dmc.AccordionItem(
                [
                    # How many there are depends on the method and on the type of tasks (assets/form.js).
                    dmc.AccordionControl(
                        [
                            html.Code(section),
                            html.Span(
                                f" · {sum(field.info.path not in hidden for field in members)} more",
                                id={"type": "new-more", "section": section},
                            ),
                        ]
                    ),
                    dmc.AccordionPanel(Later(html.Div([field_of(field) for field in members], className="field-grid"))),
                ],
                value=section,
                **attributes(data_section=section),
            )
            for section, members in rest.items()
        ],
        multiple=True,
        # A field that the address gives is not hidden.
        value=sorted(name for name, members in rest.items() if any(field.info.path in given for field in members)),
        variant="contained",
        className="all-fields",
    )
    return html.Div(
        [
            heading,
            card(about, title="About"),
            arms.arms_builder(fork, infos) if fork else several.grid_builder(infos),
            *sections,
            html.Div([html.H2("All other fields", className="chart-title all-title"), everything]),
        ],
        className="form-main",
    )


def _listed(fields: Sequence[FormField]) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return `SECTIONS` with the fields of methods that have few."""
    return [(title, text, (*paths, *_of_other_methods(fields, title))) for title, text, paths in SECTIONS]


def further(fields: Sequence[FormField]) -> dict[str, list[FormField]]:
    """Return all other fields, by section of the config."""
    prominent = {path for _, _, paths in _listed(fields) for path in paths}
    rest: dict[str, list[FormField]] = {}
    for field in fields:
        if field.info.path not in prominent:
            rest.setdefault(field.info.path.split(".", 1)[0], []).append(field)
    return rest


def suggested_name(recipe: RecipeInfo, parent: RunDetail | None, fork: Fork | None, given: Mapping[str, Any]) -> str:
    """Return the default name of the run: after its parent, its own data or its recipe."""
    if fork is not None:
        return f"{fork.parent.name[:170]} from step {fork.step}"
    if parent is not None:
        return f"{parent.name} (changed)"[:200]
    return str(given.get("task.train_file", "")).removeprefix("@") or recipe.title


def _of_other_methods(fields: Sequence[FormField], title: str) -> list[str]:
    """Return the fields of methods that have few; the default method's other fields are with all others below."""
    if title != OWN_FIELDS:
        return []
    return [
        field.info.path
        for field in fields
        if field.info.method_types and METHODS.default.type_name() not in field.info.method_types
    ]


def _summary(is_fork: bool) -> html.Div:
    return html.Div(
        [
            # First, and in sight while the form is scrolled, with the problems next to the button.
            html.Div(
                [
                    dmc.Button("Start the run", id="new-submit", fullWidth=True, size="md", disabled=True),
                    dmc.Button(
                        "Probe first",
                        id="new-probe",
                        fullWidth=True,
                        variant="light",
                        disabled=True,
                        style={"display": "none"} if is_fork else {},
                        attributes={"root": {"title": PROBE_TITLE}},
                    ),
                    dmc.Button(
                        "Save as draft", id="new-draft", fullWidth=True, variant="subtle", color="gray", disabled=True
                    ),
                    html.Div(id="new-problems", className="form-problems", role="status"),
                ],
                className="form-submit panel-card",
            ),
            html.Div(dmc.Skeleton(height=90), id="new-diff", className="panel-card"),
            html.Div(
                [html.Div(dmc.Skeleton(height=220), id="new-cost"), html.Div(REFUSED, className="stale-note")],
                className="panel-card",
            ),
            prompts_card(),
            html.Div(
                [
                    html.H2("Threshold map", className="chart-title"),
                    dmc.Text(
                        "What BAPO does with a group of k of G correct responses, as the mean accuracy rises.",
                        size="xs",
                        c="dimmed",
                    ),
                    html.Div(REFUSED, className="stale-note"),
                    html.Div(id="new-map-note", className="map-note", role="status"),
                    Graph("new-map", style={"height": 400}),
                    table_button("Threshold map"),
                ],
                className="panel-card",
                **figure_named("Threshold map"),
                id="new-map-card",
                # Until there is a map.
                style={"display": "none"},
            ),
            html.Div(id="new-theory"),
        ],
        id="new-side",
        className="form-side",
    )


PAGES = (Page("/new", layout, section="new-run", query_makes_page=True),)
