"""The story of a group of runs, above the list: the question, the outcome, the terms, and where to look next.

The browser decides which group is at hand, asks once the first rows are drawn, and asks again while runs of the group
train (assets/runs_story.js).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from dash import Dash, Input, Output, html

from bapo.analysis.comparable import left_out_text
from bapo.analysis.comparison import shown_name
from bapo.analysis.number_format import counted
from bapo.api.compare import Comparison
from bapo.api.runs import TERMINAL_STATUSES, RunDetail, RunSummary
from bapo.client import AsyncClient
from bapo.config.method import has_trait
from bapo.config.recipes import shipped_recipes
from frontend.components.actions import in_place
from frontend.components.elements import Link, attributes
from frontend.components.icon import icon
from frontend.components.markdown import markdown
from frontend.components.markup import lean
from frontend.components.notices import link_button
from frontend.components.runs import runs_of_group
from frontend.components.text import first_line
from frontend.delivery.documents import address
from frontend.request.session import Api

_TASK_NAMES = {"countdown": "Countdown"}
"""Names of tasks that differ from their type."""
_INTERVALS = "In brackets the 95 % interval: of a single run over the held-out problems, of several over the seeds."


class Term(NamedTuple):
    """A word that a newcomer meets here for the first time."""

    name: Any
    meaning: str
    document: str


def box() -> html.Section:
    """Return the place of the story, hidden until the browser knows which group is at hand."""
    return html.Section(
        id="runs-story", className="runs-story", hidden=True, **attributes(aria_label="About these runs")
    )


def show_button() -> html.Button:
    """Return the button that brings back a hidden story."""
    return html.Button(
        "What are these runs?", id="runs-story-show", type="button", className="runs-story-show", hidden=True
    )


async def story(client: AsyncClient, group: str) -> list[Any]:
    """Return the story of a group's comparable runs, with the others and why they are left out; empty without runs."""
    runs = await runs_of_group(client, group)
    if not runs:
        return []
    found, left_out = await _comparison(client, [each.id for each in runs])
    compared = [each for each in runs if each.id in {info.id for info in found.runs}]
    run = await client.run(_telling(compared).id)
    is_moving = any(each.status not in TERMINAL_STATUSES for each in runs)
    compare = link_button(
        "Compare",
        f"/compare?run_group={quote(group, safe='')}",
        size="xs",
        leftSection=icon("compare", 14),
    )
    hide = html.Button(
        icon("cross", 12),
        type="button",
        className="icon-button",
        title="Hide this",
        **attributes(aria_label="Hide what these runs are about", data_story="hide"),
    )
    return [
        html.Div(
            [
                html.H2(group, className="section-title"),
                html.Div([*([compare] if len(runs) > 1 else []), hide], className="runs-story-actions"),
            ],
            className="runs-story-head",
            **attributes(data_moving="true" if is_moving else "false"),
        ),
        html.Div([*_asked(compared), html.Span(_design(found, run, len(compared)))], className="runs-story-asked"),
        html.P(
            [
                html.Span("", className="status-dot moving") if is_moving else None,
                " ".join(part for part in (found.outcome_text, left_out) if part),
            ],
            className="runs-story-outcome",
        ),
        html.P(_INTERVALS, className="runs-story-note"),
        html.Dl([_term(each) for each in _terms(found, run, compared)], className="runs-story-terms"),
        html.Div([html.Span("Where to look next:"), *_next(run), _tour()], className="runs-story-next"),
    ]


async def _comparison(client: AsyncClient, run_ids: Sequence[str]) -> tuple[Comparison, str]:
    """Return the comparison of those runs that can be compared, and the sentence on the others."""
    whole = await client.compare(run_ids, equal=True)
    left_out = () if whole.outcome is None else whole.outcome.left_out
    if not left_out:
        return whole, ""
    missing = {each.run_id for each in left_out}
    # Without them no label says what sets the others apart from them.
    found = await client.compare([each for each in run_ids if each not in missing], equal=True)
    return found, left_out_text(left_out)


def _telling(runs: Sequence[RunSummary]) -> RunSummary:
    """Return the run that shows most: one whose batches are mixed from several sources, else the first."""
    return next((run for run in runs if _is_mixed(run.method)), runs[0])


def _is_mixed(method: str) -> bool:
    return has_trait(method, "reevaluates") or has_trait(method, "reuses_groups")


def _asked(runs: Sequence[RunSummary]) -> list[Any]:
    """Return the first line of the runs' notes, where they share it, else what their recipe is for."""
    notes = {first_line(run.notes_start) for run in runs}
    recipes = {run.recipe for run in runs}
    if len(notes) == 1 and (note := notes.pop()):
        return [markdown(note)]
    described = {recipe.name: recipe.description for recipe in shipped_recipes()}
    text = described.get(recipes.pop() or "") if len(recipes) == 1 else None
    return [html.P(" ".join(text.split()))] if text else []


