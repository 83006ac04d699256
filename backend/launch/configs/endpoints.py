"""Routes for recipes, config fields, validation and estimates."""

from __future__ import annotations

from dataclasses import asdict

from sqlalchemy.orm import Session

from backend.identity.projects import choice
from backend.kit.bodies import rendered
from backend.kit.context import DbSession, SettingsOf, new_router
from backend.kit.errors import not_found
from backend.kit.permissions import Reader, Writer
from backend.launch.configs import estimate, prompts, service
from backend.prices.service import prices_in_force
from backend.runs import repository
from bapo.api.configs import (
    ConfigCheck,
    ConfigFieldInfo,
    ConfigFieldPage,
    ConfigReport,
    PromptPreviewPage,
    RecipeInfo,
    RecipePage,
    RunEstimate,
)
from bapo.config.documentation import documentation
from bapo.config.recipes import Recipe, shipped_recipes

router = new_router("configs")


def _info(recipe: Recipe) -> RecipeInfo:
    return rendered(RecipeInfo, recipe, config=recipe.explicit)


def _checked(session: Session, draft: ConfigCheck, *, for_run: bool = False) -> service.CheckedDraft:
    parent = repository.parent_of(session, draft)
    project_id = choice.for_reading(session, draft.project, beside=None if parent is None else parent.project_id)
    return service.check(session, draft, parent, project_id, fork_step=draft.fork_step, for_run=for_run)


@router.get("/recipes", summary="List recipes")
def list_recipes(_: Reader) -> RecipePage:
    """List the recipes that ship with BAPO."""
    return RecipePage(items=[_info(recipe) for recipe in shipped_recipes()])


@router.get("/recipes/{name}", summary="Get a recipe")
def get_recipe(_: Reader, name: str) -> RecipeInfo:
    """Get a recipe by name, with the fields that it sets."""
    for recipe in shipped_recipes():
        if recipe.name == name:
            return _info(recipe)
    raise not_found("recipe", name)


@router.get("/config-fields", summary="List config fields")
def list_config_fields(_: Reader) -> ConfigFieldPage:
    """List every field of a config with its description, range, default and kind."""
    return ConfigFieldPage(items=[ConfigFieldInfo.model_validate(asdict(field)) for field in documentation()])


@router.post("/configs/validate", summary="Validate a config")
def validate_config(_: Reader, session: DbSession, draft: ConfigCheck) -> ConfigReport:
    """Return the complete config, warnings, the difference to its parent, the threshold map and K1 to K3.

    A config that cannot run gets 422 with field, value and remedy of every problem.
    """
    return service.report(session, _checked(session, draft))


@router.post("/configs/prompts", summary="Preview a config's prompts")
def preview_prompts(_: Writer, session: DbSession, draft: ConfigCheck) -> PromptPreviewPage:
    """Return the first training problem of each data source, with its prompt in the chat template of the config's model
    where the server has that model.

    A config that cannot run gets 422 with field, value and remedy of every problem.
    """
    return prompts.preview(_checked(session, draft, for_run=True).resolved.config)


@router.post("/configs/estimate", summary="Estimate the cost of a config")
def estimate_config(_: Reader, session: DbSession, settings: SettingsOf, draft: ConfigCheck) -> RunEstimate:
    """Return the number of rollouts from the config; ranges for tokens, duration and cost from similar finished runs.

    Of a fork, only what it generates itself.

    A config that cannot run gets 422 with field, value and remedy of every problem.
    """
    config = _checked(session, draft).resolved.config
    return estimate.estimate(session, config, prices_in_force(session, settings), first_step=draft.fork_step or 0)
