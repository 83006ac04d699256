"""Everything that is wrong with a study file, at once."""

from __future__ import annotations

from bapo.study.declaration import shipped
from bapo.study.drafting import DraftedRun, drafted
from bapo.study.editing import written
from bapo.study.examination import examine
from tests.bapo.study.observations import TEXT


def fields(text: str) -> list[str]:
    return [problem.field for problem in examine(text).problems]


def test_a_good_file_has_no_problem_and_is_the_declaration() -> None:
    for text in (TEXT, *shipped().values()):
        found = examine(text)
        assert (list(found.problems), found.stood_in) == ([], frozenset())
        assert found.declaration is not None


def test_mistakes_of_every_kind_are_told_together() -> None:
    text = """
title = "x"
recipe = "countdown-demo"
seeds = [1, 1]
test_sets = ["CD-3"]
num_runs = 3
bogus = 1
[[arms]]
name = "A"
method = "bapo"
set = { "method.c1" = 7 }
[[arms]]
name = "B"
method = "grpo"
[[arms]]
name = "C"
[primary]
arm = "A"
against = "Q"
"""
    assert sorted(fields(text)) == [
        "arms.2.method",
        "arms.A.set.method.c1",
        "bogus",
        "num_runs",
        "primary.against",
        "question",
        "seeds",
        "test_sets",
    ]
    found = examine(text)
    assert found.declaration is None
    # Seeds can be read all the same, so that the power can be shown.
    assert found.readable is not None
    assert found.readable.seeds == (1, 1)
    assert "seeds" not in found.stood_in


def test_what_stands_in_for_a_refused_part_is_not_found_fault_with() -> None:
    assert fields(TEXT.replace('test_sets = ["CD-34"]', "test_sets = 5")) == ["test_sets"]
    assert fields(TEXT.replace("seeds = [1, 2, 3]", 'seeds = ["one"]')) == ["seeds.0"]
    assert fields("[[") == ["study"]
    assert "arms" in fields('title = "x"')


def test_runs_become_arms_and_their_seeds_the_studys() -> None:
    def run(method: str, seed: int, **explicit: object) -> DraftedRun:
        own = {"method.type": method, "training.seed": seed, "training.steps": 20, **explicit}
        config = {"method": {"type": method}, "training": {"seed": seed}, "task": {"type": "countdown"}}
        return DraftedRun("countdown-demo", own, config)

    found = drafted(
        [run("grpo", 1), run("grpo", 2), run("bapo", 2), run("bapo", 1, **{"method.c1": 0.25})],
    )
    assert found["recipe"] == "countdown-demo"
    assert (found["seeds"], found["test_sets"], found["set"]) == ([1, 2], ["CD-34", "CD-4"], {"training.steps": 20})
    assert [(arm["name"], arm.get("set")) for arm in found["arms"]] == [
        ("GRPO", None),
        ("BAPO", None),
        ("BAPO (c1 = 0.25)", {"method.c1": 0.25}),
    ]
    assert found["num_runs"] == 6
    # What only a person knows is asked for, and nothing else is wrong.
    assert set(fields(written(found))) == {"title", "question"}
