"""Tries the verifier on problems of a file: the reference answer must be judged right, and a wrong one wrong."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bapo.answer_text import ANSWER_TEXT
from bapo.config.errors import ConfigError
from bapo.config.plugins import is_file_reference
from bapo.message_text import response_text
from bapo.own_data.report import BadRow, VerifierTrial
from bapo.own_data.result_marks import marked_result, whole_text
from bapo.own_data.storable import storable
from bapo.tasks.base import Problem
from bapo.tasks.countdown.solver import MOST_SOLVED, solution
from bapo.tasks.verifiers import Verifier, answer_problem, load_verifier

MOST_TRIED = 40
MOST_EXAMPLES = 10
TEXT_VERIFIERS = frozenset({"math", "exact"})
"""Verifiers that compare a response's answer with the row's."""
_WHOLE = re.compile(r"[-+]?\d+")

Kept = tuple[int, Mapping[str, Any]]
"""Number of a row, and its values in our columns."""


def sample(rows: Sequence[Kept]) -> list[Kept]:
    """Return rows spread evenly over all."""
    count = min(MOST_TRIED, len(rows))
    return [rows[place * len(rows) // count] for place in range(count)]


def try_verifier(reference: str, tried: Sequence[Kept]) -> VerifierTrial:
    """Judge reference answers and wrong ones. A verifier that is a registered file is run by workers alone."""
    if reference.startswith("@") or is_file_reference(reference):
        return _untried(reference, "workers run a verifier of one's own, this server does not")
    if reference == "reasoning_gym":
        return _untried(reference, "its answers are known to its own package alone")
    try:
        verifier = load_verifier(reference)
    except ConfigError as error:
        return _untried(reference, error.problems[0].remedy)
    if tried and "nums" in tried[0][1]:
        return _countdown(verifier, tried)
    if reference in TEXT_VERIFIERS and tried and all(isinstance(row["answer"], Mapping) for _, row in tried):
        fields = ", ".join(tried[0][1]["answer"])
        return _untried(reference, f"they are structures ({fields[:200]}), which a verifier of your own can read")
    return _answers(verifier, tried)


def _untried(reference: str, why: str) -> VerifierTrial:
    return VerifierTrial(
        verifier=reference,
        num_tried=0,
        num_references_refused=0,
        num_wrong_accepted=0,
        examples=(),
        not_tried_because=why,
    )


def _answers(verifier: Verifier, tried: Sequence[Kept]) -> VerifierTrial:
    texts = [str(_answer_of(row).get(ANSWER_TEXT, "")) for _, row in tried]
    examples, num_refused, num_accepted, whole_texts = [], 0, 0, []
    for (number, row), text in zip(tried, texts, strict=True):
        problem = Problem("tried", "tried", response_text(row["prompt"]), _answer_of(row))
        wrong = _wrong_reference(verifier, problem, text)
        if wrong is not None:
            reason, is_whole_text = wrong
            num_refused += 1
            whole_texts += [text] if is_whole_text else []
            examples.append(BadRow(row=number, reason=storable(reason)))
            continue
        other = _wrong_answer(text, texts)
        if other is not None and verifier(problem, _response(other)):
            num_accepted += 1
            reason = f"{other[:100]!r} is judged right, where the answer is {text[:100]!r}"
            examples.append(BadRow(row=number, reason=reason))
    return VerifierTrial(
        verifier=verifier.reference,
        num_tried=len(tried),
        num_references_refused=num_refused,
        num_wrong_accepted=num_accepted,
        examples=examples[:MOST_EXAMPLES],
        num_whole_texts=len(whole_texts),
        mark=_usual_mark(whole_texts),
    )


def _wrong_reference(verifier: Verifier, problem: Problem, text: str) -> tuple[str, bool] | None:
    """Return why no response to the problem is rewarded, and whether because its answer is a whole text; None if one
    is."""
    wrong = answer_problem(verifier.reference, problem.answer)
    if wrong is not None:
        return wrong, False
    if verifier.reference in TEXT_VERIFIERS:
        # Put into a box, every text equals itself: that says nothing about what a model will answer.
        why = whole_text(text, lambda result: bool(verifier(problem, _response(result))))
        if why is not None:
            return f"no response can give the answer: {why}", True
    if not verifier(problem, _response(text)):
        return f"the reference answer {text[:200]!r} is judged wrong", False
    return None


def _usual_mark(texts: Sequence[str]) -> str | None:
    marks = Counter(marked[0] for text in texts if (marked := marked_result(text)) is not None)
    return next((mark for mark, count in marks.most_common(1) if 2 * count > len(texts)), None)


def _answer_of(row: Mapping[str, Any]) -> Mapping[str, Any]:
    answer = row["answer"]
    return answer if isinstance(answer, Mapping) else {ANSWER_TEXT: answer}


def _response(answer: str) -> str:
    """Return a response in the form that all verifiers of texts read."""
    return f"So the answer is \\boxed{{{answer}}}."


def _wrong_answer(answer: str, others: Sequence[str]) -> str | None:
    if _WHOLE.fullmatch(answer) and len(answer) < 300:
        return str(int(answer) + 1)
    return next((each for each in others if each.strip().casefold() != answer.strip().casefold()), None)


def _countdown(verifier: Verifier, tried: Sequence[Kept]) -> VerifierTrial:
    """Search for solutions, as Countdown has no reference answers; a right one for another target is wrong."""
    solvable = [(number, row) for number, row in tried if len(row["nums"]) <= MOST_SOLVED]
    if not solvable:
        return _untried(verifier.reference, f"problems of more than {MOST_SOLVED} numbers are not solved here")
    examples, num_refused, num_accepted = [], 0, 0
    for number, row in solvable:
        problem = Problem("tried", "tried", "", {"nums": row["nums"], "target": row["target"]})
        found = solution(row["nums"], row["target"])
        if found is None:
            num_refused += 1
            examples.append(BadRow(row=number, reason=f"{row['nums']} do not reach {row['target']}: no response can"))
        elif not verifier(problem, f"<answer>{found}</answer>"):
            num_refused += 1
            examples.append(BadRow(row=number, reason=f"the solution {found} is judged wrong"))
        if verifier(problem, f"<answer>{row['nums'][0]} + 0</answer>"):
            num_accepted += 1
            examples.append(BadRow(row=number, reason=f"{row['nums'][0]} + 0 is judged right"))
    return VerifierTrial(
        verifier=verifier.reference,
        num_tried=len(solvable),
        num_references_refused=num_refused,
        num_wrong_accepted=num_accepted,
        examples=examples[:MOST_EXAMPLES],
    )
