"""Training prompts that say the same, or nearly the same, and those that a held-out set contains as well."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from bapo.analysis.findings.finding import Evidence, Finding, Found, ListedPrompt, Outcome, Remedy, TooLittle
from bapo.analysis.findings.same_problems import MOST_TEXTS, normalised, same_problems
from bapo.analysis.findings.stream import IMAGE_MARK, HeldOutSet, RunStream
from bapo.analysis.number_format import counted, percent

LEAST_PROMPTS = 50
LEAST_COPIES = 3
LEAST_SHARE = 0.01
GRAVE_SHARE = 0.05
LEAST_HELD_OUT = 20
SHOWN_LETTERS = 120


def duplicate_prompts(stream: RunStream) -> Outcome:
    """Find prompts that differ in case, spaces and closing punctuation only. Equal texts have one identity."""
    texts = _training_texts(stream)
    if len(texts) < LEAST_PROMPTS:
        return _too_few(texts)
    copies = {first: others for first, *others in _by_text(texts) if others}
    num_copies = sum(len(others) for others in copies.values())
    share = num_copies / len(texts)
    if num_copies < LEAST_COPIES or share < LEAST_SHARE:
        return None
    prompts = [_listed(copy, f"copy of {first}") for first, others in copies.items() for copy in others]
    return Found(
        Finding(
            kind="duplicate_prompts",
            severity="warning" if share > GRAVE_SHARE else "note",
            title=f"{num_copies:,} of {len(texts):,} training prompts ({percent(share, 0)}) repeat another one.",
            explanation="They differ in case, spaces and closing punctuation alone. Their rollouts count as those of "
            "different prompts, in the buffers and in every interval.",
            evidence=[
                Evidence(label="Share of prompts", value=share, unit="share"),
                Evidence(label="Copies", value=float(num_copies)),
                Evidence(label="Prompts that have copies", value=float(len(copies))),
            ],
            num_rollouts=stream.num_rollouts,
            remedies=[],
            num_prompts=num_copies,
        ),
        prompts,
    )


def near_duplicates(stream: RunStream) -> Outcome:
    """Find prompts that pose the same problem in other words. Of exact copies only the first is examined."""
    texts = _training_texts(stream)
    if len(texts) < LEAST_PROMPTS:
        return _too_few(texts)
    distinct = {first: texts[first] for first, *_ in _by_text(texts)}
    same = same_problems(distinct, stream.forms)
    num_copies = sum(len(names) - 1 for names in same)
    share = num_copies / len(distinct)
    if num_copies < LEAST_COPIES or share < LEAST_SHARE:
        return None
    prompts = [_listed(other, f"as {first}: {_beginning(texts[first])}") for first, *others in same for other in others]
    return Found(
        Finding(
            kind="near_duplicates",
            severity="warning" if share > GRAVE_SHARE else "note",
            title=f"{num_copies:,} of {len(distinct):,} different training prompts ({percent(share, 0)}) pose nearly "
            "the same problem as another one.",
            explanation="The task considers them identical, or they share all numbers and 60 % of their "
            "distinctive words. Their rollouts count as those of different prompts.",
            evidence=[
                Evidence(label="Share of different prompts", value=share, unit="share"),
                Evidence(label="Prompts that repeat a problem", value=float(num_copies)),
                Evidence(label="Problems posed more than once", value=float(len(same))),
                *_looked_at(distinct),
            ],
            num_rollouts=stream.num_rollouts,
            remedies=[Remedy(text="Look at some of the list first: words decide, not meaning.")],
            num_prompts=num_copies,
        ),
        prompts,
    )


def contamination(stream: RunStream) -> Outcome:
    """Find training prompts that pose a problem of a held-out set."""
    training = _training_texts(stream)
    held_out = {name: known for name, found in stream.held_out.items() if (known := _with_texts(stream, found))}
    num_held_out = len({prompt_id for prompt_ids in held_out.values() for prompt_id in prompt_ids})
    if num_held_out < LEAST_HELD_OUT:
        return TooLittle(f"{num_held_out} of {LEAST_HELD_OUT} held-out prompts whose text was kept")
    if len(training) < LEAST_PROMPTS:
        return _too_few(training)
    # A prompt that is in both has one identity or two: their data sources may be named differently.
    texts = {("held out", name): stream.prompts[name] for prompt_ids in held_out.values() for name in prompt_ids}
    texts |= {("training", name): text for name, text in training.items()}
    keys = {f"{place}/{name}": (place, name) for place, name in texts}
    same = same_problems(
        {key: texts[each] for key, each in keys.items()},
        {key: stream.forms[name] for key, (_, name) in keys.items() if name in stream.forms},
    )
    twins: dict[str, str] = {}
    leaked: set[str] = set()
    for names in same:
        tests = [name for place, name in map(keys.__getitem__, names) if place == "held out"]
        trained = [name for place, name in map(keys.__getitem__, names) if place == "training"]
        if tests and trained:
            leaked |= set(tests)
            twins |= dict.fromkeys(trained, tests[0])
    share = len(leaked) / num_held_out
    if share < LEAST_SHARE:
        return None
    sets = {name: leaked & set(prompt_ids) for name, prompt_ids in held_out.items()}
    evidence = [
        Evidence(label="Share of held-out problems", value=share, unit="share"),
        Evidence(label="Held-out problems that are trained on", value=float(len(leaked))),
        Evidence(label="Training prompts that pose them", value=float(len(twins))),
    ]
    for name, found in sets.items():
        evidence += _accuracies(name, stream.held_out[name], found)
    named = ", ".join(f"{len(found):,} of {len(held_out[name]):,} of {name}" for name, found in sets.items() if found)
    return Found(
        Finding(
            kind="contamination",
            severity="problem" if share > GRAVE_SHARE else "warning",
            title=f"{counted(len(twins), 'training prompt')} {'poses' if len(twins) == 1 else 'pose'} problems of a "
            f"held-out set: {named}.",
            explanation="Equal texts, equal problems by their task, or the same numbers and three fifths of the words. "
            "What is trained on does not measure how the policy does on new problems.",
            evidence=[*evidence, *_looked_at(texts)],
            num_rollouts=stream.num_rollouts,
            remedies=[Remedy(text="Judge the run by the other held-out problems.")],
            num_prompts=len(twins),
        ),
        [_listed(name, f"held out as {test}: {_beginning(stream.prompts[test])}") for name, test in twins.items()],
    )


def _training_texts(stream: RunStream) -> dict[str, str]:
    """Return what the prompts say that were trained on, without those whose problem is in an image."""
    known = ((name, stream.prompts.get(name, IMAGE_MARK)) for name in stream.visits.prompt_ids)
    return {name: text for name, text in known if IMAGE_MARK not in text}


def _with_texts(stream: RunStream, found: HeldOutSet) -> list[str]:
    return [name for name in found.prompt_ids if IMAGE_MARK not in stream.prompts.get(name, IMAGE_MARK)]


def _by_text(texts: Mapping[str, str]) -> list[list[str]]:
    """Return prompts of equal texts together."""
    same: dict[str, list[str]] = defaultdict(list)
    for prompt_id, text in texts.items():
        same[normalised(text)].append(prompt_id)
    return list(same.values())


def _accuracies(name: str, found: HeldOutSet, leaked: set[str]) -> list[Evidence]:
    """Return the accuracies on the problems that are trained on and on the others, if there are both."""
    rates = {
        prompt: count / found.num_samples for prompt, count in zip(found.prompt_ids, found.num_correct, strict=True)
    }
    seen, new = ([rate for prompt, rate in rates.items() if (prompt in leaked) is trained] for trained in (True, False))
    if not seen or not new:
        return []
    return [
        Evidence(label=f"Accuracy on these of {name}", value=sum(seen) / len(seen), unit="share"),
        Evidence(label=f"Accuracy on the others of {name}", value=sum(new) / len(new), unit="share"),
    ]


def _looked_at(texts: Mapping[str, str] | Mapping[tuple[str, str], str]) -> list[Evidence]:
    return [Evidence(label="Prompts compared", value=float(MOST_TEXTS))] if len(texts) > MOST_TEXTS else []


def _listed(prompt_id: str, detail: str) -> ListedPrompt:
    return ListedPrompt(prompt_id=prompt_id, num_visits=0, num_rollouts=0, num_correct=0, detail=detail)


def _beginning(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_LETTERS else f"{line[:SHOWN_LETTERS]}…"


def _too_few(texts: Sequence[str] | Mapping[str, str]) -> TooLittle:
    return TooLittle(f"{len(texts)} of {LEAST_PROMPTS} prompts whose text was kept")
