"""Types of findings, and figures as text, without NumPy: the API serves them and the command line prints them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from bapo.analysis.number_format import THIN_SPACE, percent
from bapo.analysis.result import Bounded, Result

FindingKind = Literal[
    "probed_readiness",
    "probed_difficulty",
    "probed_group_size",
    "probed_thresholds",
    "probed_cost",
    "no_gradient",
    "never_solved",
    "always_solved",
    "moved_by_chance",
    "verifier_disagrees",
    "label_suspected",
    "answer_format",
    "reward_follows_length",
    "responses_cut",
    "entropy_collapse",
    "diversity_falls",
    "off_policy_drift",
    "reference_drift",
    "reward_fell",
    "learning_stopped",
    "held_out_falls",
    "duplicate_prompts",
    "near_duplicates",
    "contamination",
]
LABELS: Mapping[FindingKind, str] = {
    "probed_readiness": "Warm start",
    "probed_difficulty": "Difficulty for the base model",
    "probed_group_size": "Group size",
    "probed_thresholds": "Thresholds and buffers",
    "probed_cost": "Time and memory",
    "no_gradient": "Groups without a gradient",
    "never_solved": "Prompts never solved",
    "always_solved": "Prompts always solved",
    "moved_by_chance": "Prompts that only chance moves",
    "verifier_disagrees": "Verifier disagrees with itself",
    "label_suspected": "Wrong labels suspected",
    "answer_format": "Right answers judged wrong by format",
    "reward_follows_length": "Reward follows length",
    "responses_cut": "Responses cut at the limit",
    "entropy_collapse": "Entropy collapse",
    "diversity_falls": "Similar wrong responses",
    "off_policy_drift": "Off-policy drift",
    "reference_drift": "Drift from the reference policy",
    "reward_fell": "Reward fell",
    "learning_stopped": "Learning stopped",
    "held_out_falls": "Held-out accuracy falls",
    "duplicate_prompts": "Duplicate prompts",
    "near_duplicates": "Nearly the same prompts",
    "contamination": "Training prompts in a held-out set",
}
"""Every kind, in the order in which they are shown."""

PLANNED = "Planned run, at most about"
"""Label of the seconds that a probe expects of the run that it is made for."""

Severity = Literal["problem", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("problem", "warning", "note")
"""Severities, most severe first."""
Unit = Literal["share", "count", "seconds", "number", "nats"]


class Evidence(Bounded):
    """One figure that a finding rests on."""

    label: str
    low: float | None = None
    """Lower end of the 95 % interval; null if the figure is counted, not estimated."""
    high: float | None = None
    unit: Unit = "count"


class Remedy(Result):
    """Something to do about a finding."""

    text: str
    changes: Mapping[str, Any] = {}
    """Dotted config fields and their values, for a clone of the run; empty: nothing that a clone can change."""
    leaves_out_prompts: bool = False
    """True if a clone without the finding's prompts is meant (`task.exclude_prompts`)."""
    snippet: str = ""
    """Python for the trainer of an observed run, which cannot be cloned here."""


class Finding(Result):
    """Something that is wrong with a run's data, or worth knowing."""

    kind: FindingKind
    severity: Severity
    title: str
    """One sentence with its numbers."""
    explanation: str
    """Why it matters, and what the figures rest on."""
    evidence: Sequence[Evidence]
    """The first is the figure of the title."""
    null: str | None = None
    """Values of the figures if nothing were wrong; null if the interval is sufficient."""
    num_rollouts: int
    """Responses that the finding rests on."""
    remedies: Sequence[Remedy]
    num_prompts: int = 0
    """Length of the list of prompts that comes with the finding."""


class Check(Result):
    """Outcome of the check for one kind of finding."""

    kind: FindingKind
    label: str
    outcome: Literal["found", "nothing", "too_little"]
    reason: str | None = None
    """Missing data, for `too_little`."""


class FindingsReport(Result):
    """All findings of a run, most severe first, and the checks that were made."""

    step: int
    """Last step that they take in."""
    findings: Sequence[Finding]
    checks: Sequence[Check]
    """Every kind that means something for the run, once."""


class ProbeFigures(Result):
    """Main figures of a probe."""

    num_groups: int
    """Groups of responses that it rests on."""
    group_size: int
    """Responses of each group."""
    accuracy: Evidence
    """Share of responses that are right: what a run begins with."""
    dead: Evidence
    """Share of groups that are all wrong or all right, and give no gradient."""
    truncated: float | None = None
    """Share of responses cut at the limit."""
    suggested_group_size: int | None = None
    seconds: float | None = None
    """Estimated duration of the planned run on the probe's machine, in seconds, at most about; null if its length is
    unknown.
    """
    tokens_per_second: float | None = None


class ListedPrompt(Result):
    """A prompt that a finding names."""

    prompt_id: str
    num_visits: int
    num_rollouts: int
    num_correct: int
    detail: str = ""
    """Detail that distinguishes this prompt from others of the list, such as the answer that responses agree on."""


class PromptList(Result):
    """The prompts that a finding names."""

    kind: FindingKind
    items: Sequence[ListedPrompt]


class TooLittle(NamedTuple):
    """A run has recorded too little for a check."""

    reason: str


class Found(NamedTuple):
    """A finding, and the prompts that it names."""

    finding: Finding
    prompts: Sequence[ListedPrompt] = ()


Outcome = Found | TooLittle | None
"""Outcome of a check; None if it found nothing wrong."""


def figure_text(figure: Evidence, value: float, duration: Callable[[float], str], *, space: str = THIN_SPACE) -> str:
    """Format a value in this figure's unit; `duration` words seconds, `space` goes before a percent sign."""
    match figure.unit:
        case "share":
            return percent(value, space=space)
        case "seconds":
            return duration(value)
        case "nats":
            return f"{value:.3f} nats"
        case "count":
            return f"{value:,.0f}"
        case _:
            return f"{value:.2f}"
