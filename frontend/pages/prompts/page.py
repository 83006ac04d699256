"""One prompt over all runs: its text, its accuracy by run, the answers that models agree on, and its runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote, urlencode

import dash_mantine_components as dmc
import orjson
from dash import Dash, Input, Output, State, html

from bapo.analysis.number_format import bounds_text, counted, percent
from bapo.answer_text import answer_span
from bapo.api.prompts import PromptAnswers, PromptInRun, PromptInRuns, PromptTotalsAcross, SampledIn
from bapo.config.method import method_name
from bapo.figures.prompt_across_runs import across_runs_data, across_runs_figure
from bapo.figures.theme import palette_of, themed
from frontend.components.actions import clientside, in_place, open_when_pressed, unchanged
from frontend.components.card import card, crumbs, section_title, tiles
from frontend.components.chart_card import only_chart
from frontend.components.controls import download_links
from frontend.components.elements import Link, Store, attributes
from frontend.components.markdown import response_tree
from frontend.components.markup import Markup
from frontend.components.notices import link_button, notice
from frontend.components.page import Page
from frontend.components.prompts import marking_dialog, marks
from frontend.components.runs import status_badge
from frontend.components.table import cell, row, table_card
from frontend.components.text import moment
from frontend.pages.prompts import accuracy_cell, address_of, badges, offset_of, paging
from frontend.request.session import Api

RUNS = 20
CHART_HEIGHT = 340
MOST_LETTERS = 4_000
MOST_OF_RESPONSE = 600
"""Letters of the end of a response."""
CHART_TITLE = "Accuracy by run"
CHART_EXPLANATION = (
    "Each mark is an evaluation; its shape is the source, as on the prompt's page in a run. Lines of one colour are "
    "runs of one method and model. The twelve newest runs that answered the prompt are drawn; a fork's line "
    "begins with its own answers."
)


async def layout(api: Api, path: Mapping[str, str], query: Mapping[str, str]) -> Any:
    """Return the page; its chart and the answers follow."""
    prompt_id, project, offset = unquote(path["prompt_id"]), query.get("project"), offset_of(query)
    client = api.client()
    found = await client.prompt_in_runs(prompt_id, project, offset=offset, limit=RUNS)
    if found.totals is None:
        text = f"No run of the project {found.project} that is counted has visited {prompt_id}."
        return notice("Not among the prompts", text, icon_name="search", action=link_button("All prompts", "/prompts"))
    lists = await client.prompt_lists(found.project)
    what = {"prompt": prompt_id, "project": found.project}
    return html.Div(
        [
            Store(id="across-mounted", data=what),
            Store(id="across-whole-text", data=found.whole_text),
            Store(id="across-sink"),
            marks([prompt_id], project=found.project, target=address_of(prompt_id, found.project)),
            _head(prompt_id, found),
            _tiles(found.totals),
            html.Div([_text(prompt_id, found), _answer(found)], className="prompt-texts"),
            only_chart("across-chart", CHART_TITLE, CHART_EXPLANATION, height=CHART_HEIGHT),
            section_title("What responses answer"),
            html.Div(dmc.Skeleton(height=160), id="across-answers", **attributes(aria_live="polite")),
            section_title("Runs"),
            _inheritance(found),
            table_card(_HEAD, [_run(each, prompt_id) for each in found.items], "queue-table across-table"),
            paging(address_of(prompt_id), {"project": found.project}, offset, RUNS, found.total),
            marking_dialog(lists.items),
        ],
        className="prompt-page across-page",
    )


def _head(prompt_id: str, found: PromptInRuns) -> html.Div:
    assert found.totals is not None, "the page has totals"
    query = urlencode({"prompt_id": prompt_id, "project": found.project})
    path, label = "/api/v1/prompt-history", "Visits (CSV)"
    exports = download_links(path, "prompt-history", f"?{query}", label=label, title="Every visit in every run")
    trail = crumbs(
        Link("Prompts", href=f"/prompts?{urlencode({'project': found.project})}", className="crumb"),
        html.Span("over all runs", className="crumb"),
    )
    return html.Div(
        [
            html.Div(
                [trail, html.H1(prompt_id, className="run-name prompt-title", title=prompt_id)], className="run-title"
            ),
            dmc.Group(
                [
                    *badges(found.totals.lists),
                    *exports,
                    html.Div(dmc.Button("Put on a list…", id="across-one-mark", size="xs"), className="for-members"),
                ],
                gap="xs",
            ),
        ],
        className="run-title-row",
    )


def _tiles(found: PromptTotalsAcross) -> html.Div:
    accuracy = found.accuracy
    value = "–" if accuracy.value is None else percent(accuracy.value)
    counts = f"{accuracy.num_correct:,} of {accuracy.num_responses:,}" if accuracy.num_responses else ""
    bounds = bounds_text(accuracy.low, accuracy.high, percent)
    interval = ", ".join(part for part in (bounds, counts) if part) or "no evaluation is recorded"
    return tiles(
        ("Accuracy over all runs", value, interval),
        ("Runs", f"{found.num_runs:,}", f"{found.num_visits:,} visits"),
        ("Never solved in", f"{found.num_never_solved:,}", f"of {counted(found.num_runs, 'run')}"),
        ("Always solved in", f"{found.num_always_solved:,}", f"of {counted(found.num_runs, 'run')}"),
        ("Suspected in", f"{found.num_suspected:,}", "runs whose own findings doubt label or verifier"),
    )


def _text(prompt_id: str, found: PromptInRuns) -> html.Section:
    if found.whole_text is None:
        return card(html.Div("No run stored its text.", className="panel-hint"), title="Prompt")
    # The script draws it as under Samples, folded where it is long.
    return card(html.Div(id="across-question", **attributes(data_prompt=prompt_id)), title="Prompt")


def _answer(found: PromptInRuns) -> html.Section:
    if found.answer is None:
        return card(html.Div("Not stored.", className="panel-hint"), title="Ground truth")
    lines = [
        f"{name}: {value if isinstance(value, str) else orjson.dumps(value).decode()}"
        for name, value in found.answer.items()
    ]
    return card(html.Pre(_cut("\n".join(lines)), className="prompt-answer"), title="Ground truth")


def _cut(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]} …"


# ---------------------------------------------------------------- answers


def answers_view(found: PromptAnswers) -> list[Any]:
    """Return what the pooled responses say, and the newest of several runs side by side."""
    if not found.num_responses:
        hint = "No run stored a response to this prompt: samples.groups_per_step sets how many groups each step keeps."
        return [card(html.Div(hint, className="panel-hint"))]
    return [
        _verdict(found),
        *([_answers_table(found)] if found.answers else []),
        html.Div([_sampled(each) for each in found.newest], className="sample-grid across-newest"),
    ]


def _verdict(found: PromptAnswers) -> dmc.Alert:
    pooled = f"{counted(found.num_responses, 'response')} of {counted(found.num_runs, 'run')}"
    if found.suspected is not None:
        text = (
            f"{percent(found.share)} of {pooled} agree on “{_short(found.suspected)}”, which is judged wrong"
            + (f"; the label is “{_short(found.label)}”" if found.label else "")
            + ". The label may be wrong, but a mistake that models repeat looks the same."
        )
        return dmc.Alert(text, title="Suspected label", color="yellow", variant="light", mb="sm")
    if found.num_label_refused:
        text = (
            f"{found.num_label_refused:,} of {pooled} give the label in another form and are judged wrong: look at the "
            "verifier."
        )
        return dmc.Alert(text, title="Suspected verifier", color="yellow", variant="light", mb="sm")
    if not found.answers:
        text = (
            f"{found.num_correct:,} of {pooled} are judged right. None states an answer in <answer> or \\boxed{{}}, so "
            "that there is nothing to hold against a label."
        )
        return dmc.Alert(text, color="gray", variant="light", mb="sm")
    text = (
        f"{found.num_correct:,} of {pooled} are judged right. No wrong answer is given by 60 % or more of them: "
        "nothing here speaks against label or verifier."
    )
    return dmc.Alert(text, color="gray", variant="light", mb="sm")


def _short(text: str | None) -> str:
    given = text or ""
    return given if len(given) <= 80 else f"{given[:79]}…"


def _answers_table(found: PromptAnswers) -> html.Div:
    models = sorted({model for each in found.answers for model in each.by_model})
    rows = [
        row(
            html.Code(_short(each.text), className="wrap-anywhere"),
            cell(f"{each.num_responses:,}", "number"),
            cell(percent(each.num_responses / found.num_responses), "number"),
            *(cell(f"{each.by_model.get(model, 0):,}", "number") for model in models[:6]),
            cell(f"{each.num_correct:,}", "number"),
            dmc.Badge("the label", color="green", variant="light", size="sm") if each.is_label else None,
        )
        for each in found.answers
    ]
    below = [f"{found.num_without_answer:,} responses give no answer."] if found.num_without_answer else []
    if found.num_answers > len(found.answers):
        rarer = found.num_answers - len(found.answers)
        below.append(f"{counted(rarer, 'rarer answer')} {'is' if rarer == 1 else 'are'} left out.")
    head = ("Answer", "Responses", "Share", *models[:6], "Judged right", "")
    return table_card(head, rows, "queue-table", html.Div(" ".join(below), className="panel-hint"))


def _response_end(text: str) -> html.Div:
    """Return the last paragraphs of a response, with its answer marked."""
    start = 0
    if len(text) > MOST_OF_RESPONSE:
        # Cut within a paragraph, a table or a formula is none.
        paragraph = text.rfind("\n\n", len(text) - MOST_OF_RESPONSE, len(text) - MOST_OF_RESPONSE // 3)
        start = len(text) - MOST_OF_RESPONSE if paragraph < 0 else paragraph + 2
    shown = text[start:]
    tree = response_tree(shown, answer_span(shown))
    return html.Div(Markup([*(["⋯"] if start else []), *tree], []), className="across-response prose markdown")


def _sampled(each: SampledIn) -> html.Section:
    responses = [
        html.Div(
            [
                dmc.Badge(
                    "right" if response.is_correct else "wrong",
                    color="green" if response.is_correct else "red",
                    variant="light",
                    size="xs",
                ),
                _response_end(response.text),
            ]
        )
        for response in each.responses[:8]
    ]
    return card(
        html.Div(
            [
                Link(each.run_name, href=f"/runs/{each.run_id}", className="sample-link wrap-anywhere"),
                html.Span(f" {method_name(each.method)} · {each.model}", className="queue-detail"),
            ]
        ),
        html.Div(
            f"step {each.step:,}: {each.num_correct}/{len(each.responses)} judged right", className="queue-detail"
        ),
        *responses,
    )


# ---------------------------------------------------------------- runs


_HEAD = ("Run", "Method and model", "State", "Visits", "Accuracy", "First → last", "Last step", "Started")


def _inheritance(found: PromptInRuns) -> html.Div | None:
    """Return why the table shows more than the totals count; None if it does not."""
    if not any(each.num_inherited_visits for each in found.items):
        return None
    assert found.totals is not None, "runs of a prompt have totals"
    answered = f"{found.totals.num_runs:,} of {counted(found.total, 'run')} answered the prompt" + (
        "; the rest only inherited answers" if found.total > found.totals.num_runs else ""
    )
    text = (
        f"{answered}. A fork inherits its parent's steps, and a run imported again holds its own twice: these visits "
        "count once, in the oldest run, above and in the downloads."
    )
    return html.Div(text, className="panel-hint", id="across-inherited")


def _visits(each: PromptInRun) -> Any:
    if not each.num_inherited_visits:
        return f"{each.num_visits:,}"
    inherited = (
        "all inherited"
        if each.num_inherited_visits == each.num_visits
        else (f"{each.num_inherited_visits:,} inherited")
    )
    return html.Div([f"{each.num_visits:,}", html.Div(inherited, className="queue-detail nowrap")])


def _run(each: PromptInRun, prompt_id: str) -> html.Tr:
    size = each.group_size
    suspected = dmc.Badge("suspected", color="yellow", variant="light", size="sm") if each.is_suspected else None
    return row(
        html.Div(
            [
                Link(
                    each.run_name,
                    href=f"/runs/{each.run_id}/prompts/{quote(prompt_id, safe='')}",
                    className="sample-link wrap-anywhere",
                ),
                suspected,
            ]
        ),
        html.Div([method_name(each.method), html.Div(each.model, className="queue-detail wrap-anywhere")]),
        status_badge(each.status),
        cell(_visits(each), "number"),
        accuracy_cell(each.accuracy),
        cell(f"{each.first_correct}/{size} → {each.last_correct}/{size}", "number nowrap"),
        cell(f"{each.last_step:,}", "number"),
        cell(moment(each.created_at), "nowrap"),
    )


PAGES = (Page("/prompts/(?P<prompt_id>.+)", layout, section="prompts-over-all-runs", query_makes_page=True),)


def register(app: Dash, api: Api) -> None:
    """Draw the chart in the colours of the scheme, and load the answers."""
    open_when_pressed(app, "across-one-mark", "mark-dialog")

    clientside(
        app,
        "prompt",
        "across",
        Output("across-sink", "data"),
        Input("across-mounted", "data"),
        Input("across-whole-text", "data"),
    )

    @app.callback(
        Output("across-chart", "figure"),
        Input("scheme", "data"),
        State("across-mounted", "data"),
        on_error=unchanged,
    )
    async def draw(scheme: str | None, mounted: Mapping[str, str]) -> Any:
        palette = palette_of(scheme)
        curves = await api.client().prompt_curves(mounted["prompt"], mounted["project"])
        return themed(across_runs_figure(across_runs_data(curves), palette), palette)

    @app.callback(
        Output("across-answers", "children"), Input("across-mounted", "data"), on_error=in_place("across-answers")
    )
    async def load(mounted: Mapping[str, str]) -> Any:
        return answers_view(await api.client().prompt_answers(mounted["prompt"], mounted["project"]))
