"""Names whose every character can be seen, wherever they are given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from bapo import observe
from bapo.api.alerts import FillRateCondition, RuleInfo, RuleWrite
from bapo.api.boards import BoardCreate
from bapo.api.imports import ImportCreate
from bapo.api.people import PersonCreate, ProjectCreate
from bapo.api.runs import RunCreate, RunFork, RunUpdate
from bapo.api.studies import StudyCreate
from bapo.api.views import ViewInfo, ViewWrite
from bapo.api.webhooks import WebhookInfo, WebhookWrite
from bapo.config import ConfigError
from bapo.config.patterns import visible


@pytest.mark.parametrize(
    "name", ["demo", "c1 = ½, v2", "长跑", "für Ada", "a\u00a0b", "العربية", "naïve", "e\u0301", "🚀", ""]
)
def test_a_name_of_visible_characters_stays_as_it_is(name: str) -> None:
    assert visible(name) == name


@pytest.mark.parametrize(
    ("character", "said"),
    [
        ("\u202e", "U+202E (RIGHT-TO-LEFT OVERRIDE)"),
        ("\u2066", "U+2066 (LEFT-TO-RIGHT ISOLATE)"),
        ("\u200b", "U+200B (ZERO WIDTH SPACE)"),
        ("\u200d", "U+200D (ZERO WIDTH JOINER)"),
        ("\ufeff", "U+FEFF (ZERO WIDTH NO-BREAK SPACE)"),
        ("\u00ad", "U+00AD (SOFT HYPHEN)"),
        ("\t", "U+0009 (control character)"),
        ("\r", "U+000D (control character)"),
        ("\x7f", "U+007F (control character)"),
        ("\u2028", "U+2028 (LINE SEPARATOR)"),
        ("\u3164", "U+3164 (HANGUL FILLER)"),
    ],
)
def test_a_character_that_cannot_be_seen_is_named(character: str, said: str) -> None:
    with pytest.raises(ValueError, match="cannot be seen in a name: remove it") as refusal:
        visible(f"a{character}b")
    assert str(refusal.value).startswith(f"the character {said}")


HIDDEN = "demo\u202eexe"


@pytest.mark.parametrize(
    "make",
    [
        lambda: RunCreate(name=HIDDEN),
        lambda: RunCreate(name="demo", group=HIDDEN),
        lambda: RunCreate(name="demo", tags=[HIDDEN]),
        lambda: RunUpdate(name=HIDDEN),
        lambda: RunFork(step=1, name=HIDDEN),
        lambda: ImportCreate(name=HIDDEN, source="x", config={}, attempts=1),
        lambda: ProjectCreate(name="plan\u200dning"),
        lambda: PersonCreate(name="a\u200dda"),
        lambda: BoardCreate(name=HIDDEN),
        lambda: ViewWrite(name=HIDDEN),
        lambda: StudyCreate(name=HIDDEN),
        lambda: WebhookWrite(name=HIDDEN, url="https://hooks.example.org", events=["run.failed"]),
        lambda: RuleWrite(name=HIDDEN, condition=FillRateCondition(steps=1)),
    ],
)
def test_every_name_that_is_given_to_the_server_is_checked(make: Callable[[], object]) -> None:
    with pytest.raises(ValidationError, match=r"the character U\+20(2E|0D) \(.*\) cannot be seen in a name: remove it"):
        make()


@pytest.mark.parametrize("shown", [RuleInfo, ViewInfo, WebhookInfo])
def test_what_was_named_before_is_still_shown(shown: type[BaseModel]) -> None:
    with pytest.raises(ValidationError) as refusal:
        shown.model_validate({"name": HIDDEN})
    assert "name" not in {each["loc"][0] for each in refusal.value.errors()}


def test_an_observed_run_is_named_by_the_same_rule(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"name = .*: the character U\+202E \(RIGHT-TO-LEFT OVERRIDE\) cannot be seen"
    ):
        observe.run(HIDDEN, folder=tmp_path)
