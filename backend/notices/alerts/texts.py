"""Texts of rules and alerts, with advice on what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote

from backend.notices.alerts.watches import LEVEL_STEPS, Finding
from bapo.analysis.findings.finding import LABELS
from bapo.api.alerts import (
    AlertCondition,
    EmptyBatchesCondition,
    EntropyCondition,
    FillRateCondition,
    FindingCondition,
    MetricCondition,
    RatioCondition,
    RuleDraft,
    RuleScope,
    StalledCondition,
)
from bapo.config.method import method_name

MOST_TITLES = 5
"""Findings that one alert tells in words."""
_RELATIONS = {"<": "below", "<=": "at or below", ">": "above", ">=": "at or above"}


class AlertText(NamedTuple):
    """Text of an alert: what happened, what to do, and where the dashboard shows more."""

    message: str
    advice: str
    link: str


def sentence(rule: RuleDraft) -> str:
    """Return the rule in plain words."""
    return f"Alert when {_condition(rule.condition)}, in {_scope(rule.scope)}."


def _scope(scope: RuleScope) -> str:
    if scope.run_id is not None:
        runs = f"run {scope.run_id}"
    elif scope.method is not None:
        runs = f"every {method_name(scope.method)} run"
    else:
        runs = "every run of the project"
    return runs + ("" if scope.tag is None else f" tagged “{scope.tag}”")


_MOVES = {
    "finished": "a run has finished",
    "failed": "a run fails",
    "lost": "a run's worker or trainer is lost",
}


def _condition(condition: AlertCondition) -> str:
    match condition:
        case StalledCondition():
            text = f"nothing is recorded for {duration(condition.minutes)} while a worker has the run"
        case EntropyCondition():
            text = " or ".join(_entropy_limits(condition)) + f" (median of {LEVEL_STEPS} steps)"
        case EmptyBatchesCondition():
            text = f"the training batch is empty {_in_a_row(condition.steps)}"
        case FillRateCondition():
            text = f"less than {100 * condition.below:g} % of the batch is filled {_in_a_row(condition.steps)}"
        case RatioCondition():
            limits = f"{condition.low:g} to {condition.high:g}"
            text = f"the mean importance ratio is outside {limits} {_in_a_row(condition.steps)}"
        case FindingCondition():
            text = _finding(condition)
        case MetricCondition():
            relation = f"{_RELATIONS[condition.comparison]} {condition.threshold:g}"
            text = f"{_smoothed(condition)} is {relation} {_in_a_row(condition.steps, 'value')}"
        case _:
            text = _MOVES[condition.kind]
    return text


def _finding(condition: FindingCondition) -> str:
    if not condition.findings:
        return {
            "note": "anything is found in the run's data",
            "warning": "a warning or a problem is found in the run's data",
            "problem": "a problem is found in the run's data",
        }[condition.severity]
    kinds = " or ".join(LABELS[kind].lower() for kind in condition.findings)
    least = {"note": "", "warning": ", as a warning or a problem", "problem": ", as a problem"}[condition.severity]
    return f"the run's data shows {kinds}{least}"


def _entropy_limits(condition: EntropyCondition) -> list[str]:
    limits = []
    if condition.below is not None:
        limits.append(f"the entropy is below {condition.below:g} nats per token")
    if condition.fall_percent is not None:
        within = _steps(condition.within_steps)
        limits.append(f"the entropy falls by more than {condition.fall_percent:g} % within {within}")
    return limits


def _smoothed(condition: MetricCondition) -> str:
    if condition.smoothing is None:
        return condition.key
    kind, _, span = condition.smoothing.partition(":")
    return f"the {'mean' if kind == 'mean' else 'exponential moving average'} of {span} values of {condition.key}"


def _steps(count: int, what: str = "step") -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _in_a_row(count: int, what: str = "step") -> str:
    return f"in one {what}" if count == 1 else f"for {_steps(count, what)} in a row"


def duration(minutes: float) -> str:
    """Return a duration as a text such as `30 minutes` or `2 hours`."""
    if minutes >= 120 and minutes % 60 == 0:
        return f"{minutes / 60:g} hours"
    if minutes < 1:
        return f"{60 * minutes:g} seconds"
    return "1 minute" if minutes == 1 else f"{minutes:g} minutes"


def found(condition: AlertCondition, finding: Finding, run_id: str) -> AlertText:
    """Return the text of an alert that a metric opened."""
    value, at = f"{finding.value:.4g}", f"up to step {finding.step}"
    match condition:
        case EntropyCondition():
            if finding.before is not None:
                fall = 100 * (1 - finding.value / finding.before)
                message = (
                    f"The entropy fell by {fall:.0f} % within {_steps(condition.within_steps)} to {value} nats per "
                    f"token (step {finding.step})."
                )
            else:
                message = f"The entropy is down to {value} nats per token (step {finding.step})."
            return AlertText(
                message,
                "The policy hardly explores anymore. Check whether training.learning_rate is too high, and check "
                "rollout.temperature, loss.clip_high and loss.entropy_coefficient. Stop the run, and fork it from a "
                "checkpoint before the fall.",
                _tab(run_id, "overview"),
            )
        case EmptyBatchesCondition():
            return AlertText(
                f"Nothing was trained on {_in_a_row(condition.steps)}, {at}: no group passed the filters.",
                "Every prompt is always or never solved. Use What-if to see what a higher c1, a smaller m or "
                "a wider range from c2 to c3 would have filled, or train on easier or harder problems.",
                _tab(run_id, "what-if"),
            )
        case FillRateCondition():
            return AlertText(
                f"Less than {100 * condition.below:g} % of the batch was filled {_in_a_row(condition.steps)}, {at}; in "
                f"the last one {100 * finding.value:.0f} %.",
                "Few groups have mixed rewards. Use What-if to see what a higher c1, a smaller m or a wider range "
                "from c2 to c3 would have added; you can change them while the run is active.",
                _tab(run_id, "what-if"),
            )
        case RatioCondition():
            limits = f"{condition.low:g} to {condition.high:g}"
            return AlertText(
                f"The mean importance ratio was outside {limits} {_in_a_row(condition.steps)}, {at}: {value}.",
                "The policy is far from those that generated its data. A smaller v keeps the rollout policy closer, a "
                "smaller method.high_quality_buffer.max_age_steps drops old groups; or lower training.learning_rate.",
                _tab(run_id, "off-policy"),
            )
        case MetricCondition():
            return AlertText(
                f"{_capital(_smoothed(condition))} was {_RELATIONS[condition.comparison]} {condition.threshold:g} "
                f"{_in_a_row(condition.steps, 'value')}, {at}: {value}.",
                "Check what else changed at that step: the charts mark parameter changes and resumed attempts.",
                _tab(run_id, "overview"),
            )
        case _:
            raise AssertionError(f"{condition.kind} reads no metric")


def findings(run_id: str, titles: Sequence[str]) -> AlertText:
    """Return the text for findings in a run's data, most severe first."""
    more = f" And {len(titles) - MOST_TITLES} more." if len(titles) > MOST_TITLES else ""
    return AlertText(
        " ".join(titles[:MOST_TITLES]) + more,
        "The tab Findings shows the evidence, and what to do about it.",
        _tab(run_id, "findings"),
    )


