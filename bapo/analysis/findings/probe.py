"""Report of a probe, before a run is paid for: difficulty, group size, thresholds, time and memory.

Policies change as they train; a probe sees the base model alone, and says so where that matters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from bapo.analysis.findings.estimates import Estimate
from bapo.analysis.findings.finding import (
    PLANNED,
    Evidence,
    Finding,
    FindingKind,
    FindingsReport,
    Found,
    Outcome,
    ProbeFigures,
    Remedy,
    TooLittle,
)
from bapo.analysis.findings.probed import ProbedCounts, counts_of, speed_of
from bapo.analysis.findings.readiness import readiness
from bapo.analysis.findings.stream import RunStream
from bapo.analysis.findings.success_rates import Forecast
from bapo.analysis.number_format import counted, percent
from bapo.analysis.rollout_estimate import rollout_estimate
from bapo.config import RunConfig, apply_changes, resolve
from bapo.methods.bapo import BapoConfig
from bapo.methods.probe import ProbeConfig
from bapo.thresholds import Thresholds, difficult_max_count

LEAST_PROMPTS = 64
GROUP_SIZES = (4, 8, 16, 32, 64)
LEAST_GAIN = 0.1
"""A group twice as large is worth its price where it gives so many more groups a gradient."""
MOST_DIFFICULT = 0.5
"""Share of difficult prompts above which c1 keeps the all-wrong ones alone."""
MOST_BARS = 17
HIGHEST_C3 = Fraction(7, 8)
_RIGHT = "Responses that are right"
_MIXED = "Groups with a gradient"
_DEAD = "Groups without a gradient"
_CUT = "Responses cut at the limit"
_SPEED = "Tokens per second"
_EIGHTH = Fraction(1, 8)
_GIB = 2**30


class Probed(NamedTuple):
    """A probe's stream, with what all of its findings rest on."""

    stream: RunStream
    counts: ProbedCounts
    forecast: Forecast
    group_size: int
    """The suggested one."""


def _difficulty(probed: Probed) -> Outcome:
    """Report how hard the problems are for the base model, and the result that equally hard problems would give."""
    stream, counts = probed.stream, probed.counts
    group_size = stream.visits.group_size
    accuracy = counts.accuracy
    wrong, right = (counts.share_of(counts.of_groups == k) for k in (0, group_size))
    mixed = counts.share_of((counts.of_groups > 0) & (counts.of_groups < group_size))
    evidence = [
        Evidence(label=_RIGHT, **accuracy._asdict(), unit="share"),
        Evidence(label=_MIXED, **mixed._asdict(), unit="share"),
    ]
    if group_size < MOST_BARS:
        shares = [counts.share_of(counts.of_groups == k)._asdict() for k in range(group_size + 1)]
        evidence += [Evidence(label=f"{k}/{group_size} right", **each, unit="share") for k, each in enumerate(shares)]
    cut = stream.curve("response_length/clip_ratio").values
    if len(cut):
        evidence.append(Evidence(label=_CUT, value=float(cut.mean()), unit="share"))
    all_wrong, all_right = (1 - accuracy.value) ** group_size, accuracy.value**group_size
    remedies = []
    if mixed.high < LEAST_GAIN:
        word = "easier" if wrong.value > right.value else "harder"
        remedies.append(Remedy(text=f"Hardly any group would teach anything: train on {word} problems."))
    return _found(
        stream,
        kind="probed_difficulty",
        severity="warning" if remedies else "note",
        title=f"The base model answers {percent(accuracy.value)} right; of {len(counts.of_groups):,} groups "
        f"{percent(wrong.value, 0)} are all wrong and {percent(right.value, 0)} all right.",
        explanation="Groups by right responses. The intervals take prompts as independent.",
        evidence=evidence,
        null=f"were every prompt equally hard, {percent(all_wrong)} of groups would be all wrong and "
        f"{percent(all_right)} all right.",
        remedies=remedies,
    )


