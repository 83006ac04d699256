"""Fills the page of a comparison: the curves, then the tables, the batches and the migration."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from dash import Dash, Input, Output, State, html, no_update

from bapo.analysis.number_format import counted
from bapo.api.compare import Comparison, ParameterImportance
from bapo.api.runs import RunStatus
from bapo.figures import composition_grid
from bapo.figures.theme import palette_of
from frontend.components.actions import FAILURES, clientside, in_place, unchanged
from frontend.components.choices import choices
from frontend.components.importance_cards import register_importance
from frontend.components.markup import lean
from frontend.components.notices import error_notice, error_text
from frontend.pages.compare import tables
from frontend.pages.compare.controls import group_options, run_options
from frontend.pages.compare.panels import (
    card,
    curve_cards,
    downloads,
    legend,
    migration_card,
    shown_names,
    styles,
    usual_metrics,
)
from frontend.pages.compare.requests import PageRequests
from frontend.pages.compare.view import DEFAULT_GROUP, MOST_RUNS, View
from frontend.request.session import Api

UNCHANGING = frozenset({RunStatus.DRAFT, RunStatus.CANCELLED, RunStatus.SUCCEEDED, RunStatus.FAILED})
_CHOICES = (
    Input("compare-runs", "value"),
    Input("compare-group", "value"),
    Input("compare-x", "value"),
    Input("compare-equal", "checked"),
    Input("compare-smooth", "checked"),
)
_VISIT = State("compare-visit", "data")
_STATES = (_VISIT, *(State(each.component_id, each.component_property) for each in _CHOICES))


def _view(runs: Sequence[str] | None, group: str | None, x: Any, equal: bool | None, smooth: bool | None) -> View:
    return View(tuple(runs or ())[:MOST_RUNS], group or DEFAULT_GROUP, x, bool(equal), bool(smooth))


def register(app: Dash, api: Api) -> None:
    """Register the callbacks of the page."""
    _register_curves(app, api)
    _register_tables(app, api)
    _register_composition(app, api)
    _register_migration(app, api)

    @app.callback(
        Output("compare-runs", "data", allow_duplicate=True),
        Input("compare-runs", "searchValue"),
        State("compare-runs", "value"),
        State("compare-runs", "data"),
        prevent_initial_call=True,
        on_error=unchanged,
    )
    async def search(text: str | None, chosen: list[str] | None, options: list[dict[str, str]]) -> Any:
        return await run_options(api.client(), chosen or (), options, text)

    in_browser = partial(clientside, app, "compare", initial=False)
    others = [Input(f"compare-{name}", "value") for name in ("metrics", "dataset", "reach", "reference", "other")]
    in_browser("address", Output("compare-sink", "data"), *_CHOICES, *others)
    in_browser("drawn", Output("compare-columns", "data"), Input("compare-drawn", "data"))

    async def importance(metric: str, runs: Sequence[str] | None) -> ParameterImportance | None:
        chosen = list(runs or ())[:MOST_RUNS]
        return None if len(chosen) < 2 else await api.client().compare_importance(chosen, metric=metric)

    drawn = Input("compare-drawn", "data")
    register_importance(app, "compare", importance, drawn, State("compare-runs", "value"))


def _register_curves(app: Dash, api: Api) -> None:
    @app.callback(
        Output("compare-nothing", "hidden"),
        Output("compare-body", "hidden"),
        Output("compare-legend", "children"),
        Output("compare-curves", "children"),
        Output("compare-downloads", "children"),
        Output("compare-state", "children"),
        Output("compare-metrics", "value"),
        Output("compare-metrics", "data"),
        Output("compare-runs", "data"),
        Output("compare-paper", "href"),
        Output("compare-drawn", "data"),
        *_CHOICES,
        Input("compare-metrics", "value"),
        Input("scheme", "data"),
        Input("compare-poke", "data"),
        State("compare-hidden", "data"),
        State("compare-runs", "data"),
        _VISIT,
    )
    async def draw(
        runs: list[str] | None,
        group: str,
        x: Any,
        equal: bool,
        smooth: bool,
        metrics: list[str] | None,
        scheme: str | None,
        _: Any,
        hidden: list[str] | None,
        options: list[dict[str, str]],
        visit: str,
    ) -> Any:
        view = _view(runs, group, x, equal, smooth)._replace(hidden=frozenset(hidden or ()))
        if not view.runs:
            return (False, True, *[no_update] * 8, {"runs": []})
        requests, palette = PageRequests(api, visit), palette_of(scheme)
        try:
            known = await requests.metric_keys(view)
            keys = metrics or usual_metrics(known)
            curves = await requests.curves(view, keys)
        except FAILURES as error:
            nothing = {"runs": [], "failed": True}
            return (True, False, [], error_notice(error), None, None, *[no_update] * 4, nothing)
        looks = styles([each.label for each in curves.groups], palette)
        names = {run_id: name for each in curves.groups for run_id, name in zip(each.run_ids, each.names, strict=True)}
        # What the browser has searched for meanwhile stays.
        others = [option for option in options if option["value"] not in names]
        return (
            True,
            False,
            lean(legend(curves.groups, looks, view.hidden)),
            lean(curve_cards(curves, keys, view, looks, palette)),
            lean(downloads(view, keys)),
            None,
            keys if keys != metrics else no_update,
            sorted({*known, *keys}),
            choices(names.items()) + others,
            f"/paper?runs={','.join(view.runs)}",
            {"runs": view.runs, "labels": [each.label for each in curves.groups]},
        )


def _register_tables(app: Dash, api: Api) -> None:
    @app.callback(
        Output("compare-outcome", "children"),
        Output("compare-results", "children"),
        Output("compare-reached", "children"),
        Output("compare-paired", "children"),
        Output("compare-config", "children"),
        Output("compare-group", "data"),
        Output("compare-dataset", "data"),
        Output("compare-dataset", "value"),
        Output("compare-reach", "placeholder"),
        Output("compare-reference", "data"),
        Output("compare-reference", "value"),
        Output("compare-other", "data"),
        Output("compare-other", "value"),
        Output("compare-state", "children", allow_duplicate=True),
        Input("compare-drawn", "data"),
        Input("compare-dataset", "value"),
        Input("compare-reach", "value"),
        Input("compare-reference", "value"),
        State("compare-other", "value"),
        *_STATES,
        prevent_initial_call=True,
    )
    async def tell(
        drawn: Any,
        dataset: str | None,
        reach: float | str | None,
        reference: str | None,
        other: str | None,
        visit: str,
        *choices_made: Any,
    ) -> Any:
        view = _view(*choices_made)
        if not drawn or not drawn["runs"]:
            return (None, None, None, None, None, *[no_update] * 9)
        labels = drawn["labels"]
        wanted = view._replace(
            dataset=dataset,
            reach=float(reach) if isinstance(reach, int | float) else None,
            reference=reference if reference in labels else None,
        )
        try:
            found = await PageRequests(api, visit).comparison(wanted)
        except FAILURES as error:
            return (None, error_text(error), None, None, None, *[no_update] * 9)
        others = [label for label in labels if label != found.reference]
        return (
            found.outcome_text,
            lean(tables.results(found)),
            lean(tables.reached(found)),
            lean(tables.paired(found)),
            lean(tables.config_differences(found)),
            group_options(view, [each.field for each in found.differences], found.fields),
            list(found.datasets),
            found.dataset,
            "" if found.reach is None else f"{100 * found.reach:g} %",
            choices(shown_names(labels).items()),
            found.reference,
            choices(shown_names(others).items()),
            other if other in others else next(iter(others), None),
            _activity(found),
        )


def _activity(comparison: Comparison) -> Any:
    active = sum(run.status not in UNCHANGING for run in comparison.runs)
    if not active:
        return None
    text = f"{active} of {len(comparison.runs)} runs are not finished: the page follows them."
    return html.Span(text, id="compare-active", className="compare-active")


def _register_composition(app: Dash, api: Api) -> None:
    @app.callback(
        Output("compare-composition", "children"),
        Input("compare-columns", "data"),
        State("scheme", "data"),
        *_STATES,
        prevent_initial_call=True,
        on_error=in_place("compare-composition"),
    )
    async def compose(columns: Any, scheme: str | None, visit: str, *choices_made: Any) -> Any:
        view, palette = _view(*choices_made), palette_of(scheme)
        if not columns or not columns["labels"]:
            return None
        labels = columns["labels"][: composition_grid.MOST_PANELS]
        curves = await PageRequests(api, visit).composition(view)
        data = composition_grid.composition_grid_data(curves.curves, view.x, shown_names(labels))
        if not data.panels:
            return html.P("No run has finished a step yet.", className="compare-remark")
        figure = composition_grid.composition_grid_figure(
            data, palette, columns=min(columns["columns"], len(data.panels))
        )
        note = (
            f"Groups trained on as a share of B, averaged over {max(len(panel.x) for panel in data.panels)} stretches"
        )
        note += " and over the runs of each group" if any(len(each.run_ids) > 1 for each in curves.groups) else ""
        left_out = len(columns["labels"]) - len(data.panels)
        if left_out > 0:
            note += f"; {counted(left_out, 'more group')} {'is' if left_out == 1 else 'are'} not shown"
        return lean(card("composition", "Batch composition by group", f"{note}.", figure, palette, wide=True))


def _register_migration(app: Dash, api: Api) -> None:
    @app.callback(
        Output("compare-migration", "children"),
        Input("compare-other", "value"),
        Input("compare-reference", "value"),
        Input("compare-columns", "data"),
        State("scheme", "data"),
        *_STATES,
        prevent_initial_call=True,
        on_error=in_place("compare-migration"),
    )
    async def migrate(
        other: str | None, reference: str | None, columns: Any, scheme: str | None, visit: str, *choices_made: Any
    ) -> Any:
        view, palette = _view(*choices_made), palette_of(scheme)
        labels = columns["labels"] if columns else []
        if reference not in labels or other not in labels or reference == other:
            return html.P("Two groups are needed to compare how prompts moved.", className="compare-remark")
        # The members of the groups, which the batches' composition comes with.
        curves = await PageRequests(api, visit).composition(view)
        groups = {each.label: each for each in curves.groups}
        if reference not in groups or other not in groups:
            return no_update
        looks = styles(labels, palette)
        return lean(await migration_card(api.client(), groups[reference], groups[other], looks, palette))
