"""Readiness of a model for RL, as a probe sees it: right responses, and answers in the form that the verifier reads."""

from __future__ import annotations

import numpy as np

from bapo.analysis.findings.estimates import Estimate, clustered_share
from bapo.analysis.findings.finding import Evidence, Finding, Found, Outcome, Remedy, TooLittle
from bapo.analysis.findings.probed import ProbedCounts, Speed, speed_of
from bapo.analysis.findings.stream import RunStream
from bapo.analysis.number_format import percent
from bapo.config.plugins import OF_ANSWERS
from bapo.config.task import AnsweredTaskSection
from bapo.config.warm_start import NUM_SAMPLES, USUAL_STEPS, WarmStartConfig
from bapo.tasks.answer_formats import answer_format

LEAST_PROMPTS = 16
LEAST_MIXED = 0.1
"""Share of groups with a gradient below which RL has hardly anything to learn from."""
LEAST_FORMAT = 0.5
"""Share of responses in the verifier's form below which the form is the first thing to learn."""


def readiness(stream: RunStream, counts: ProbedCounts) -> Outcome:
    """Find a model that needs a warm start, or hardly answers in the form that the verifier reads."""
    answered = len(counts.num_correct)
    if answered < LEAST_PROMPTS:
        return TooLittle(f"{answered} of {LEAST_PROMPTS} prompts")
    group_size = stream.visits.group_size
    num_right, num_responses = int(counts.num_correct.sum()), int(counts.num_responses.sum())
    mixed = counts.share_of((counts.of_groups > 0) & (counts.of_groups < group_size))
    form = format_share(stream)
    starts_cold = mixed.value < LEAST_MIXED and num_right < num_responses / 2
    if not starts_cold and (form is None or form.value >= LEAST_FORMAT):
        return None
    evidence = [
        Evidence(label="Right responses", value=float(num_right)),
        Evidence(label="Responses", value=float(num_responses)),
        Evidence(label="Groups with a gradient", **mixed._asdict(), unit="share"),
    ]
    in_form = ""
    if form is not None:
        evidence.append(Evidence(label="Answers in the verifier's form", **form._asdict(), unit="share"))
        in_form = f"{percent(form.value)} of responses give an answer in the form that the verifier reads"
    title = f"{num_right:,} of {num_responses:,} responses are right" + (f", and {in_form}" if in_form else "")
    remedies = [Remedy(text=_form_remedy(stream))] if form is not None and form.value < LEAST_FORMAT else []
    if starts_cold:
        speed = speed_of(stream, counts)
        seconds = None if speed is None else _seconds(_warm_start(stream), speed)
        cost = "" if seconds is None else f", about {_minutes(seconds)} on this machine"
        title += f": the model needs a warm start before RL{cost}"
        if seconds is not None:
            evidence.append(Evidence(label="Warm start, about", value=seconds, unit="seconds"))
        remedies.insert(0, Remedy(text=_remedy(stream)))
    return Found(
        Finding(
            kind="probed_readiness",
            severity="problem" if starts_cold else "warning",
            title=f"{title}.",
            explanation="RL reinforces right responses: a group that has none gives no gradient. A warm start is "
            "supervised training on right responses, which teaches the form of the answer and the steps to it. The "
            "share in the verifier's form is that of the responses that were kept as text.",
            evidence=evidence,
            num_rollouts=stream.num_rollouts,
            remedies=remedies,
        )
    )


def format_share(stream: RunStream) -> Estimate | None:
    """Return the share of kept responses with an answer in the verifier's form; None where it reads whole responses."""
    section = stream.config.task
    if not isinstance(section, AnsweredTaskSection) or section.verifier not in OF_ANSWERS or not stream.samples:
        return None
    extract = answer_format(section).extract
    hits = [sum(bool(extract(response.text)) for response in group.responses) for group in stream.samples]
    sizes = [len(group.responses) for group in stream.samples]
    return clustered_share(np.array(hits, np.float64), np.array(sizes, np.float64))


def _warm_start(stream: RunStream) -> WarmStartConfig:
    """Return the warm start of the planned run, or one of the usual size."""
    planned = stream.config.warm_start
    return planned if planned.steps else planned.model_copy(update={"steps": USUAL_STEPS})


def _remedy(stream: RunStream) -> str:
    section = _warm_start(stream)
    size = f"{section.steps} steps of {section.batch_size} responses"
    if stream.config.warm_start.steps:
        return f"The planned run begins with a warm start: {size}."
    return f"Set `warm_start.steps` to {section.steps}: the run then learns from right responses first, {size}."


def _form_remedy(stream: RunStream) -> str:
    section = stream.config.task
    assert isinstance(section, AnsweredTaskSection), "it has a form"
    example = answer_format(section).template.replace("{answer}", "42")
    return (
        f"Ask for the form in the prompt (task.instruction), such as {example!r}, or take one that the model knows "
        "(task.answer_format); allow longer responses where they are cut (rollout.max_response_tokens)."
    )


def _seconds(section: WarmStartConfig, speed: Speed) -> float:
    """Return the time of a warm start: its updates, and an evaluation before and after."""
    updates = section.steps * section.batch_size * speed.update_seconds
    return updates + 2 * section.num_evaluated * NUM_SAMPLES * speed.response_seconds


def _minutes(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    return f"{minutes} minute" + ("" if minutes == 1 else "s")