def _group_size(probed: Probed) -> Outcome:
    """Return the group size from which on larger groups cost more than they teach."""
    stream, best = probed.stream, probed.group_size
    # The suggested size comes first: it is the figure of the title.
    shares = {size: probed.forecast.mixed(size) for size in sorted(GROUP_SIZES, key=lambda size: size != best)}
    per_rollouts = {size: 1000 * shares[size].value / size for size in GROUP_SIZES}
    text = f"{percent(shares[best].value, 0)} of groups would have a gradient at G = {best}"
    if 2 * best in shares:
        gain = 100 * (shares[2 * best].value - shares[best].value)
        text += f"; G = {2 * best} would add {gain:.0f} points for twice the rollouts"
    return _found(
        stream,
        kind="probed_group_size",
        severity="note",
        title=f"{text}.",
        explanation="Success rates behind the counts, fitted as a beta-binomial and as a mixture on a grid; the "
        f"interval covers both. Suggested is the smallest G whose double adds less than {percent(LEAST_GAIN, 0)} of "
        "groups. Per rollout smaller groups always give more groups, with noisier advantages.",
        evidence=[
            *(
                Evidence(label=f"G = {size}: groups with a gradient", **share._asdict(), unit="share")
                for size, share in shares.items()
            ),
            *(
                Evidence(label=f"G = {size}: such groups per 1,000 rollouts", value=value, unit="number")
                for size, value in per_rollouts.items()
            ),
        ],
        remedies=_worth_training(
            probed,
            Remedy(text=f"Train with BAPO and G = {best}.", changes=_planned(stream, {"rollout.group_size": best})),
        ),
    )


def _worth_training(probed: Probed, remedy: Remedy) -> list[Remedy]:
    """Return the remedy, unless hardly any group of the suggested size would teach anything."""
    return [remedy] if probed.forecast.mixed(probed.group_size).high >= LEAST_GAIN else []


def group_size_of(forecast: Forecast) -> int:
    """Return the smallest size whose double gives less than `LEAST_GAIN` more groups a gradient."""
    for size in GROUP_SIZES[:-1]:
        if forecast.mixed(2 * size).value - forecast.mixed(size).value < LEAST_GAIN:
            return size
    return GROUP_SIZES[-1]


class Suggestion(NamedTuple):
    """Settings of BAPO for the probed data, and the shares that they rest on."""

    c1: Fraction
    m: int
    c3: tuple[Fraction, Fraction]
    difficult: Estimate
    reusable: Estimate
    mixed: Estimate
    arriving: float
    """Difficult prompts per step."""
    wanted: float
    """Groups per step that X1 leaves room for."""
    offered: float
    """Groups that X3 can choose from."""


def suggest(forecast: Forecast, accuracy: float, group_size: int, config: RunConfig) -> Suggestion:
    """Choose c1, m and c3 from the paper's values, such that the buffers can be worked off and fill the batch."""
    usual = BapoConfig()
    batch, prompts = config.training.batch_size, config.rollout.batch_size

    def difficult_below(c1: Fraction) -> Estimate:
        return forecast.within(0, difficult_max_count(c1, group_size), group_size)

    c1 = usual.c1 if difficult_below(usual.c1).value <= MOST_DIFFICULT else Fraction(0)
    difficult = difficult_below(c1)
    arriving = prompts * difficult.value
    answered = min(usual.max_reevaluated_prompts, usual.difficult_buffer.capacity or batch)
    m = min(usual.m, max(1, math.floor(answered / max(arriving, 1e-9))))
    mixed = forecast.mixed(group_size)
    wanted = max(0.0, batch - prompts * mixed.value)
    c3 = usual.c3
    r_tot = Fraction(accuracy).limit_denominator(10_000)
    while True:
        limits = Thresholds.at(r_tot, c1=c1, c2=usual.c2, c3=c3, group_size=group_size)
        reusable = forecast.within(limits.reusable_min, limits.reusable_max, group_size)
        offered = prompts * reusable.value * usual.high_quality_buffer.max_age_steps
        if offered >= wanted or max(c3) >= HIGHEST_C3:
            break
        c3 = (c3[0] + _EIGHTH, c3[1] + _EIGHTH)
    return Suggestion(c1, m, c3, difficult, reusable, mixed, arriving, wanted, offered)


