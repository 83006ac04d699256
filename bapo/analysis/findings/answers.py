"""Answers that responses agree on: labels that look wrong, and right answers that are judged wrong by their form."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from bapo.analysis.findings.finding import Evidence, Finding, Found, ListedPrompt, Outcome, Remedy, TooLittle
from bapo.analysis.findings.stream import ResponseGroup, RunStream
from bapo.analysis.number_format import percent
from bapo.answer_text import stated_answer

LEAST_PROMPTS = 30
"""Prompts with a label and two sampled groups of different policies."""
AGREEMENT = 0.6
LEAST_RESPONSES = 4
LEAST_SUSPECTED = 3
LEAST_SUSPECTED_SHARE = 0.01
LEAST_FORMAT = 5
NO_LABELS = "no sampled problem has one text as its right answer"
NO_ANSWERS = r"no sampled response has an answer in <answer>…</answer> or \boxed{…}"
MOST_ANSWER_LETTERS = 80
"""Letters of an answer and of a label in the list."""

_DECORATION = re.compile(r"\\(left|right|!|,|;| )|\$|\\text\{|\\mathrm\{|\s|[{}]")


def label_suspected(stream: RunStream) -> Outcome:
    """Find prompts whose kept responses, over two policies or more, agree to 60 % on one answer judged wrong."""
    groups: dict[str, list[ResponseGroup]] = defaultdict(list)
    for group in stream.samples:
        if group.label is not None and len(group.responses) >= LEAST_RESPONSES:
            groups[group.prompt_id].append(group)
    if not groups:
        return TooLittle(NO_LABELS)
    visited = {
        prompt: visits for prompt, visits in groups.items() if len({visit.policy_version for visit in visits}) >= 2
    }
    if len(visited) < LEAST_PROMPTS:
        return TooLittle(f"{len(visited)} of {LEAST_PROMPTS} prompts whose responses were kept from two policies")
    if all(
        stated_answer(each.text) is None for visits in visited.values() for visit in visits for each in visit.responses
    ):
        return TooLittle(NO_ANSWERS)
    suspected: dict[str, tuple[float, str]] = {}
    for prompt, visits in visited.items():
        answer, share = agreed_wrong(visits)
        if answer is not None:
            suspected[prompt] = (share, answer)
    if len(suspected) < max(LEAST_SUSPECTED, LEAST_SUSPECTED_SHARE * len(visited)):
        return None
    ranked = sorted(suspected, key=lambda prompt: -suspected[prompt][0])
    prompts = [
        ListedPrompt(
            prompt_id=prompt,
            num_visits=len(visited[prompt]),
            num_rollouts=sum(len(visit.responses) for visit in visited[prompt]),
            num_correct=sum(response.is_correct for visit in visited[prompt] for response in visit.responses),
            detail=f"{suspected[prompt][0]:.0%} answer {_short(suspected[prompt][1])}; "
            f"the label is {_short(visited[prompt][0].label)}",
        )
        for prompt in ranked
    ]
    num_rollouts = sum(len(visit.responses) for visits in visited.values() for visit in visits)
    return Found(
        Finding(
            kind="label_suspected",
            severity="note",
            title=f"For {len(prompts):,} of {len(visited):,} prompts, {AGREEMENT:.0%} or more of the responses agree "
            "on one answer that is judged wrong.",
            explanation="Of all their responses that were kept, over two policies or more. A policy that makes the "
            "same error each time looks the same: read the list from the top.",
            evidence=[
                Evidence(label="Share of prompts checked", value=len(prompts) / len(visited), unit="share"),
                Evidence(label="Prompts suspected", value=float(len(prompts))),
                Evidence(label="Prompts checked", value=float(len(visited))),
            ],
            num_rollouts=num_rollouts,
            remedies=[Remedy(text="Check the labels of the listed prompts, and correct the wrong ones.")],
            num_prompts=len(prompts),
        ),
        prompts,
    )


def answer_format(stream: RunStream) -> Outcome:
    """Return responses whose answer equals the label but for its form, judged wrong."""
    checked, num_uncut, num_unanswered = 0, 0, 0
    limit = stream.token_limit
    refused: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for group in stream.samples:
        if group.label is None:
            continue
        for response in group.responses:
            answer = stated_answer(response.text)
            num_uncut += response.is_uncut(limit)
            if answer is None:
                num_unanswered += response.is_uncut(limit)
                continue
            checked += 1
            if not response.is_correct and plain(answer) == plain(group.label):
                refused[group.prompt_id] += 1
                examples.setdefault(
                    group.prompt_id, f"{_short(answer)} judged wrong; the label is {_short(group.label)}"
                )
    if not checked:
        return TooLittle(NO_ANSWERS if any(group.label is not None for group in stream.samples) else NO_LABELS)
    num_refused = refused.total()
    if num_refused < LEAST_FORMAT:
        return None
    prompts = [
        ListedPrompt(prompt_id=prompt, num_visits=0, num_rollouts=count, num_correct=0, detail=examples[prompt])
        for prompt, count in refused.most_common()
    ]
    return Found(
        Finding(
            kind="answer_format",
            severity="problem",
            title=f"{num_refused:,} responses ({percent(num_refused / checked)} of those with an answer) give the "
            "right answer in another form, and are judged wrong.",
            explanation="Answer and label are equal without spaces, braces, dollar signs and LaTeX spacing.",
            evidence=[
                Evidence(
                    label="Judged wrong by form, of responses with an answer", value=num_refused / checked, unit="share"
                ),
                Evidence(label="Responses judged wrong by form", value=float(num_refused)),
                *(
                    [
                        Evidence(
                            label="Without an answer, of uncut responses",
                            value=num_unanswered / num_uncut,
                            unit="share",
                        )
                    ]
                    if num_uncut
                    else []
                ),
            ],
            num_rollouts=checked,
            remedies=[
                Remedy(text="Compare answers by value, with the `math` verifier.", changes={"task.verifier": "math"})
            ]
            if not stream.is_observed and stream.config.task.verifier == "exact"
            else [Remedy(text="Make the verifier strip what only decorates an answer.")],
            num_prompts=len(prompts),
        ),
        prompts,
    )


def _short(answer: str | None) -> str:
    text = answer or ""
    return text if len(text) <= MOST_ANSWER_LETTERS else f"{text[:MOST_ANSWER_LETTERS]} …"


def plain(answer: str) -> str:
    """Return the answer without what only decorates it."""
    return _DECORATION.sub("", answer.replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac")).rstrip(".").lower()


def agreed_wrong(visits: Sequence[ResponseGroup]) -> tuple[str | None, float]:
    """Return the wrong answer that most responses to a prompt give, if 60 % of all do; and the share that does.

    Over all visits at once: asked of each, one of many visits fails by chance, the sooner the more there are.
    """
    answers = Counter(
        plain(answer)
        for visit in visits
        for response in visit.responses
        if not response.is_correct and (answer := stated_answer(response.text)) is not None
    )
    if not answers:
        return None, 0.0
    answer, count = answers.most_common(1)[0]
    share = count / sum(len(visit.responses) for visit in visits)
    label = visits[0].label
    if share < AGREEMENT or (label is not None and answer == plain(label)):
        return None, share
    return answer, share
