"""Everything that is wrong with a study file, at once."""

from __future__ import annotations

import time

import pytest
import tomlkit

from bapo.config.error_messages import MOST_PROBLEMS
from bapo.study.declaration import MOST_CHARACTERS, shipped
from bapo.study.draft import DraftedRun, drafted
from bapo.study.examination import examine
from tests.bapo.study.measured_runs import TEXT


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
    assert set(fields(tomlkit.dumps(found))) == {"title", "question"}


HEAD = """
title = "x"
question = "?"
recipe = "countdown-demo"
seeds = [1]
test_sets = ["CD-34"]
num_runs = 2
primary = { arm = "A", against = "B" }
"""
ARMS = '[[arms]]\nname = "A"\nmethod = "bapo"\n[[arms]]\nname = "B"\nmethod = "grpo"\n'


def test_the_head_of_these_tests_is_a_study() -> None:
    assert fields(HEAD + ARMS) == []


def filled(start: str, line: str, end: str = "") -> str:
    """Return a file of the greatest length, made of this line, whose `#` is its number."""
    lines, left = [start], MOST_CHARACTERS - len(start) - len(end)
    while (left := left - len(text := line.replace("#", str(len(lines))))) >= 0:
        lines.append(text)
    return "".join([*lines, end])


@pytest.mark.parametrize(
    "text",
    [
        filled(HEAD, "[[arms]]\n"),
        filled(HEAD, '[[arms]]\nname = "a#"\nwrong = 1\n'),
        filled(HEAD, "[[regimes]]\n"),
        filled(HEAD, "k# = 1\n"),
        filled(HEAD + ARMS + "[set]\n", "k# = 1\n"),
        filled(HEAD + ARMS + "[set]\n", "method.k# = 1\n"),
        filled(HEAD.replace("[1]", "["), "'x',\n"),
        filled(HEAD.replace("seeds = [1]", "seeds = ["), "'x',", "]\n" + ARMS),
        filled(HEAD + "x", ".a", " = 1\n"),
        filled(HEAD + '["' + "a" * 100_000 + '"]\n', "k# = 1\n"),
        filled(HEAD + ARMS + "[tuning]\nseeds = [7]\n[tuning.grid]\n", "k# = [1, 2]\n"),
        filled(HEAD + ARMS + "[tuning]\nseeds = [7]\ngrid.x = [1, 2]\narms = [", '"a#",', "]\n"),
    ],
    ids=[
        "empty arms",
        "wrong arms",
        "empty regimes",
        "unknown parts",
        "unknown fields",
        "unknown fields of a section",
        "no TOML",
        "seeds that are none",
        "a key of many parts",
        "a long key",
        "a grid of many fields",
        "unknown arms",
    ],
)
def test_a_file_of_the_greatest_length_is_examined_at_once(text: str) -> None:
    began = time.process_time()
    found = examine(text)
    # The slowest takes 1 s. Where the work grows with the square of the lines, it takes minutes.
    assert time.process_time() - began < 10
    assert 1 <= len(found.problems) <= MOST_PROBLEMS + 1


def test_of_very_many_problems_the_first_are_told_and_how_many_there_are_besides() -> None:
    found = examine(HEAD + "".join(f"k{number} = 1\n" for number in range(MOST_PROBLEMS + 5)) + ARMS)
    assert [problem.field for problem in found.problems[:2]] == ["k0", "k1"]
    assert found.problems[-1].remedy == "5 more problems are not shown: correct these first"


@pytest.mark.parametrize(
    ("grid", "runs"),
    [
        # 2 arms × 2^10 + 2 final ones; 2 × 50^6 = 31,250,000,000.
        ("".join(f"k{n} = [1, 2]\n" for n in range(10)), "2050 runs"),
        ("".join(f"k{n} = {list(range(50))}\n" for n in range(6)), "more than 1,000,000,000 runs"),
    ],
)
def test_runs_beyond_the_most_are_counted_and_not_made(grid: str, runs: str) -> None:
    found = examine(f"{HEAD}{ARMS}[tuning]\nseeds = [7]\n[tuning.grid]\n{grid}")
    (problem,) = found.problems
    assert problem.field == "num_runs"
    assert runs in problem.remedy
    assert "at most 1,000 can be made" in problem.remedy


@pytest.mark.parametrize(
    ("line", "field", "remedy"),
    [
        ("x = " + "9" * 5_000, "study", "not readable as TOML"),
        ("x = { y = 0x8000000000000000 }", "x.y", "a whole number has at most 64 bits here"),
        ("x = " + "{ a = " * 40 + "1" + " }" * 40, "study", "x is nested more than 32 levels deep"),
        ("x = " + "[" * 5_000, "study", "nested too deeply"),
    ],
)
def test_values_that_nothing_can_hold_are_refused(line: str, field: str, remedy: str) -> None:
    (problem,) = examine(f"{HEAD}{line}\n{ARMS}").problems
    assert problem.field == field
    assert remedy in problem.remedy