def _thresholds(probed: Probed) -> Outcome:
    """Suggest c1, c3 and m for these problems, each with its reason."""
    stream, group_size = probed.stream, probed.group_size
    found = suggest(probed.forecast, probed.counts.accuracy.value, group_size, stream.config)
    usual = BapoConfig()
    changes: dict[str, Any] = {"rollout.group_size": group_size}
    if found.c1 != usual.c1:
        changes["method.c1"] = str(found.c1)
    if found.c3 != usual.c3:
        changes["method.c3"] = [str(bound) for bound in found.c3]
    if found.m != usual.m:
        changes["method.m"] = found.m
    reasons = [
        f"c1 = {found.c1}: {percent(found.difficult.value, 0)} of prompts would be difficult"
        + ("." if found.c1 else f"; with the usual 1/8 it would be more than {percent(MOST_DIFFICULT, 0)}."),
        f"m = {found.m}: {found.arriving:.0f} difficult prompts come with each step, and one re-evaluation answers at "
        "most as many as the buffer holds.",
        f"c3 = {found.c3[0]} to {found.c3[1]}: X1 leaves room for {found.wanted:.0f} groups a step; the buffer would "
        f"offer about {found.offered:.0f}.",
        f"v = {usual.v}, as in the paper: how far the policy moves in a step, a probe cannot tell.",
    ]
    return _found(
        stream,
        kind="probed_thresholds",
        severity="note",
        title=f"For BAPO with G = {group_size}: c1 = {found.c1}, c2 = {usual.c2[0]} to {usual.c2[1]}, "
        f"c3 = {found.c3[0]} to {found.c3[1]}, v = {usual.v}, m = {found.m}.",
        explanation=" ".join(reasons) + " The shares hold for the base model; steer c1 to c3, v and m as it learns.",
        evidence=[
            Evidence(label="Difficult at first (≤ c1)", **found.difficult._asdict(), unit="share"),
            Evidence(label="Groups with a gradient (X1)", **found.mixed._asdict(), unit="share"),
            Evidence(label="Reusable (c2 to c3, for X3)", **found.reusable._asdict(), unit="share"),
        ],
        remedies=_worth_training(
            probed, Remedy(text="Train with BAPO and these settings.", changes=_planned(stream, changes))
        ),
    )


def _cost(probed: Probed) -> Outcome:
    """Report speed and memory as measured, and the time that the planned run would take on the same machine."""
    stream, group_size = probed.stream, probed.group_size
    speed = speed_of(stream, probed.counts)
    tokens = stream.curve("bapo/cost/num_tokens").values
    if speed is None or not len(tokens):
        return TooLittle("no update was measured yet: the last step makes one")
    config = _planned_config(stream, {"rollout.group_size": group_size})
    estimate = rollout_estimate(config.model_dump(mode="json"))
    seconds_per_update = speed.update_seconds * config.training.batch_size * group_size
    evidence = [
        Evidence(label=_SPEED, value=float(tokens[-1]) / speed.all_seconds, unit="number"),
        Evidence(label="Generating 1,000 responses", value=1000 * speed.response_seconds, unit="seconds"),
        Evidence(label="Update on a full batch", value=seconds_per_update, unit="seconds"),
    ]
    for key, label in (("memory_peak_bytes", "Peak memory, GiB"), ("gpu_memory_peak_bytes", "Peak GPU memory, GiB")):
        peak = stream.curve(f"bapo/system/{key}").values
        if len(peak):
            evidence.append(Evidence(label=label, value=float(peak.max()) / _GIB, unit="number"))
    title = "Measured: speed and memory; the length of the planned run is not known."
    if estimate.steps is not None and estimate.fresh is not None:
        rollouts = estimate.fresh + estimate.uncertain + (estimate.tracking or 0) + (estimate.evaluation or 0)
        seconds = rollouts * speed.response_seconds + estimate.steps * seconds_per_update
        evidence.insert(0, Evidence(label=PLANNED, value=seconds, unit="seconds"))
        title = (
            f"{counted(estimate.steps, 'step')} of BAPO with G = {group_size} would generate up to {rollouts:,} "
            f"responses: about {_duration(seconds)} on this machine."
        )
    return _found(
        stream,
        kind="probed_cost",
        severity="note",
        title=title,
        explanation="Responses at the probe's speed and length, with tracking and, where the number of held-out "
        "problems is known, evaluation. Responses that grow longer as the model learns take more; the update was "
        "measured once, with its start.",
        evidence=evidence,
        remedies=[],
    )


def _duration(seconds: float) -> str:
    return f"{seconds / 3600:.1f} hours" if seconds >= 3600 else f"{seconds / 60:.1f} minutes"


