"""Recipes, config fields and the check of a config."""

from __future__ import annotations

from bapo.api.configs import (
    ConfigDraft,
    ConfigFieldPage,
    ConfigReport,
    PromptPreviewPage,
    RecipeInfo,
    RecipePage,
    RunEstimate,
)
from bapo.client.call import route


class ConfigCalls:
    """Recipes, config fields and the check of a config."""

    @route("GET /recipes")
    def recipes(self) -> RecipePage:
        """Return all recipes."""

    @route("GET /recipes/{name}")
    def recipe(self, name: str) -> RecipeInfo:
        """Return one recipe."""

    @route("GET /config-fields")
    def config_fields(self) -> ConfigFieldPage:
        """Return each config field's meaning, range and default."""

    @route("POST /configs/validate")
    def validate(self, draft: ConfigDraft) -> ConfigReport:
        """Check a config. Raises ApiError 422 with every problem."""

    @route("POST /configs/prompts")
    def preview_prompts(self, draft: ConfigDraft) -> PromptPreviewPage:
        """Return the first training problem of each data source, as the model gets it."""

    @route("POST /configs/estimate")
    def estimate(self, draft: ConfigDraft) -> RunEstimate:
        """Estimate the cost of a config from similar runs. Raises ApiError 422 with every problem of the config."""
