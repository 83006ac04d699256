"""A study file changed statement by statement: what need not change stays, comments included."""

from __future__ import annotations

import copy
import tomllib
from typing import Any

import pytest

from bapo.study.declaration import shipped
from frontend.pages.studies.rewriting import rewritten, written

FILE = """# Why this study is made.
title = "Delay"   # as in the paper
seeds = [
    1,  # the first
    2,
]

[set]
# Shorter than the recipe.
"training.steps" = 100 # a minute

[[arms]]
name = "A" # ours
method = "bapo"

# The reference.
[[arms]]
name = "B"
method = "grpo"
set = { "training.epochs" = 1 }
"""


def changed(**parts: Any) -> dict[str, Any]:
    return copy.deepcopy(tomllib.loads(FILE)) | parts


def test_a_file_that_says_it_already_stays_as_it_is() -> None:
    assert rewritten(FILE, tomllib.loads(FILE)) == FILE


def test_one_value_changes_one_line_and_keeps_its_comment() -> None:
    assert rewritten(FILE, changed(title="Delay, again")) == FILE.replace('"Delay" ', '"Delay, again" ')
    steps = changed(set={"training.steps": 200})
    assert rewritten(FILE, steps) == FILE.replace("= 100 #", "= 200 #")


def test_a_value_over_several_lines_is_replaced_whole() -> None:
    found = rewritten(FILE, changed(seeds=[1, 2, 3]))
    assert "seeds = [1, 2, 3]\n\n[set]" in found
    assert "# the first" not in found


def test_new_parts_stand_where_toml_wants_them() -> None:
    wanted = changed(num_runs=4, primary={"arm": "A", "against": "B"})
    found = rewritten(FILE, wanted)
    assert found.index("num_runs = 4") < found.index("[set]")
    assert found.endswith('\n[primary]\narm = "A"\nagainst = "B"\n')
    assert tomllib.loads(found) == wanted


def test_arms_keep_their_text_when_one_before_them_goes() -> None:
    wanted = changed()
    del wanted["arms"][0]
    found = rewritten(FILE, wanted)
    assert '# The reference.\n[[arms]]\nname = "B"' in found
    assert '"A"' not in found
    wanted["arms"].append({"name": "C", "method": "dapo", "set": {"method.c1": 0.25}})
    assert tomllib.loads(rewritten(FILE, wanted)) == wanted


def test_a_layout_that_cannot_be_followed_is_written_anew() -> None:
    text = 'title = "x"\ntuning.seeds = [1]\ntuning.grid = { "method.v" = [1] } # candidates\n'
    wanted = {"title": "x", "tuning": {"seeds": [2], "grid": {"method.v": [1]}}}
    assert tomllib.loads(rewritten(text, wanted)) == wanted


@pytest.mark.parametrize("text", ["plain", 'with "quotes" and \\ and # and ü', "two\nlines\n", 'ends with "', "\x7f\t"])
def test_any_text_survives(text: str) -> None:
    wanted = {"title": text, "arms": [{"name": text, "set": {"a.b": text}}]}
    assert tomllib.loads(written(wanted)) == wanted


@pytest.mark.parametrize("name", sorted(shipped()))
def test_shipped_studies_are_written_from_scratch_and_say_the_same(name: str) -> None:
    given = tomllib.loads(shipped()[name])
    assert tomllib.loads(written(given)) == given