def _planned(stream: RunStream, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes that turn the probe's config into that of the planned run."""
    method = stream.config.method
    assert isinstance(method, ProbeConfig)
    length: dict[str, Any] = {}
    if method.planned_steps is not None:
        length = {"training.steps": method.planned_steps}
    elif method.planned_epochs is not None:
        length = {"training.steps": None, "training.epochs": method.planned_epochs}
    return {"method.type": BapoConfig.type_name(), **length, **changes}


def _planned_config(stream: RunStream, changes: Mapping[str, Any]) -> RunConfig:
    complete = stream.config.model_dump(mode="json")
    return resolve(apply_changes(complete, _planned(stream, changes))).config


def _found(stream: RunStream, **parts: Any) -> Found:
    return Found(Finding(num_rollouts=stream.num_rollouts, **parts))


_DETECTORS: Mapping[FindingKind, Callable[[Probed], Outcome]] = {
    "probed_difficulty": _difficulty,
    "probed_group_size": _group_size,
    "probed_thresholds": _thresholds,
    "probed_cost": _cost,
}
OF_PROBES = frozenset({"probed_readiness"}) | _DETECTORS.keys()
"""Kinds that only probes are looked through for."""


def figures_of(stream: RunStream, report: FindingsReport) -> ProbeFigures | None:
    """Return what a probe's findings say, in short; None where too few prompts were answered, and of any other run."""
    found = {finding.kind: finding for finding in report.findings}
    if "probed_difficulty" not in found:
        return None
    figures = {each.label: each for kind in OF_PROBES if kind in found for each in found[kind].evidence}

    def value(label: str) -> float | None:
        return figures[label].value if label in figures else None

    mixed = figures[_MIXED]
    assert mixed.low is not None, "an estimate"
    assert mixed.high is not None, "an estimate"
    sizes = found["probed_group_size"].remedies if "probed_group_size" in found else ()
    return ProbeFigures(
        num_groups=int(stream.fresh_rows().sum()),
        group_size=stream.visits.group_size,
        accuracy=figures[_RIGHT],
        dead=Evidence(label=_DEAD, value=1 - mixed.value, low=1 - mixed.high, high=1 - mixed.low, unit="share"),
        truncated=value(_CUT),
        suggested_group_size=next((remedy.changes["rollout.group_size"] for remedy in sizes), None),
        seconds=value(PLANNED),
        tokens_per_second=value(_SPEED),
    )


def probe_outcomes(stream: RunStream) -> dict[FindingKind, Outcome]:
    """Return what a probe says, by kind; the counts are taken and the success rates fitted once for all."""
    counts = counts_of(stream)
    answered = len(counts.num_correct)
    ready: dict[FindingKind, Outcome] = {"probed_readiness": readiness(stream, counts)}
    if answered < LEAST_PROMPTS:
        return ready | dict.fromkeys(_DETECTORS, TooLittle(f"{answered} of {LEAST_PROMPTS} prompts"))
    forecast = Forecast(counts.num_correct, counts.num_responses)
    probed = Probed(stream, counts, forecast, group_size_of(forecast))
    return ready | {kind: detect(probed) for kind, detect in _DETECTORS.items()}


def with_planned_cost(
    report: FindingsReport, cost_of: Callable[[float], float | str], label: str, currency: str
) -> FindingsReport:
    """Return the report with the expected cost next to the duration; unchanged if it contains no duration.

    `cost_of` makes seconds a cost, or the reason why there is none; `label` says at which prices.
    """

    def priced(finding: Finding) -> Finding:
        seconds = _seconds(finding)
        if seconds is None:
            return finding
        cost = cost_of(seconds)
        if isinstance(cost, str):
            text = f"{finding.explanation} What it would cost is not known: {cost}."
            return finding.model_copy(update={"explanation": text})
        first, *others = finding.evidence
        evidence = [first, Evidence(label=f"{label}, {currency}", value=cost, unit="number"), *others]
        title = f"{finding.title.removesuffix('.')}, and {cost:,.2f} {currency}."
        return finding.model_copy(update={"title": title, "evidence": evidence})

    return report.model_copy(update={"findings": [priced(finding) for finding in report.findings]})


def _seconds(finding: Finding) -> float | None:
    if finding.kind != "probed_cost":
        return None
    return next((each.value for each in finding.evidence if each.label == PLANNED), None)
