"""A prompt over several runs: what each run's visits come to, and the answers that models agree on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.findings.answers import agreed_wrong, plain
from bapo.analysis.findings.estimates import Estimate
from bapo.analysis.findings.finding import FindingKind
from bapo.analysis.findings.stream import ResponseGroup
from bapo.analysis.prompt_outcomes import answered
from bapo.analysis.visits import Visits
from bapo.answer_text import stated_answer

Integers = NDArray[np.int64]
SUSPECTING: tuple[FindingKind, ...] = ("label_suspected", "answer_format")
"""Kinds of findings that doubt what a prompt's responses are judged by."""
MOST_ANSWERS = 20
LEAST_RESPONSES = 8
"""Responses kept as text before an agreement on a wrong answer says anything."""
_POINTS = 1_601
_DEVIATIONS = 20.0


class RunTotals(NamedTuple):
    """One row per prompt of a run, in the order of `Visits.prompt_ids`."""

    num_visits: Integers
    num_evaluations: Integers
    num_correct: Integers
    """Over all evaluations."""
    own_visits: Integers
    """Without those of steps that the run inherited; so are the next two."""
    own_evaluations: Integers
    own_correct: Integers
    first_correct: Integers
    last_correct: Integers
    last_step: Integers


def run_totals(visits: Visits, inherited_steps: Sequence[int] = ()) -> RunTotals:
    """Sum up the visits of each prompt; of one whose evaluations are not recorded, its reuses show what they had.

    `inherited_steps`: steps that an older run recorded, where their answers count.
    """
    num_prompts = len(visits.prompt_ids)
    rows = answered(visits)
    prompt, correct = visits.prompt[rows], visits.num_correct[rows].astype(np.int64)
    is_own_visit = ~np.isin(visits.step, np.array(inherited_steps, np.int64))
    is_own = is_own_visit[rows]
    first, last, last_step = (np.zeros(num_prompts, np.int64) for _ in range(3))
    # Among equal indices the last write wins: visits are in the order of their steps.
    last[prompt] = correct
    first[prompt[::-1]] = correct[::-1]
    last_step[visits.prompt] = visits.step
    return RunTotals(
        np.bincount(visits.prompt, minlength=num_prompts),
        np.bincount(prompt, minlength=num_prompts),
        np.bincount(prompt, weights=correct, minlength=num_prompts).astype(np.int64),
        np.bincount(visits.prompt[is_own_visit], minlength=num_prompts),
        np.bincount(prompt[is_own], minlength=num_prompts),
        np.bincount(prompt[is_own], weights=correct[is_own], minlength=num_prompts).astype(np.int64),
        first,
        last,
        last_step,
    )


def accuracy(num_correct: int, num_responses: int) -> Estimate | None:
    """Return k/n with the central 95 % of Beta(1 + k, 1 + n - k), the posterior of a uniform prior; None without
    responses.

    Where none is right the interval begins at 0, where all are it ends at 1: k/n lies within.

    All responses count as answers of one policy: over runs and steps, the interval says how much was seen, not how
    much policies differ.
    """
    if not num_responses:
        return None
    a, b = 1.0 + num_correct, 1.0 + num_responses - num_correct
    # In t = logit p, where Beta(a, b) has the density p^a (1 - p)^b, which has its mode at ln(a/b).
    width = _DEVIATIONS * (1 / a + 1 / b) ** 0.5
    t = np.log(a / b) + np.linspace(-width, width, _POINTS)
    log_density = -a * np.logaddexp(0, -t) - b * np.logaddexp(0, t)
    density = np.exp(log_density - log_density.max())
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    low, high = np.interp([0.025, 0.975], below / below[-1], t)
    return Estimate(
        num_correct / num_responses,
        float(1 / (1 + np.exp(-low))) if num_correct else 0.0,
        float(1 / (1 + np.exp(-high))) if num_correct < num_responses else 1.0,
    )


class Answer(NamedTuple):
    """An answer that responses give, and how many of each model give it."""

    text: str
    """Answer, as in the first response that gave it."""
    num_responses: int
    num_correct: int
    """Number of these responses that were judged right."""
    is_label: bool
    """True if it is the right answer but for its form."""
    by_model: dict[str, int]


class Agreement(NamedTuple):
    """Agreement of the responses of several runs to one prompt."""

    num_responses: int
    num_without_answer: int
    num_correct: int
    num_label_refused: int
    """Responses that give the label in another form and are judged wrong."""
    answers: Sequence[Answer]
    """The most frequent first, at most `MOST_ANSWERS`."""
    num_answers: int
    suspected: str | None
    """The wrong answer that at least 60 % of all responses give; None where there is none, or too little to say so."""
    share: float
    """Share of responses that give the most frequent wrong answer."""


def agreement(groups: Iterable[tuple[str, ResponseGroup]]) -> Agreement:
    """Group responses to one prompt by the answers they give; each response group comes with the name of its model."""
    pooled = list(groups)
    first: dict[str, str] = {}
    models: dict[str, Counter[str]] = defaultdict(Counter)
    right = Counter[str]()
    num_responses = num_without = num_correct = num_refused = 0
    labels: set[str] = set()
    for model, group in pooled:
        label = None if group.label is None else plain(group.label)
        labels |= set() if label is None else {label}
        for response in group.responses:
            num_responses += 1
            num_correct += response.is_correct
            answer = stated_answer(response.text)
            if answer is None:
                num_without += 1
                continue
            key = plain(answer)
            first.setdefault(key, answer)
            models[key][model] += 1
            right[key] += response.is_correct
            num_refused += not response.is_correct and key == label
    ranked = sorted(models, key=lambda key: -models[key].total())
    suspected, share = agreed_wrong([group for _, group in pooled])
    return Agreement(
        num_responses,
        num_without,
        num_correct,
        num_refused,
        [
            Answer(first[key], models[key].total(), right[key], key in labels, dict(models[key].most_common()))
            for key in ranked[:MOST_ANSWERS]
        ],
        len(ranked),
        first[suspected] if suspected is not None and num_responses >= LEAST_RESPONSES else None,
        share,
    )
