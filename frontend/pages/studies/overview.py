"""All studies, newest first."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.analysis.number_format import counted
from bapo.api.studies import StudySummary
from frontend.components.card import page_heading
from frontend.components.elements import Link
from frontend.components.icon import icon
from frontend.components.notices import link_button, notice
from frontend.components.page import Page
from frontend.components.table import cell, row, table_card
from frontend.components.text import moment
from frontend.pages.studies.results import run_counts, share_text
from frontend.request.session import Api

HEADS = ("Study", "Compares", "Runs", "Steps", "Owner", "Created")


async def layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """Return the list; while it is empty, an explanation."""
    found = await api.client().studies(limit=200)
    now = datetime.now(UTC)
    button = link_button("New study", "/studies/new", leftSection=icon("plus", 16), size="sm")
    if not found.items:
        content: Any = notice(
            "No study yet",
            "A study is several runs that are read as one. A study file declares methods, seeds and the deciding "
            "comparison before the first run, and ends in a report. For a grid of runs over any fields, turn on "
            "“Several runs” in the form of a new run.",
            icon_name="study",
            action=dmc.Group(
                [
                    link_button("New study", "/studies/new", leftSection=icon("plus", 16)),
                    link_button("New run", "/new", leftSection=icon("plus", 16), variant="default", color="gray"),
                ],
                justify="center",
            ),
        )
    else:
        rows = [_row(study, now) for study in found.items]
        content = table_card(HEADS, rows, "study-list row-hover", least_width=720)
    return html.Div([page_heading("Studies", None, button if found.items else None), content])


def _row(study: StudySummary, now: datetime) -> html.Tr:
    question = [html.P(study.question, className="study-question")] if study.question else []
    return row(
        [Link(study.title, href=f"/studies/{study.id}", className="study-link"), *question],
        _compared(study),
        run_counts(study),
        cell(share_text(study), "number"),
        study.owner,
        moment(study.created_at, now=now),
    )


def _compared(study: StudySummary) -> Any:
    if study.question is None:
        begun = f"{counted(len(study.checkpoints), 'checkpoint')}: " if study.checkpoints else ""
        fields = begun + ", ".join(study.fields)
        return html.Code(fields, className="study-run", title=fields)
    regimes = f" × {study.num_regimes} regimes" if study.num_regimes > 1 else ""
    return f"{counted(study.num_arms, 'arm')} × {counted(study.num_seeds, 'seed')}{regimes}"


PAGES = (Page("/studies", layout, section="studies"),)
