"""One training prompt of a run: its text, its accuracy at each visit, and the responses."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlencode

import dash_mantine_components as dmc
import orjson
from dash import Dash, Input, Output, State, html

from bapo.analysis.stories import STORY_TEXTS
from bapo.api.prompts import PromptDetail, PromptFilter
from bapo.api.runs import RunDetail
from bapo.client import AsyncClient
from bapo.config.sections import token_limit_of
from bapo.figures import formatting
from bapo.figures.looks import SOURCE_NAMES
from bapo.figures.prompt_history import (
    THRESHOLD_KEYS,
    prompt_history_data,
    prompt_history_figure,
    reason_text,
)
from bapo.figures.theme import palette_of, themed
from frontend.components.actions import clientside, unchanged
from frontend.components.card import crumbs
from frontend.components.chart_card import only_chart
from frontend.components.elements import Link, Store, attributes
from frontend.components.page import Page
from frontend.components.prompts import filter_of
from frontend.request.session import Api

GROUPS_AT_ONCE = 12
VISITS_SHOWN = 100
MOST_THRESHOLD_POINTS = 1000
MAX_ANSWER_LETTERS = 2_000
HISTORY_HEIGHT = 320

HISTORY_TITLE = "Accuracy over training"
HISTORY_EXPLANATION = (
    "Each mark is a visit; its shape is the source. Pale marks were not trained on. A dotted line leads from the step "
    "whose policy generated the responses to the visit: X3 reuses old groups, and fresh groups come from the rollout "
    "policy. Hollow diamonds are samples taken apart from training. The band is the reuse window in force."
)


class Address(NamedTuple):
    """A prompt, and the list that it was reached from."""

    run_id: str
    prompt_id: str
    wanted: PromptFilter

    @classmethod
    def of(cls, path: Mapping[str, str], query: Mapping[str, str]) -> Address:
        """Read the parts of an address."""
        return cls(path["run_id"], unquote(path["prompt_id"]), filter_of(query))

    def search(self, **more: str) -> str:
        """Return the list's filter as a query."""
        given = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in self._set.items()}
        return f"?{urlencode(more | given)}" if more or given else ""

    @property
    def _set(self) -> dict[str, Any]:
        return self.wanted.model_dump(mode="json", exclude_defaults=True)

    def href_of(self, prompt_id: str) -> str:
        """Return the address of another prompt of the list."""
        return f"/runs/{self.run_id}/prompts/{quote(prompt_id, safe='')}{self.search()}"


async def layout(api: Api, path: Mapping[str, str], query: Mapping[str, str]) -> Any:
    """Return the page; its figure and the responses follow."""
    address = Address.of(path, query)
    client = api.client()
    run, prompt = await asyncio.gather(
        client.run(address.run_id), client.prompt(address.run_id, address.prompt_id, address.wanted)
    )
    mounted = {
        "run": run.id,
        "prompt": prompt.prompt_id,
        "project": run.project,
        "text": prompt.text,
        "groups": GROUPS_AT_ONCE,
        "visitsShown": VISITS_SHOWN,
        "limit": token_limit_of(run.config),
    }
    return html.Div(
        [
            Store(id="prompt-mounted", data=mounted),
            Store(id="prompt-sink"),
            _head(run, prompt, address),
            html.Div(_facts(prompt), className="run-facts"),
            html.Div([_question(prompt), _answer(prompt)], className="prompt-texts"),
            only_chart("prompt-history", HISTORY_TITLE, HISTORY_EXPLANATION, height=HISTORY_HEIGHT),
            _visits(prompt, run.id),
            _answers(),
            html.Section(
                [
                    html.Div(
                        [html.H2("Responses", className="section-title"), html.Span(id="prompt-mode")],
                        className="section-head",
                    ),
                    html.Div(id="prompt-responses", className="prompt-responses sample-grid"),
                    html.Div(id="prompt-more", className="pages"),
                ]
            ),
            html.Section(
                [
                    html.H2("The same prompt in other runs", className="section-title"),
                    Link("Over all runs", href=_across(run, prompt), className="sample-link", id="prompt-across"),
                    html.Div(id="prompt-runs", className="panel-card"),
                ]
            ),
        ],
        className="prompt-page",
        **attributes(data_prompt=prompt.prompt_id),
    )


