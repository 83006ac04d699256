"""Boards: charts, texts and figures of a project that follow its runs, and links that show them to others."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StringConstraints

from bapo.api.base import Body, JsonObject, Name, Page, Text
from bapo.api.compare import ComparedCurve
from bapo.api.runs import RunFilters
from bapo.config import patterns

MOST_PANELS = 60
MOST_RUNS = 50
"""Runs that a chart shows at most, the newest."""
MOST_POINTS = 1_000
"""Points of a curve at most; beyond, a sample that keeps the extremes."""
MOST_SMOOTHED = 999
MOST_LINK_DAYS = 365
Template = Literal["as-the-paper"]
AS_THE_PAPER: Template = "as-the-paper"
"""The paper's figures of the board's runs."""

PanelId = Annotated[str, StringConstraints(pattern=patterns.PANEL_ID)]
Width = Literal["half", "full"]
Grouping = Annotated[Text, StringConstraints(min_length=1, max_length=500)]
ViewId = Annotated[Text, StringConstraints(min_length=1, max_length=100)]


class _OfRuns(Body):
    """Panel about some of the board's runs."""

    id: PanelId = Field(examples=["reward"])
    """Unique on the board; links to a panel name it."""
    filters: RunFilters = RunFilters()
    """Runs of the panel, within those of the board; as in the run list, without stars, projects and the trash."""
    view: ViewId | None = None
    """ID of a saved view whose filters hold too, as they are then."""

    def model_post_init(self, _: Any) -> None:
        # Clients send what was set; a panel without its kind is none.
        self.model_fields_set.add("kind")


class ChartPanel(_OfRuns):
    """One metric over steps, rollouts, time, or another metric."""

    kind: Literal["chart"] = "chart"
    title: Text = Field(default="", max_length=200)
    """Empty: named after the metric."""
    y: Text = Field(min_length=1, max_length=300, examples=["critic/rewards/mean"])
    """Name of the metric, as the run's charts have it."""
    x: Text = Field(default="step", pattern=patterns.CHART_X, max_length=307, examples=["rollouts"])
    """`step`, `rollouts`, `time`, or `metric.KEY`: over a metric a group is the mean of its runs by stretches of that
    metric, and a run alone goes its way step by step."""
    group: Grouping = "config"
    """`config` (all but the seed), `run` (each alone), `method`, `tags`, `group`, or a config field, as `method.c1`."""
    smooth: int = Field(default=1, ge=1, le=MOST_SMOOTHED)
    """Each value becomes the mean of the last so many recorded ones; 1: as recorded."""
    log_x: StrictBool = False
    log_y: StrictBool = False
    width: Width = "half"


class TextPanel(_OfRuns):
    """Markdown with numbers that follow the runs: `{{last metric.KEY of method = bapo}}`."""

    kind: Literal["text"] = "text"
    text: Text = Field(max_length=20_000, examples=["Reward now: {{last metric.critic/rewards/mean of method = bapo}}"])
    """`{{FIGURE COLUMN of CONDITION; CONDITION as percent}}`: FIGURE is `last`, `max`, `min`, `mean` or `count`, COLUMN
    a column of the run list, a CONDITION as in its `where`. Shown as the mean over the runs ± its 95 % interval."""
    width: Width = "full"


class PaperPanel(_OfRuns):
    """Figures and tables of arXiv:2602.20722, of the board's runs."""

    kind: Literal["paper"] = "paper"
    figures: Annotated[Sequence[Annotated[Text, StringConstraints(max_length=60)]], Field(max_length=40)] = ()
    """Names such as `figure-4`; empty: all that the runs allow."""
    group: Grouping = "config"
    """Grouping of runs, as in a chart."""


Panel = Annotated[ChartPanel | TextPanel | PaperPanel, Field(discriminator="kind")]


class BoardWrite(Body):
    """A board as it is saved."""

    name: Name = Field(min_length=1, max_length=200, examples=["Does BAPO help?"])
    filters: RunFilters = RunFilters()
    """Runs of the whole board; panels narrow them."""
    panels: Sequence[Panel] = Field(default=(), max_length=MOST_PANELS)


