"""Recipes, config fields and the check of a config."""

from __future__ import annotations

from urllib.parse import quote

from bapo.api.configs import ConfigDraft, ConfigFieldPage, ConfigReport, RecipeInfo, RecipePage, RunEstimate
from bapo.client.call import Call, Endpoint, get, post


class ConfigCalls:
    """Recipes, config fields and the check of a config."""

    @Endpoint
    def recipes(self) -> Call[RecipePage]:
        """All recipes."""
        return get("/recipes", RecipePage)

    @Endpoint
    def recipe(self, name: str) -> Call[RecipeInfo]:
        """One recipe."""
        return get(f"/recipes/{quote(name, safe='')}", RecipeInfo)

    @Endpoint
    def config_fields(self) -> Call[ConfigFieldPage]:
        """Each config field's meaning, range and default."""
        return get("/config-fields", ConfigFieldPage)

    @Endpoint
    def validate(self, draft: ConfigDraft) -> Call[ConfigReport]:
        """Check a config. Raises ApiError 422 with every problem."""
        return post("/configs/validate", ConfigReport, draft)

    @Endpoint
    def estimate(self, draft: ConfigDraft) -> Call[RunEstimate]:
        """What a config will take, from similar runs. Raises ApiError 422 with every problem of the config."""
        return post("/configs/estimate", RunEstimate, draft)
