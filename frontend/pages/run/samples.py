"""The tab with responses, group by group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dash_mantine_components as dmc
import httpx
from dash import Dash, Input, Output, State, html
from pydantic import TypeAdapter

from bapo.client import ApiError
from bapo.records import SampleRecord
from bapo.rollout import BatchSource
from frontend.components.attributes import attributes
from frontend.components.icon import icon
from frontend.components.notices import error_text, notice
from frontend.session import Api

SAMPLES_SHOWN = 12

_SAMPLES = TypeAdapter(list[SampleRecord])

SOURCE_NAMES: dict[BatchSource, tuple[str, str]] = {
    BatchSource.FRESH: ("X1 fresh", "fresh"),
    BatchSource.REEVALUATED: ("X2 re-evaluated", "reevaluated"),
    BatchSource.REUSED: ("X3 reused", "reused"),
}


def samples_panel() -> html.Div:
    """The step to look at, and a place for its groups."""
    return html.Div(
        [
            dmc.NumberInput(
                id="samples-step",
                label="Step",
                description="Empty: the newest",
                min=1,
                allowDecimal=False,
                w=160,
                size="xs",
                debounce=300,
            ),
            html.Div([dmc.Skeleton(height=180, radius="md") for _ in range(4)], id="samples", className="sample-grid"),
        ],
        className="panel-stack",
    )


def sample_cards(samples: Sequence[SampleRecord]) -> list[Any]:
    """Groups with their responses; all of it is shown as text, never as markup."""
    return [_sample_card(sample) for sample in samples]


def _sample_card(sample: SampleRecord) -> html.Div:
    source, colour = SOURCE_NAMES[sample.source]
    staleness = sample.step - 1 - sample.policy_version
    responses = [
        html.Div(
            [
                html.Span(
                    icon("check" if response.reward else "cross", 14),
                    className="response-reward good" if response.reward else "response-reward bad",
                    **attributes(aria_label="correct" if response.reward else "wrong"),
                ),
                html.Code(response.text, className="response-text"),
                html.Span(f"{response.num_tokens} tokens", className="response-tokens"),
            ],
            className="response",
        )
        for response in sample.responses
    ]
    return html.Div(
        [
            html.Div(
                [
                    html.Span(source, className=f"source source-{colour}"),
                    html.Span(f"{sample.num_correct}/{sample.group_size} correct", className="sample-accuracy"),
                    html.Span(f"step {sample.step:,}", className="fact"),
                    html.Span(
                        "current policy" if staleness <= 0 else f"policy {staleness} step{'s' * (staleness != 1)} old",
                        className="fact",
                    ),
                    html.Span("trained on" if sample.in_batch else "not trained on", className="fact"),
                ],
                className="sample-head",
            ),
            html.Code(sample.prompt, className="sample-prompt"),
            html.Div(responses, className="responses"),
        ],
        className="sample-card",
    )


def register(app: Dash, api: Api) -> None:
    """Fills the tab."""

    @app.callback(
        Output("samples", "children"),
        Input("samples-step", "value"),
        Input("run-reload", "data"),
        State("run-id", "data"),
    )
    async def show_samples(step: int | str | None, _: int, run_id: str) -> Any:
        try:
            page = await api.client().samples(run_id, step=int(step) if step else None, limit=SAMPLES_SHOWN)
        except (ApiError, httpx.TransportError) as error:
            return dmc.Alert(error_text(error), color="red", variant="light")
        if not page.items:
            where = f"of step {step}" if step else "yet"
            return notice(f"No responses {where}", "samples.groups_per_step says how many groups a step keeps as text.")
        return sample_cards(_SAMPLES.validate_python(page.items))