def _design(found: Comparison, run: RunDetail, num_runs: int) -> str:
    """Return methods, seeds, task and length: "GRPO and BAPO, one seed each, on Countdown: 2 runs of 150 steps."."""
    names = list(dict.fromkeys(shown_name(group.label) for group in found.groups))
    sides = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    seeds = {each.seed for each in found.runs if each.seed is not None}
    task = _task(run)
    parts = [
        " and ".join(names) if len(names) == 2 else sides,
        *([("the same seed" if len(seeds) == 1 else counted(len(seeds), "seed"))] if seeds else []),
        *([f"on {task}"] if task else []),
    ]
    lengths = {each.num_steps for each in found.runs}
    steps = f" of {counted(lengths.pop(), 'step')}" if len(lengths) == 1 and 0 not in lengths else ""
    return f"{', '.join(parts)}: {counted(num_runs, 'run')}{steps}."


def _task(run: RunDetail) -> str:
    name = str(run.config.get("task", {}).get("type", ""))
    return _TASK_NAMES.get(name, "")


def _terms(found: Comparison, run: RunDetail, runs: Sequence[RunSummary]) -> list[Term]:
    terms = []
    if _task(run) == "Countdown":
        meaning = "Reach a target with three or four given numbers, each used once, and + − × ÷."
        terms.append(Term("Countdown", meaning, "docs/countdown.md"))
    if found.dataset is not None:
        terms.append(Term(found.dataset, _held_out(found, found.dataset), "docs/concepts.md#terms"))
    size = run.config.get("rollout", {}).get("group_size")
    if size is not None:
        meaning = f"Responses to each prompt, the group size: a prompt has 0/{size} to {size}/{size} right."
        terms.append(Term(f"G = {size}", meaning, "docs/concepts.md#one-training-step"))
    if any(_is_mixed(each.method) for each in runs):
        sources = [
            part
            for name, source in (("X1", "fresh"), ("X2", "reevaluated"), ("X3", "reused"))
            for part in (html.Span(className=f"runs-story-source source-{source}"), name, " ")
        ]
        meaning = "Where a batch comes from: fresh groups, difficult prompts answered again, groups used again."
        terms.append(Term(sources, meaning, "docs/methods.md#bapo"))
    return terms


def _held_out(found: Comparison, dataset: str) -> str:
    results = [result for run in found.runs for result in run.results if result.dataset == dataset]
    is_wide = dataset == "CD-34" or any(result.recorded_as == "CD-34" for result in results)
    kind = " of three or four numbers" if is_wide else ""
    if not results or not results[0].final.n:
        return f"Held-out problems{kind}: no run trains on them."
    number, samples = results[0].final.n, results[0].num_samples
    what = f"{number:,} held-out problems{kind}, which no run trains on"
    return f"{what}; accuracy is the mean over {counted(samples, 'response')} each."


def _term(term: Term) -> html.Div:
    link = html.A("More", href=address(term.document), className="fact-link", **attributes(aria_label=_more(term)))
    return html.Div([html.Dt(term.name), html.Dd([term.meaning, " ", link])])


def _more(term: Term) -> str:
    return f"More about {term.name if isinstance(term.name, str) else 'X1, X2 and X3'}"


def _next(run: RunDetail) -> list[Any]:
    """Return links to the tabs that show a run of ours best; of another method's, to its page."""
    if _is_mixed(run.method):
        return [
            _place(run, "batch", "Batch", "where each batch came from"),
            _place(run, "difficulty", "Difficulty", "how prompts move between wrong and right"),
        ]
    return [_place(run, "overview", "Overview", "whether it learns")]


def _tour() -> html.Button:
    return html.Button("Take the tour", type="button", className="tour-link", **attributes(data_tour=""))


def _place(run: RunDetail, tab: str, label: str, what: str) -> html.Span:
    link = Link(f"{label} of “{run.name}”", href=f"/runs/{run.id}?tab={tab}", className="fact-link")
    return html.Span([link, f": {what}"])


def register(app: Dash, api: Api) -> None:
    """Register the callback that fills the story."""

    @app.callback(
        Output("runs-story", "children"),
        Input("runs-story-asked", "data"),
        prevent_initial_call=True,
        on_error=in_place("runs-story"),
    )
    async def tell(asked: dict[str, Any] | None) -> Any:
        return lean(await story(api.client(), asked["group"])) if asked else None
