"""Recipes, config fields and validation of configs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from bapo.api.base import Body, FieldProblem, JsonObject, Page, Text


class RecipeInfo(Body):
    """A recipe."""

    name: str
    title: str
    description: str
    config: dict[str, Any]
    """The fields that it sets."""
    sources: dict[str, str] = Field(default={})
    """Dotted field → where its value comes from: a table or section of the paper, or `assumed` with the reason."""


class RecipePage(Page):
    """All recipes."""

    items: Sequence[RecipeInfo]


class ConfigFieldVariant(Body):
    """Default, range and meaning of a config field where one method or task has its own."""

    description: str
    default: Any
    optional: bool
    minimum: float | None
    maximum: float | None


class ConfigFieldInfo(Body):
    """Description of a config field, for forms."""

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
    """Methods that have the field; empty: all."""
    variants: Mapping[str, ConfigFieldVariant] = {}
    """Method or type of tasks → differences to the above, which describes the first of them."""
    task_types: Sequence[str] = ()
    """Types of tasks that have the field; empty: all."""


class ConfigFieldPage(Page):
    """All config fields."""

    items: Sequence[ConfigFieldInfo]


class ConfigDraft(Body):
    """A recipe or a parent run, with changes."""

    recipe: Text | None = Field(default=None, examples=["countdown-demo"])
    parent_id: Text | None = None
    """Start from this run's config (clone)."""
    changes: JsonObject = Field(default={}, examples=[{"method.c1": 0.25, "training.steps": 50}])
    """Dotted fields and their new values."""
    project: Text | None = Field(default=None, max_length=200, examples=["default"])
    """Name of the run's project; empty: the parent's project, else the caller's only or first one."""


class ConfigCheck(ConfigDraft):
    """A config to validate before submitting a run or a fork."""

    fork_step: int | None = Field(default=None, ge=1, le=2**31 - 1)
    """Start from the parent's config as it was in force at its checkpoint of this step, and say what a fork of that
    checkpoint cannot change."""


class ThresholdMapRow(Body):
    """Role of each number of correct responses at one mean accuracy."""

    r_tot: float
    c2: float
    c3: float
    roles: Sequence[str]
    """For k = 0..G, a `+`-joined subset of `fresh`, `difficult`, `reusable`, or `nothing`."""


class ConfigReport(Body):
    """A validated config."""

    config: dict[str, Any]
    """Complete, with every default."""
    warnings: Sequence[FieldProblem]
    diff: dict[str, tuple[Any, Any]]
    """Dotted field → (parent's value, this value); against the recipe without a parent."""
    threshold_map: Sequence[ThresholdMapRow]
    """Empty for methods without thresholds."""
    constants: dict[str, float | None]
    """K1, K2, K3 of Theorem 3.2 (`K3` at r_tot = 0), and `K2_exact`; null where undefined."""


class PromptTurn(Body):
    """A message of a prompt."""

    role: str
    content: str


class PreviewedPrompt(Body):
    """A training problem of a config, with its prompt."""

    prompt_id: str
    data_source: str
    messages: Sequence[PromptTurn]
    """The prompt before the chat template."""
    prompt: str | None
    """The text that the model gets; null if the server does not have the model."""
    num_tokens: int | None
    answer: dict[str, Any]
    """Ground truth used by the verifier."""
    solution: str | None
    """Worked solution that a warm start may learn from."""


class PromptPreviewPage(Page):
    """The first training problem of each data source."""

    items: Sequence[PreviewedPrompt]
    template: Literal["applied", "none", "unknown"]
    """`none`: the model has no chat template and gets plain text. `unknown`: the server does not have the model, whose
    template the trainer applies."""


class EstimateRange(Body):
    """Median, minimum and maximum over similar runs."""

    value: float
    low: float
    high: float


class SimilarRun(Body):
    """A run that the estimate is based on."""

    id: str
    name: str
    steps: int
    differs: Sequence[str]
    """Differences in fields that affect the cost, such as "B 64"."""


class RunEstimate(Body):
    """Estimated cost of a config: rollouts from the config itself, the rest from similar finished runs."""

    steps: int | None
    """Null, like the next three, if `training.epochs` is set and the number of problems in a file is unknown."""
    fresh: int | None
    """Rollouts of fresh prompts."""
    reevaluated_at_most: int | None
    """Rollouts of re-evaluated prompts, if every re-evaluation is as large as it may be."""
    tracking: int | None
    evaluation: int | None
    """Also null if the number of held-out problems is unknown."""
    further_at_most: int | None = 0
    """Rollouts of further rounds in a step, if every step takes all its rounds (DAPO)."""
    warm_start_steps: int = 0
    """Supervised steps of the warm start, before the first training step."""
    warm_start_at_most: int | None = 0
    """Rollouts of the warm start and its evaluations, if the base model answers and no earlier run made its model."""
    rollouts: EstimateRange | None = None
    """Training rollouts, fresh and re-evaluated. Null, like all that follow, without similar runs."""
    tokens: EstimateRange | None = None
    """Number of response tokens of these rollouts."""
    seconds: EstimateRange | None = None
    compute_hours: EstimateRange | None = None
    """GPU-hours, or slot-hours on the CPU."""
    num_gpus: int = 0
    """GPUs of the most similar run; 0 on the CPU."""
    cost: EstimateRange | None = None
    """Also null if the deployment sets no price."""
    currency: str = "USD"
    similar_runs: Sequence[SimilarRun] = ()
    """Most similar first: same model, engine and G, and sizes within a factor of four."""
