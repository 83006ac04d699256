"""Alert rules: what is watched in which runs; and the alerts that they opened."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from bapo.api.base import Body, Page, Text

Steps = Annotated[int, Field(ge=1, le=1_000)]
Figure = Annotated[float, Field(ge=-1e300, le=1e300, allow_inf_nan=False)]


class _Condition(Body):
    def model_post_init(self, _: Any) -> None:
        # Clients send what was set; a condition without its kind is none.
        self.model_fields_set.add("kind")


class FinishedCondition(_Condition):
    """A run has done all its steps."""

    kind: Literal["finished"] = "finished"


class FailedCondition(_Condition):
    """A run has failed."""

    kind: Literal["failed"] = "failed"


class LostCondition(_Condition):
    """A run's worker, or its trainer, is gone; resolved when the run goes on."""

    kind: Literal["lost"] = "lost"


class StalledCondition(_Condition):
    """A worker holds the run and nothing was recorded for a while."""

    kind: Literal["stalled"] = "stalled"
    minutes: float = Field(default=30.0, gt=0, le=10_080, allow_inf_nan=False)
    """Minutes in which a server was watching; those in which none ran do not count."""


class EntropyCondition(_Condition):
    """The policy's entropy collapses: it is low, or it fell much in few steps.

    The level is the median of five steps, so that one step means nothing. Give one of the two limits or both.
    """

    kind: Literal["entropy_collapse"] = "entropy_collapse"
    below: Annotated[float, Field(gt=0, le=1_000, allow_inf_nan=False)] | None = 0.05
    """Nats per token. Empty: any level."""
    fall_percent: Annotated[float, Field(gt=0, lt=100, allow_inf_nan=False)] | None = 50.0
    """The level is by more than this lower than `within_steps` steps before. Empty: any fall."""
    within_steps: Steps = 20

    @model_validator(mode="after")
    def _some_limit(self) -> Self:
        if self.below is None and self.fall_percent is None:
            raise ValueError("give `below`, `fall_percent` or both: without a limit nothing is watched")
        return self


class EmptyBatchesCondition(_Condition):
    """Nothing was trained on, several steps in a row."""

    kind: Literal["empty_batches"] = "empty_batches"
    steps: Steps = 3


class FillRateCondition(_Condition):
    """Batches are far from full, several steps in a row."""

    kind: Literal["fill_rate"] = "fill_rate"
    below: float = Field(default=0.5, gt=0, le=1, allow_inf_nan=False)
    """Share of the batch size B."""
    steps: Steps = 10


class RatioCondition(_Condition):
    """The mean importance ratio leaves its range, several steps in a row."""

    kind: Literal["ratio"] = "ratio"
    low: float = Field(default=0.5, ge=0, le=1, allow_inf_nan=False)
    high: float = Field(default=2.0, ge=1, le=1e9, allow_inf_nan=False)
    steps: Steps = 3


class MetricCondition(_Condition):
    """Any metric, compared with a number."""

    kind: Literal["metric"] = "metric"
    key: Text = Field(min_length=1, max_length=200, examples=["actor/grad_norm"])
    comparison: Literal["<", "<=", ">", ">="]
    threshold: Figure
    steps: Steps = 1
    """Values of the metric in a row; steps that have none are passed over."""
    smoothing: str | None = Field(default=None, pattern=r"^(mean|ema):[1-9]\d{0,2}$", examples=["mean:10"])
    """Compare a mean of so many values: `mean:10` of the last ten, `ema:20` with weights that fade."""


AlertCondition = Annotated[
    FinishedCondition
    | FailedCondition
    | LostCondition
    | StalledCondition
    | EntropyCondition
    | EmptyBatchesCondition
    | FillRateCondition
    | RatioCondition
    | MetricCondition,
    Field(discriminator="kind"),
]
AlertKind = Literal[
    "finished", "failed", "lost", "stalled", "entropy_collapse", "empty_batches", "fill_rate", "ratio", "metric"
]


class RuleScope(Body):
    """The runs that a rule watches: those that are all of it. Empty: every run of the project."""

    tag: Text | None = Field(default=None, min_length=1, max_length=100)
    method: Text | None = Field(default=None, min_length=1, max_length=100)
    run_id: Text | None = Field(default=None, min_length=1, max_length=100)


class RuleDraft(Body):
    """What a rule watches, and where."""

    condition: AlertCondition
    scope: RuleScope = RuleScope()
    project: Text | None = Field(default=None, max_length=200)
    """Name of the project whose runs it watches; empty: the one that the caller submits to."""


class RuleWrite(RuleDraft):
    """A rule under a name."""

    name: Text = Field(min_length=1, max_length=200, examples=["Entropy collapses"])
    enabled: bool = True


class RuleInfo(RuleWrite):
    """A rule of the project: its author and the project's administrators change it."""

    id: str
    sentence: str
    """The rule in plain words."""
    owner: str
    may_change: bool
    created_at: datetime
    updated_at: datetime
    num_open: int
    """Open alerts of the rule."""
    last_opened_at: datetime | None


class RulePage(Page):
    """All rules by name."""

    items: Sequence[RuleInfo]


class PreviewFiring(Body):
    """Once that a rule would have opened an alert."""

    step: int
    value: float | None
    resolved_step: int | None
    """None where it would still be open."""


class PreviewRun(Body):
    """What a rule would have said of one run."""

    run_id: str
    name: str
    step: int
    """Steps that it completed."""
    num_values: int
    """Values that the rule saw; 0 where the run never recorded the metric."""
    firings: Sequence[PreviewFiring]


class RulePreview(Body):
    """A rule, replayed over what the newest runs recorded."""

    sentence: str
    num_runs: int
    num_firings: int
    runs: Sequence[PreviewRun]
    """The newest first."""


class AlertInfo(Body):
    """Something that a rule found in a run."""

    id: int
    rule_id: str | None
    """None where the rule was deleted."""
    rule: str
    """The rule's name when it found it."""
    kind: AlertKind
    run_id: str
    run: str
    step: int
    value: float | None
    message: str
    """What happened."""
    advice: str
    """What to do."""
    link: str
    """Where the dashboard shows more."""
    opened_at: datetime
    resolved_at: datetime | None
    resolved_step: int | None
    resolution: str | None
    """Why it is over."""
    acknowledged_at: datetime | None
    acknowledged_by: str | None


class AlertPage(Page):
    """Alerts, the newest first."""

    items: Sequence[AlertInfo]


class AlertSummary(Body):
    """What a glance needs."""

    num_open: int
    """Neither resolved nor acknowledged."""
    num_runs: int
    """Runs that have such."""
    newest: Sequence[AlertInfo]
    """Up to five of them."""
    num_disabled_webhooks: int
    """Own webhooks that were given up for their failures."""


class AlertsAcknowledge(Body):
    """Alerts that somebody has seen."""

    ids: Sequence[Annotated[int, Field(ge=1, lt=2**63)]] = Field(min_length=1, max_length=500)


class AlertsAcknowledged(Body):
    """What became of it."""

    num_acknowledged: int
    """Alerts that nobody had acknowledged before."""
