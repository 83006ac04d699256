"""Recipes, the fields of a config, and its check."""

from __future__ import annotations

from dataclasses import asdict

from sqlalchemy.orm import Session

from backend.configs import estimate, service
from backend.kit.context import DbSession, PricesOf, new_router
from backend.kit.errors import not_found
from backend.kit.permissions import Reader
from backend.projects import choice
from bapo.api.configs import (
    ConfigCheck,
    ConfigFieldInfo,
    ConfigFieldPage,
    ConfigReport,
    RecipeInfo,
    RecipePage,
    RunEstimate,
)
from bapo.config.documentation import documentation
from bapo.config.recipes import Recipe, shipped_recipes

router = new_router("configs")


def _info(recipe: Recipe) -> RecipeInfo:
    return RecipeInfo(
        name=recipe.name,
        title=recipe.title,
        description=recipe.description,
        config=recipe.explicit,
        sources=recipe.sources,
    )


def _checked(session: Session, draft: ConfigCheck) -> service.CheckedDraft:
    parent_project = service.parent_project(session, draft)
    return service.check(
        session,
        draft,
        choice.for_reading(session, draft.project, beside=parent_project),
        fork_step=draft.fork_step,
    )


@router.get("/recipes", summary="Named starting points")
def list_recipes(_: Reader) -> RecipePage:
    """All recipes that come with BAPO."""
    return RecipePage(items=[_info(recipe) for recipe in shipped_recipes()])


@router.get("/recipes/{name}", summary="One recipe")
def get_recipe(_: Reader, name: str) -> RecipeInfo:
    """A recipe with the fields that it sets."""
    for recipe in shipped_recipes():
        if recipe.name == name:
            return _info(recipe)
    raise not_found("recipe", name)


@router.get("/config-fields", summary="Every field of a config")
def list_config_fields(_: Reader) -> ConfigFieldPage:
    """Meaning, range, default and kind of each field: what a form is made of."""
    return ConfigFieldPage(items=[ConfigFieldInfo.model_validate(asdict(field)) for field in documentation()])


@router.post("/configs/validate", summary="Check a config")
def validate_config(_: Reader, session: DbSession, draft: ConfigCheck) -> ConfigReport:
    """The complete config, warnings, the difference to its parent, the threshold map and K1..K3.

    A config that cannot run answers 422 with field, value and remedy of every problem.
    """
    return service.report(session, _checked(session, draft))


@router.post("/configs/estimate", summary="What a config will take")
def estimate_config(_: Reader, session: DbSession, prices: PricesOf, draft: ConfigCheck) -> RunEstimate:
    """Rollouts by arithmetic; tokens, duration and cost with ranges from similar runs that have ended, named.

    A config that cannot run answers 422 with field, value and remedy of every problem.
    """
    return estimate.estimate(session, _checked(session, draft).resolution.config, prices)
