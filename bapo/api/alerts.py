"""Alert rules and alerts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StrictBool, model_validator

from bapo.analysis.findings.finding import LABELS, FindingKind, Severity
from bapo.api.base import Body, Name, Page, Text
from bapo.config import patterns

Steps = Annotated[int, Field(ge=1, le=1_000)]
Figure = Annotated[float, Field(ge=-1e300, le=1e300, allow_inf_nan=False)]


class _Condition(Body):
    def model_post_init(self, _: Any) -> None:
        # Clients send what was set; a condition without its kind is none.
        self.model_fields_set.add("kind")


class FinishedCondition(_Condition):
    """A run has finished."""

    kind: Literal["finished"] = "finished"


class FailedCondition(_Condition):
    """A run has failed."""

    kind: Literal["failed"] = "failed"


class LostCondition(_Condition):
    """A run's worker or trainer is lost; resolved when the run resumes."""

    kind: Literal["lost"] = "lost"


class StalledCondition(_Condition):
    """A worker holds the run, and nothing has been recorded for a while."""

    kind: Literal["stalled"] = "stalled"
    minutes: float = Field(default=30.0, gt=0, le=10_080, allow_inf_nan=False)
    """Minutes in which a server was running; others do not count."""


class EntropyCondition(_Condition):
    """The policy's entropy collapses: it is low, or has fallen far in few steps.

    The level is the median of five steps, so that one step means nothing. Give one of the two limits or both.
    """

    kind: Literal["entropy_collapse"] = "entropy_collapse"
    below: Annotated[float, Field(gt=0, le=1_000, allow_inf_nan=False)] | None = 0.05
    """Nats per token. Empty: no limit."""
    fall_percent: Annotated[float, Field(gt=0, lt=100, allow_inf_nan=False)] | None = 50.0
    """Fall of the level within `within_steps` steps. Empty: no limit."""
    within_steps: Steps = 20

    @model_validator(mode="after")
    def _some_limit(self) -> Self:
        if self.below is None and self.fall_percent is None:
            raise ValueError("give `below`, `fall_percent` or both: without a limit nothing is watched")
        return self


class EmptyBatchesCondition(_Condition):
    """Nothing was trained on for several steps in a row."""

    kind: Literal["empty_batches"] = "empty_batches"
    steps: Steps = 3


class FillRateCondition(_Condition):
    """Batches are far from full for several steps in a row."""

    kind: Literal["fill_rate"] = "fill_rate"
    below: float = Field(default=0.5, gt=0, le=1, allow_inf_nan=False)
    """Threshold as a share of the batch size B."""
    steps: Steps = 10


class RatioCondition(_Condition):
    """The mean importance ratio is out of range for several steps in a row."""

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
    """Number of consecutive values; steps without a value are skipped."""
    smoothing: str | None = Field(default=None, pattern=patterns.SMOOTHING, examples=["mean:10"])
    """`mean:10` compares the mean of the last ten values, `ema:20` an exponential moving average."""


class FindingCondition(_Condition):
    """Something is wrong with the run's data, or worth knowing: a finding appears that was not there."""

    kind: Literal["finding"] = "finding"
    severity: Severity = "warning"
    """The least: `note`, `warning` or `problem`."""
    findings: Annotated[Sequence[FindingKind], Field(max_length=len(LABELS))] = ()
    """Kinds of findings, such as `never_solved`. Empty: every kind."""


AlertCondition = Annotated[
    FinishedCondition
    | FailedCondition
    | LostCondition
    | StalledCondition
    | EntropyCondition
    | EmptyBatchesCondition
    | FillRateCondition
    | RatioCondition
    | FindingCondition
    | MetricCondition,
    Field(discriminator="kind"),
]
AlertKind = Literal[
    "finished",
    "failed",
    "lost",
    "stalled",
    "entropy_collapse",
    "empty_batches",
    "fill_rate",
    "ratio",
    "finding",
    "metric",
]


class RuleScope(Body):
    """The runs that a rule watches: those that match every field. Empty: every run of the project."""

    tag: Text | None = Field(default=None, min_length=1, max_length=100)
    method: Text | None = Field(default=None, min_length=1, max_length=100)
    run_id: Text | None = Field(default=None, min_length=1, max_length=100)


class RuleDraft(Body):
    """A condition, and the runs to watch."""

    condition: AlertCondition
    scope: RuleScope = RuleScope()
    project: Text | None = Field(default=None, max_length=200)
    """Name of the project to watch; empty: the project that the caller submits to."""


class RuleWrite(RuleDraft):
    """A named rule."""

    name: Name = Field(min_length=1, max_length=200, examples=["Entropy collapses"])
    enabled: StrictBool = True


class RuleInfo(RuleWrite):
    """A rule of a project. Its author and the project's administrators may change it."""

    id: str
    name: str
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
    """One alert that the rule would have opened."""

    step: int
    value: float | None
    resolved_step: int | None
    """Null if it would still be open."""


class PreviewRun(Body):
    """Result of the rule on one run."""

    run_id: str
    name: str
    step: int
    """Completed steps of the run."""
    num_values: int
    """Values that the rule read; 0 if the run never recorded the metric."""
    firings: Sequence[PreviewFiring]


class RulePreview(Body):
    """A rule replayed over the records of the newest runs."""

    sentence: str
    num_runs: int
    num_firings: int
    runs: Sequence[PreviewRun]
    """Newest first."""


class AlertInfo(Body):
    """An alert that a rule opened on a run."""

    id: int
    rule_id: str | None
    """Null if the rule was deleted."""
    rule: str
    """The rule's name at that time."""
    kind: AlertKind
    run_id: str
    run: str
    step: int
    value: float | None
    message: str
    """Description of the event."""
    advice: str
    """Remedy."""
    link: str
    """Page of the dashboard with more."""
    opened_at: datetime
    resolved_at: datetime | None
    resolved_step: int | None
    resolution: str | None
    """Why it was resolved."""
    acknowledged_at: datetime | None
    acknowledged_by: str | None


class AlertPage(Page):
    """Alerts, newest first."""

    items: Sequence[AlertInfo]


class AlertSummary(Body):
    """Counts of open alerts."""

    num_open: int
    """Neither resolved nor acknowledged."""
    num_runs: int
    """Runs with such alerts."""
    newest: Sequence[AlertInfo]
    """Up to five of them."""
    num_disabled_webhooks: int
    """The caller's webhooks that were switched off after failures."""


class AlertsAcknowledge(Body):
    """Alerts to acknowledge."""

    ids: Sequence[Annotated[int, Field(ge=1, lt=2**63)]] = Field(min_length=1, max_length=500)


class AlertsAcknowledged(Body):
    """Result of acknowledging alerts."""

    num_acknowledged: int
    """Alerts that were not acknowledged before."""
