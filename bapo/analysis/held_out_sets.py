"""Held-out sets of several runs: which are the same, and what those of one name are called where they differ.

A set is its problems with their answers, and its responses per problem, k: accuracies on different sets are no
measurements of one thing, whatever the sets are called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bapo.analysis.number_format import counted
from bapo.records import EvaluationRecord
from bapo.rollout import ANSWERS_MARK, same_problems

DIGITS_SHOWN = 6


class HeldOutSet(NamedTuple):
    """A held-out set as a run was evaluated on it."""

    dataset: str
    """Name of the set."""
    num_problems: int
    num_samples: int
    """k of avg@k."""
    problems: str
    """Digest: `bapo.rollout.problems_digest`."""

    def equals(self, other: HeldOutSet) -> bool:
        """Return whether everything known of both is the same."""
        return self[:3] == other[:3] and same_problems(self.problems, other.problems)

    @property
    def has_answers(self) -> bool:
        """Return whether the digest covers the answers as well."""
        return ANSWERS_MARK in self.problems


def set_of(record: EvaluationRecord) -> HeldOutSet:
    """Return the set of an evaluation."""
    return HeldOutSet(record.dataset, len(record.num_correct), record.num_samples, record.problem_set)


class NamedSets(NamedTuple):
    """Held-out sets of several runs with a name for each."""

    labels: Mapping[HeldOutSet, str]
    """The set's own name, or with its size where another set has that name: "CD-34 (50 × 2)"."""
    variants: Mapping[str, Sequence[str]]
    """By name, where several sets have it: what each is, in words."""
    without_answers: Sequence[str]
    """Labels of sets that several runs have, and of which the answers are not known of each."""

    def of_one_name(self, label: str) -> frozenset[str]:
        """Return the labels of the other sets of the same name."""
        names = {each.dataset for each, given in self.labels.items() if given == label}
        return frozenset(given for each, given in self.labels.items() if each.dataset in names and given != label)

    def difference(self, label: str | None = None) -> str | None:
        """Say which sets have one name and are not compared: all, or those called like this one; None without any."""
        names = {each.dataset for each, given in self.labels.items() if label in (None, given)}
        sentences = [
            f"{name} is {_listed(kinds)}: different held-out sets, whose accuracies are not compared."
            for name, kinds in self.variants.items()
            if name in names
        ]
        return " ".join(sentences) or None

    def note(self) -> str | None:
        """Say what is not compared, and what is compared although not all of it is known; None without either."""
        parts = [self.difference()]
        if self.without_answers:
            parts.append(
                f"On {', '.join(self.without_answers)}, the problems and the responses per problem are the same; "
                "whether the answers are is not recorded in every run."
            )
        return " ".join(part for part in parts if part) or None


def _listed(kinds: Sequence[str]) -> str:
    return " in some runs, ".join(kinds[:-1]) + f" in some runs and {kinds[-1]} in others"


def named_sets(found: Iterable[HeldOutSet]) -> NamedSets:
    """Name the sets of several runs, given once for each run, so that different ones have different names."""
    sets = list(found)
    same: dict[str, list[list[HeldOutSet]]] = {}
    # A set whose answers are not known joins the one that has its problems, unless there are several.
    for each in sorted(dict.fromkeys(sets), key=lambda each: not each.has_answers):
        known = same.setdefault(each.dataset, [])
        equal = [members for members in known if members[0].equals(each)]
        if len(equal) == 1:
            equal[0].append(each)
        else:
            known.append([each])
    labels: dict[HeldOutSet, str] = {}
    variants: dict[str, Sequence[str]] = {}
    for dataset, kinds in same.items():
        # In the order in which the runs were given.
        kinds.sort(key=lambda members: min(map(sets.index, members)))
        sizes = [f"{members[0].num_problems:,} × {members[0].num_samples}" for members in kinds]
        marks = [
            _mark(members[0], kinds) if sizes.count(size) > 1 else ""
            for members, size in zip(kinds, sizes, strict=True)
        ]
        for members, size, mark in zip(kinds, sizes, marks, strict=True):
            label = dataset if len(kinds) == 1 else f"{dataset} ({size}{', ' if mark else ''}{mark})"
            labels |= dict.fromkeys(members, label)
        if len(kinds) > 1:
            variants[dataset] = [
                f"{counted(members[0].num_problems, 'problem')} × {counted(members[0].num_samples, 'response')}"
                + (f" ({mark})" if mark else "")
                for members, mark in zip(kinds, marks, strict=True)
            ]
    counts = [labels[each] for each in sets]
    shared = [label for each, label in labels.items() if not each.has_answers and counts.count(label) > 1]
    return NamedSets(labels, variants, list(dict.fromkeys(shared)))


def _mark(one: HeldOutSet, kinds: Sequence[Sequence[HeldOutSet]]) -> str:
    """Return what distinguishes sets of one size: their problems, or their answers if the problems agree."""
    prompts, _, answers = one.problems.partition(ANSWERS_MARK)
    alike = sum(members[0].problems.partition(ANSWERS_MARK)[0] == prompts for members in kinds)
    if alike == 1:
        return f"problems {prompts[:DIGITS_SHOWN]}"
    return f"answers {answers[:DIGITS_SHOWN]}" if answers else "answers not recorded"


def newest_of_run(records: Iterable[tuple[HeldOutSet, int]]) -> dict[str, HeldOutSet]:
    """Return the set of a run's newest evaluation by name: a run may change a set on its way."""
    newest: dict[str, tuple[int, HeldOutSet]] = {}
    for each, step in records:
        if each.dataset not in newest or step >= newest[each.dataset][0]:
            newest[each.dataset] = (step, each)
    return {dataset: each for dataset, (_, each) in newest.items()}
