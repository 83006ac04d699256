"""Held-out sets of one name in several runs: which are the same, what different ones are called, what is said."""

from __future__ import annotations

from bapo.analysis.held_out_sets import HeldOutSet, named_sets, newest_of_run
from bapo.rollout import problems_digest, same_problems

ANSWERS = {"a": {"value": 1}, "b": {"value": 2}}
WHOLE = problems_digest("ab", ANSWERS)
PROMPTS = problems_digest("ab")


def held_out(num_problems: int = 50, k: int = 2, problems: str = WHOLE, dataset: str = "CD-34") -> HeldOutSet:
    return HeldOutSet(dataset, num_problems, k, problems)


def test_a_digest_is_of_the_problems_and_their_answers_in_any_order() -> None:
    assert problems_digest("ba", dict(reversed(ANSWERS.items()))) == WHOLE
    assert WHOLE.startswith(f"{PROMPTS}-")
    corrected = problems_digest("ab", {**ANSWERS, "b": {"value": 3}})
    assert problems_digest("ac") != PROMPTS
    assert not same_problems(corrected, WHOLE)
    # Where one of the two knows no answers, the prompts decide.
    assert same_problems(PROMPTS, WHOLE)
    assert same_problems(corrected, PROMPTS)
    assert not same_problems(problems_digest("ac"), WHOLE)


def test_one_set_keeps_its_name() -> None:
    sets = named_sets([held_out(), held_out(), held_out(dataset="CD-4")])
    assert set(sets.labels.values()) == {"CD-34", "CD-4"}
    assert sets.note() is None
    assert sets.of_one_name("CD-34") == frozenset()


def test_sets_of_other_sizes_and_k_are_named_apart() -> None:
    small, large = held_out(50, 2), held_out(200, 8, problems_digest("abc", ANSWERS))
    sets = named_sets([small, large, small])
    assert (sets.labels[small], sets.labels[large]) == ("CD-34 (50 × 2)", "CD-34 (200 × 8)")
    assert sets.of_one_name("CD-34 (50 × 2)") == {"CD-34 (200 × 8)"}
    said = (
        "CD-34 is 50 problems × 2 responses in some runs and 200 problems × 8 responses in others: different held-out "
        "sets, whose accuracies are not compared."
    )
    assert sets.note() == sets.difference("CD-34 (50 × 2)") == said
    # The same problems with another k are another measurement.
    assert len(set(named_sets([held_out(k=2), held_out(k=8)]).labels.values())) == 2


def test_sets_of_one_size_are_told_apart_by_what_differs() -> None:
    other = held_out(problems=problems_digest("ac", {"a": 1, "c": 2}))
    assert named_sets([held_out(), other]).labels[held_out()] == f"CD-34 (50 × 2, problems {WHOLE[:6]})"
    corrected = held_out(problems=problems_digest("ab", {"a": 1}))
    labels = named_sets([held_out(), corrected]).labels
    assert labels[held_out()] == f"CD-34 (50 × 2, answers {WHOLE.partition('-')[2][:6]})"


def test_a_set_without_answers_equals_the_one_with_its_problems_and_that_is_said() -> None:
    known, unknown = held_out(), held_out(problems=PROMPTS)
    sets = named_sets([unknown, known])
    assert set(sets.labels.values()) == {"CD-34"}
    assert sets.note() == (
        "On CD-34, the problems and the responses per problem are the same; whether the answers are is not recorded in "
        "every run."
    )
    # Alone it is compared with nothing.
    assert named_sets([unknown]).note() is None
    # With two that have its problems, it may be either, and is neither.
    corrected = held_out(problems=problems_digest("ab", {"a": 1}))
    assert len(set(named_sets([known, corrected, unknown]).labels.values())) == 3


def test_of_a_set_that_changes_in_a_run_the_newest_counts() -> None:
    assert newest_of_run([(held_out(50), 0), (held_out(60), 10), (held_out(50), 5)]) == {"CD-34": held_out(60)}