def _across(run: RunDetail, prompt: PromptDetail) -> str:
    return f"/prompts/{quote(prompt.prompt_id, safe='')}?{urlencode({'project': run.project})}"


def _head(run: RunDetail, prompt: PromptDetail, address: Address) -> html.Div:
    tab = f"/runs/{run.id}{address.search(tab='prompts')}"
    neighbours = prompt.neighbours
    place = (
        f"not among the {neighbours.total:,} prompts of the list"
        if neighbours.position is None
        else f"{neighbours.position:,} of {neighbours.total:,}"
    )
    story = f" · {STORY_TEXTS[address.wanted.story].label}" if address.wanted.story else ""
    return html.Div(
        [
            html.Div(
                [
                    crumbs(
                        Link("Runs", href="/runs", className="crumb"),
                        Link(run.name, href=f"/runs/{run.id}", className="crumb crumb-run", title=run.name),
                        Link("Prompts", href=tab, className="crumb"),
                    ),
                    html.H1(prompt.prompt_id, className="run-name prompt-title", title=prompt.prompt_id),
                ],
                className="run-title",
            ),
            html.Nav(
                [
                    _neighbour("‹ Previous", neighbours.previous_id, address, "prompt-previous"),
                    html.Span(f"{place}{story}", className="fact"),
                    _neighbour("Next ›", neighbours.next_id, address, "prompt-next"),
                ],
                className="prompt-neighbours",
                **attributes(aria_label="Other prompts in the list"),
            ),
        ],
        className="run-title-row",
    )


def _neighbour(label: str, prompt_id: str | None, address: Address, identifier: str) -> Any:
    button = dmc.Button(label, size="xs", variant="default", color="gray", disabled=prompt_id is None)
    if prompt_id is None:
        return html.Span(button, id=identifier)
    return Link(button, id=identifier, href=address.href_of(prompt_id), className="plain-link")


def _facts(prompt: PromptDetail) -> list[Any]:
    size = prompt.group_size
    facts = [
        ("first → last", f"{prompt.first_correct}/{size} → {prompt.last_correct}/{size}"),
        ("gain", formatting.points(prompt.gain)),
        ("visits", f"{prompt.num_visits:,}"),
        ("evaluations", f"{prompt.num_evaluations:,}"),
        ("seen in steps", f"{prompt.first_step:,} to {prompt.last_step:,}"),
    ]
    stories = [
        dmc.Tooltip(
            dmc.Badge(STORY_TEXTS[story].label, color="gray", variant="light", tabIndex=0),
            label=STORY_TEXTS[story].definition,
        )
        for story in prompt.stories
    ]
    return [
        *stories,
        *(
            html.Span([html.Span(label, className="fact-label"), " ", value], className="fact")
            for label, value in facts
        ),
    ]


def _question(prompt: PromptDetail) -> html.Div:
    unknown = (
        "Its text is not stored, because none of its groups was kept with the responses. samples.groups_per_step sets "
        "how many groups each step keeps."
    )
    content = (
        html.Div(unknown, className="panel-hint")
        if prompt.text is None
        # A model's prompt may be very long: the script clips it.
        else html.Div(id="prompt-question")
    )
    return html.Div([html.H2("Prompt", className="chart-title"), content], className="panel-card")


def _answer(prompt: PromptDetail) -> html.Div:
    if prompt.answer is None:
        content: Any = html.Div("Not stored.", className="panel-hint")
    else:
        text = "\n".join(f"{name}: {_written(value)}" for name, value in prompt.answer.items())
        shown = text if len(text) <= MAX_ANSWER_LETTERS else text[:MAX_ANSWER_LETTERS] + " …"
        content = html.Pre(shown, className="prompt-answer")
    return html.Div([html.H2("Ground truth", className="chart-title"), content], className="panel-card")


