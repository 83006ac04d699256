"""Recipes, config fields and the check of a config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from bapo.api.base import Body, FieldProblem, JsonObject, Page, Text


class RecipeInfo(Body):
    """A named starting point."""

    name: str
    title: str
    description: str
    config: dict[str, Any]
    """The fields that it sets."""
    sources: dict[str, str] = Field(default={})
    """Dotted field → where its value comes from: a table or section of the paper, or `assumed` with the reason."""


class RecipePage(Page):
    """The recipes that the server knows."""

    items: Sequence[RecipeInfo]


class ConfigFieldVariant(Body):
    """What is otherwise about a config field in one method, or of one type of tasks."""

    description: str
    default: Any
    optional: bool
    minimum: float | None
    maximum: float | None


class ConfigFieldInfo(Body):
    """What a form needs to know of one config field."""

    path: str
    """Dotted, such as `method.c1`."""
    description: str
    default: Any
    kind: Literal[
        "integer", "number", "fraction", "fraction_range", "text", "flag", "choice", "choices", "list", "texts"
    ]
    optional: bool
    """May be left empty."""
    minimum: float | None
    maximum: float | None
    choices: Sequence[str]
    method_types: Sequence[str]
    """Methods that know the field; empty for fields of all methods."""
    variants: Mapping[str, ConfigFieldVariant] = {}
    """Method, or type of tasks → what differs there from the above, which is that of the first of them."""
    task_types: Sequence[str] = ()
    """Types of tasks that know the field; empty for fields of all tasks."""


class ConfigFieldPage(Page):
    """All config fields."""

    items: Sequence[ConfigFieldInfo]


class ConfigDraft(Body):
    """A config to check: a recipe or a parent run, and changes to it."""

    recipe: Text | None = Field(default=None, examples=["countdown-demo"])
    parent_id: Text | None = None
    """Start from this run's config (clone)."""
    changes: JsonObject = Field(default={}, examples=[{"method.c1": 0.25, "training.steps": 50}])
    """Dotted fields and their new values."""
    project: Text | None = Field(default=None, max_length=200, examples=["default"])
    """Name of what the run belongs to; empty: the parent's project, or the caller's only one, or the first."""


class ConfigCheck(ConfigDraft):
    """A config to check before a run, or a fork, is made of it."""

    fork_step: int | None = Field(default=None, ge=1, le=2**31 - 1)
    """Start from the parent's config as it was in force at its checkpoint of this step, and say what a fork of that
    checkpoint cannot change."""


class ThresholdMapRow(Body):
    """What each number of correct responses is at one mean accuracy."""

    r_tot: float
    c2: float
    c3: float
    roles: Sequence[str]
    """For k = 0..G, a `+`-joined subset of `fresh`, `difficult`, `reusable`, or `nothing`."""


class ConfigReport(Body):
    """A checked config."""

    config: dict[str, Any]
    """Complete, with every default."""
    warnings: Sequence[FieldProblem]
    diff: dict[str, tuple[Any, Any]]
    """Dotted field → (parent's value, this value); against the recipe where there is no parent."""
    threshold_map: Sequence[ThresholdMapRow]
    """Empty for methods without thresholds."""
    constants: dict[str, float | None]
    """K1, K2, K3 of Theorem 3.2 (`K3` at r_tot = 0), and `K2_exact`; None where not defined."""


class EstimateRange(Body):
    """A median over similar runs, and the least and the most of them."""

    value: float
    low: float
    high: float


class SimilarRun(Body):
    """A run that an estimate rests on."""

    id: str
    name: str
    steps: int
    differs: Sequence[str]
    """What it has otherwise of the fields that matter for cost, such as "B 64"."""


class RunEstimate(Body):
    """What a config will take. Rollouts by purpose follow from it; the rest rests on similar runs that have ended."""

    steps: int | None
    """None, as the next three, where `training.epochs` counts them and how many problems a file has is not known."""
    fresh: int | None
    """Rollouts of fresh prompts."""
    reevaluated_at_most: int | None
    """Rollouts of difficult prompts answered again, if every re-evaluation is as large as it may be."""
    tracking: int | None
    evaluation: int | None
    """None too where the number of held-out problems is not known."""
    further_at_most: int | None = 0
    """Rollouts of batches of prompts beyond the first one of a step, if every step takes all its rounds (DAPO)."""
    rollouts: EstimateRange | None = None
    """Of training: fresh and re-evaluated. None, as all that follows, where no run is similar."""
    tokens: EstimateRange | None = None
    """Of these rollouts."""
    seconds: EstimateRange | None = None
    compute_hours: EstimateRange | None = None
    """GPU-hours, or slot-hours on the CPU."""
    num_gpus: int = 0
    """GPUs that the most similar run held; 0 on the CPU."""
    cost: EstimateRange | None = None
    """None too where the deployment sets no price."""
    currency: str = "USD"
    similar_runs: Sequence[SimilarRun] = ()
    """The most similar first: same model, engine and G, and sizes at most four times as large or small."""