def finished(run_id: str, num_steps: int) -> AlertText:
    """Return the text for a finished run."""
    return AlertText(f"The run has finished all {num_steps:,} steps.", "See what it learned.", _tab(run_id, "overview"))


def failed(run_id: str, reason: str | None) -> AlertText:
    """Return the text for a failed run."""
    return AlertText(
        f"The run failed: {reason}" if reason else "The run failed.",
        "The end of its log shows the cause. Correct it and clone the run.",
        _tab(run_id, "log"),
    )


def lost(run_id: str, reason: str | None) -> AlertText:
    """Return the text for a lost run."""
    return AlertText(
        f"The run was lost: {reason}" if reason else "The run was lost.",
        "It is queued again automatically and resumes from its last checkpoint. If it stays in the queue, check "
        "that a worker with access to its folder is online.",
        _tab(run_id, "history"),
    )


def stalled(run_id: str, minutes: float, step: int) -> AlertText:
    """Return the text for a run that records nothing."""
    return AlertText(
        f"Nothing was recorded for {duration(minutes)}; the last completed step is {step}.",
        "The end of the log shows what the trainer is doing, the System tab what its machine does. A long evaluation "
        "also looks like this. If the trainer hangs, stop the run and clone it.",
        _tab(run_id, "log"),
    )


def resolution(condition: AlertCondition, finding: Finding) -> str:
    """Return why an alert of a metric was resolved."""
    what = "the entropy" if isinstance(condition, EntropyCondition) else "it"
    return f"{what} recovered at step {finding.step}: {finding.value:.4g}"


def _tab(run_id: str, tab: str) -> str:
    address = f"/runs/{quote(run_id, safe='')}"
    return address if tab == "overview" else f"{address}?tab={tab}"


def _capital(text: str) -> str:
    # A metric's name stays as it is.
    return text[0].upper() + text[1:] if text.startswith("the ") else text