class BoardCreate(BoardWrite):
    """A new board."""

    project: Text | None = Field(default=None, max_length=200)
    """Project whose runs it shows; empty: the caller's only or first one."""
    template: Template | None = None
    """Begins the board with these panels, before those given: `as-the-paper`, the paper's figures of its runs."""


class BoardChange(BoardWrite):
    """A board in the place of another version of it."""

    version: int = Field(ge=1, le=2**31 - 1)
    """Version that was edited: another one is rejected, so that no change is lost."""


class BoardSummary(Body):
    """A row of the list of boards."""

    id: str
    name: str
    project: str
    num_panels: int
    version: int
    """Grows with every change."""
    author: str
    created_at: datetime
    updated_by: str
    updated_at: datetime
    num_links: int
    """Read-only links that open the board now."""
    may_change: bool
    """True if the caller may change, share and delete it."""


class BoardInfo(BoardSummary):
    """A board."""

    filters: RunFilters
    panels: Sequence[Panel]


class BoardPage(Page):
    """Boards by name."""

    items: Sequence[BoardSummary]


# ---------------------------------------------------------------- what panels show


class ChartData(Body):
    """Curves of a chart."""

    curves: Sequence[ComparedCurve]
    note: str = ""
    """Sentence on runs left out because they were evaluated on another held-out set of that name."""
    num_shown: int
    """Runs that the curves are of."""
    num_matching: int
    """Runs that match; more than `num_shown` where there are more than fit, and then the newest are shown."""


class TextData(Body):
    """A text with its numbers put in."""

    text: str
    """Markdown."""
    problems: Sequence[str] = ()
    """Each number that cannot be shown, with the reason and the remedy."""


class PaperTableColumn(Body):
    """Heading of a column."""

    title: str
    group: str
    align: Literal["left", "right"]


class PaperTableCell(Body):
    """Text of a cell, and its small print."""

    text: str
    note: str
    is_best: bool
    is_second: bool
    """Second to the best."""
    is_quoted: bool
    """True if the value is quoted from the paper."""


class PaperTable(Body):
    """A table as text."""

    columns: Sequence[PaperTableColumn]
    rows: Sequence[Sequence[PaperTableCell]]


class PaperSection(Body):
    """A figure or table of the paper, made from the runs, or what they lack for it."""

    name: str
    number: str
    title: str
    caption: str
    paper: str
    """Summary of the paper's result."""
    shows: str
    needs: str
    figures: Sequence[JsonObject]
    """Plotly figures in the colours asked for."""
    table: PaperTable | None


class PaperData(Body):
    """Sections in the paper's order."""

    sections: Sequence[PaperSection]
    num_shown: int
    num_matching: int


class PanelData(Body):
    """Current content of a panel: the part of its kind, or the reason for its absence."""

    id: str
    chart: ChartData | None = None
    text: TextData | None = None
    paper: PaperData | None = None
    problem: str | None = None
    """Reason for missing content, such as a deleted saved view."""


# ---------------------------------------------------------------- links


class BoardLinkCreate(Body):
    """A read-only link."""

    expires_in_days: int = Field(default=30, ge=1, le=MOST_LINK_DAYS)


class BoardLinkInfo(Body):
    """A read-only link, without its secret."""

    id: str
    prefix: str
    """First characters of the secret, to tell links apart."""
    author: str
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    revoked_by: str | None
    last_opened_at: datetime | None
    """To the minute."""


class NewBoardLink(BoardLinkInfo):
    """A new link. Its secret is shown only now."""

    secret: str
    address: str
    """The page that it opens, for everybody who has it."""


class BoardLinkPage(Page):
    """Links of a board, newest first."""

    items: Sequence[BoardLinkInfo]


class SharedBoard(Body):
    """A board behind a read-only link: its panels without their filters and texts, which only members see."""

    name: str
    expires_at: datetime
    updated_at: datetime
    panels: Sequence[Panel]
