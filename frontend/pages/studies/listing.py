"""All studies, newest first."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from bapo.api.studies import StudySummary
from frontend.components.icon import icon
from frontend.components.moment import moment
from frontend.components.notices import link_button, notice
from frontend.session import Api

HEADS = ("Study", "Arms × seeds", "Runs", "Steps", "Owner", "Made")


async def list_layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """The list, or what a study is."""
    found = await api.client().studies(limit=200)
    now = datetime.now(UTC)
    button = link_button("New study", "/studies/new", leftSection=icon("plus", 16), size="sm")
    if not found.items:
        content: Any = notice(
            "No study yet",
            "A study compares methods or settings over several seeds. What is compared, and which figure decides, is "
            "written down before the first run; its report names everything that was run and that was not.",
            icon_name="study",
            action=link_button("New study", "/studies/new", leftSection=icon("plus", 16)),
        )
    else:
        content = html.Div(
            dmc.TableScrollContainer(
                dmc.Table(
                    [
                        dmc.TableThead(dmc.TableTr([dmc.TableTh(title) for title in HEADS])),
                        dmc.TableTbody([_row(study, now) for study in found.items]),
                    ],
                    highlightOnHover=True,
                    className="study-list",
                ),
                minWidth=720,
            ),
            className="panel-card",
        )
    head = dmc.Group(
        [dmc.Title("Studies", order=2), *([button] if found.items else [])], justify="space-between", mb="md"
    )
    return html.Div([head, content])


def _row(study: StudySummary, now: datetime) -> dmc.TableTr:
    share = 100 * study.steps_done / study.steps_planned if study.steps_planned else 0.0
    states = ", ".join(f"{number:,} {state}" for state, number in study.states.items())
    regimes = f" × {study.num_regimes} regimes" if study.num_regimes > 1 else ""
    return dmc.TableTr(
        [
            dmc.TableTd(
                [
                    dcc.Link(study.title, href=f"/studies/{study.id}", className="study-link"),
                    html.P(study.question, className="study-question"),
                ]
            ),
            dmc.TableTd(f"{study.num_arms} × {study.num_seeds}{regimes}", className="number"),
            dmc.TableTd(states),
            dmc.TableTd(f"{share:.0f}\u202f%", className="number"),
            dmc.TableTd(study.owner),
            dmc.TableTd(moment(study.created_at, now=now)),
        ]
    )