def _answers() -> html.Section:
    """Return the place of two visits side by side, which the script fills (assets/prompt_answers.js)."""
    return html.Section(
        [
            html.H2("Then and now", className="section-title"),
            html.Div(
                "Two visits whose responses are stored. Words that the other response does not have at that place are "
                "marked; wrong responses of the earlier visit are paired with correct ones of the later first.",
                className="panel-hint",
            ),
            html.Div(id="prompt-answers", className="panel-card answers"),
        ],
        id="prompt-answers-section",
        hidden=True,
    )


def _written(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode().replace(",", ", ")


def policy_age(staleness: int) -> str:
    """Return the age of the policy that generated the responses."""
    return "current" if staleness <= 0 else f"{staleness} step{'s' * (staleness != 1)} old"


def _visits(prompt: PromptDetail, run_id: str) -> html.Section:
    rows = prompt.visits
    head = ("Step", "Source", "Correct", "Policy", "Trained on")
    columns = zip(
        rows.step, rows.source, rows.num_correct, rows.policy_version, rows.staleness, rows.in_batch, rows.reason,
        strict=True,
    )  # fmt: skip
    body = [
        html.Tr(
            [
                html.Td(
                    Link(
                        f"{step:,}",
                        href=f"/runs/{run_id}?tab=walk&step={step}",
                        className="sample-link",
                        title="Walk through this step",
                    )
                ),
                html.Td(html.Span(SOURCE_NAMES[source], className=f"source source-{source.value}")),
                html.Td(f"{num_correct}/{prompt.group_size}"),
                html.Td("not recorded" if version is None else f"version {version:,}, {policy_age(staleness or 0)}"),
                html.Td("yes" if in_batch else f"no: {reason_text(reason)}"),
            ]
        )
        for step, source, num_correct, version, staleness, in_batch, reason in columns
    ][::-1]
    hidden = len(body) - VISITS_SHOWN
    table = html.Table(
        [
            html.Thead(html.Tr([html.Th(title, scope="col") for title in head])),
            html.Tbody(body[:VISITS_SHOWN]),
            *([html.Tbody(body[VISITS_SHOWN:], id="prompt-older-visits", hidden=True)] if hidden > 0 else []),
        ],
        className="visits-table",
    )
    more = (
        [html.Button(f"Show all {len(body):,} visits", id="prompt-all-visits", className="page-button", type="button")]
        if hidden > 0
        else []
    )
    return html.Section(
        [
            html.H2("All visits, newest first", className="section-title"),
            html.Div([table, *more], className="panel-card"),
        ]
    )


async def _figure(client: AsyncClient, address: Address, scheme: str | None) -> dict[str, Any]:
    run, prompt, thresholds = await asyncio.gather(
        client.run(address.run_id),
        client.prompt(address.run_id, address.prompt_id),
        client.metrics(address.run_id, THRESHOLD_KEYS, from_step=1, max_points=MOST_THRESHOLD_POINTS),
    )
    palette = palette_of(scheme)
    return themed(prompt_history_figure(prompt_history_data(prompt, thresholds, run.step), palette), palette)


PAGES = (Page("/runs/(?P<run_id>[^/]+)/prompts/(?P<prompt_id>.+)", layout, section="a-run", query_makes_page=True),)


def register(app: Dash, api: Api) -> None:
    """Draw the figure in the colours of the scheme; the rest is the script's."""

    @app.callback(
        Output("prompt-history", "figure"),
        Input("scheme", "data"),
        State("prompt-mounted", "data"),
        # The rest of the page says what is wrong.
        on_error=unchanged,
    )
    async def draw(scheme: str | None, mounted: dict[str, str]) -> Any:
        return await _figure(api.client(), Address(mounted["run"], mounted["prompt"], PromptFilter()), scheme)

    clientside(app, "prompt", "show", Output("prompt-sink", "data"), Input("prompt-mounted", "data"))
