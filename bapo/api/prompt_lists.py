"""Prompt lists: which prompts of a project runs leave out, and which they see more or less often."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StrictBool

from bapo.api.base import Body, Page, Text
from bapo.config import patterns
from bapo.config.prompt_weights import MOST_ENTRIES, weight_problem

Action = Literal["quarantine", "weight"]


def _weight(value: float) -> float:
    if (problem := weight_problem(Decimal(str(value)))) is not None:
        raise ValueError(problem)
    return value


PromptIdentity = Annotated[Text, Field(min_length=1, max_length=1_000, examples=["GSM8K:1f0c2b7e9d1a4c6f"])]


class PromptEntry(Body):
    """Entry of a list: a prompt and its action."""

    prompt_id: PromptIdentity
    weight: Annotated[float, AfterValidator(_weight)] = 0.0
    """0: quarantined, it is not trained on; else how often it comes up, where all others weigh 1; in thousandths."""
    note: Text = Field(default="", max_length=1_000)


class PromptListCreate(Body):
    """Make a list."""

    name: Text = Field(min_length=1, max_length=100, pattern=patterns.NAME, examples=["suspected-labels"])
    """Configs refer to it as `@name` in `task.prompt_list`."""
    description: Text = Field(default="", max_length=10_000)
    project: Text | None = Field(default=None, max_length=200)
    """Project whose runs may use it; empty: the caller's only or first one."""


class PromptListChange(Body):
    """Set what a list says of prompts, and take prompts off it. What is there already makes no new version."""

    set: Sequence[PromptEntry] = Field(default=(), max_length=MOST_ENTRIES)
    remove: Sequence[PromptIdentity] = Field(default=(), max_length=MOST_ENTRIES)
    replace: StrictBool = False
    """Take everything else off the list."""


class PromptListInfo(Body):
    """A list as it is now."""

    id: str
    name: str
    description: str
    project: str
    owner: str
    version: int
    """The newest, which `@name` stands for; 0 while nothing was ever listed."""
    num_quarantined: int
    num_weighted: int
    num_runs: int
    """Runs that were submitted with it, in whichever version."""
    created_at: datetime
    changed_at: datetime
    may_remove: bool
    """True if the caller may remove it."""


class PromptListPage(Page):
    """Lists by name."""

    items: Sequence[PromptListInfo]


class PromptListEntryInfo(PromptEntry):
    """An entry, with who made it."""

    author: str
    added_at: datetime
    from_version: int
    """The version that it came with."""


class PromptListEntryPage(Page):
    """Entries of a version, by identity."""

    items: Sequence[PromptListEntryInfo]
    total: int
    version: int


class PromptListVersionInfo(Body):
    """A change of a list."""

    number: int
    author: str
    created_at: datetime
    num_set: int
    num_removed: int
    num_quarantined: int
    """On the list since."""
    num_weighted: int


class PromptListVersionPage(Page):
    """Changes, the newest first, at most 200."""

    items: Sequence[PromptListVersionInfo]


class PromptListRun(Body):
    """A run that was submitted with a list."""

    id: str
    name: str
    status: str
    version: int
    created_at: datetime


class PromptListRunPage(Page):
    """Runs that use a list, the newest first, at most 200."""

    items: Sequence[PromptListRun]
