"""Which runs a comparison leaves out, and how it names them."""

from __future__ import annotations

from bapo.analysis.comparable import Candidate, left_out_of, left_out_text


def ended(name: str, last: int | None, label: str = "", *, step: int = 150, status: str = "succeeded") -> Candidate:
    return Candidate(name, name, label or name, status, status != "running", step, last)


def reasons(*candidates: Candidate) -> dict[str, str]:
    return {each.name: each.reason for each in left_out_of(candidates)}


def test_runs_of_like_length_are_all_compared() -> None:
    assert reasons(ended("grpo", 150), ended("bapo", 100)) == {}
    # 75 is half of 150, the latest step of two groups; 74 is below.
    assert reasons(ended("grpo", 150), ended("bapo", 150), ended("dapo", 75)) == {}
    assert reasons(ended("grpo", 150), ended("bapo", 150), ended("dapo", 74)) == {"dapo": "too_short"}


def test_several_short_clones_do_not_outvote_the_long_runs() -> None:
    clones = [ended(f"clone-{number}", 3, "clone", step=3) for number in range(5)]
    assert reasons(ended("grpo", 150), ended("bapo", 150), *clones) == dict.fromkeys(
        [each.name for each in clones], "too_short"
    )


def test_two_groups_alone_are_compared_however_short_one_is() -> None:
    assert reasons(ended("grpo", 20, status="failed"), ended("bapo", 150)) == {}
    # Of one group alone the longest run counts.
    assert reasons(ended("a", 150, "bapo"), ended("b", 20, "bapo")) == {"b": "too_short"}


def test_runs_without_an_evaluation_of_their_training() -> None:
    both = (ended("grpo", 150), ended("bapo", 150))
    assert reasons(*both, ended("clone", None)) == {"clone": "never_evaluated"}
    assert reasons(*both, ended("base", 0)) == {"base": "untrained"}
    # What runs still may yet be evaluated.
    assert reasons(*both, ended("new", None, status="running")) == {}
    # Where none was evaluated, or only base models were, nothing sets a run apart.
    assert reasons(ended("grpo", None), ended("bapo", None)) == {}
    assert reasons(ended("grpo", 0), ended("bapo", 0)) == {}


def test_each_is_named_with_its_reason() -> None:
    both = (ended("grpo", 150), ended("bapo", 150))
    found = left_out_of(
        [
            *both,
            ended("clone", None, step=3),
            ended("broken", 25, step=40, status="failed"),
            ended("base", 0, step=1),
            *(ended(f"more-{number}", 5, step=5) for number in range(2)),
        ]
    )
    assert left_out_text(found) == (
        "Left out: clone (3 steps, never evaluated), broken (failed at step 40, last evaluated at step 25), "
        "base (1 step, evaluated before the first only) and 2 other runs."
    )
    assert left_out_text([]) == ""
