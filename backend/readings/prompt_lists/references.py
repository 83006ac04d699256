"""Resolves `task.prompt_list` of a config: to a version when it is checked, to entries when a run is made."""

from __future__ import annotations

from sqlalchemy.orm import Session

from backend.models import PromptList
from backend.readings.prompt_lists import repository
from backend.readings.prompt_lists.repository import FIELD
from bapo.config import ConfigError, ConfigProblem, RunConfig, apply_changes, parse_config
from bapo.config.prompt_weights import texts_of, weights_of
from bapo.config.resolve import ExplicitConfig, flatten


def pinned(
    session: Session, explicit: ExplicitConfig, project_id: str | None
) -> tuple[ExplicitConfig, list[ConfigProblem]]:
    """Return the config with the version in the list's name, and what may not be named.

    A version stays what it is, also of a list that was removed, so that a clone of a run can name it.
    """
    value = flatten(explicit).get(FIELD)
    if not isinstance(value, str) or not value.startswith("@"):
        return explicit, []
    name, _, number = value.removeprefix("@").partition(":")
    found = repository.named(session, project_id, name)
    if found is None or (found.removed_at is not None and not number):
        known = ", ".join(f"@{row.list.name}" for row in repository.lists(session, project_id)) or "none is there yet"
        return explicit, [ConfigProblem(FIELD, value, f"no prompt list has this name: use one of {known}")]
    if not found.version:
        remedy = "nothing was ever put on this list: add prompts, or leave the field empty"
        return explicit, [ConfigProblem(FIELD, value, remedy)]
    if number and not (number.isdecimal() and 0 < int(number) <= found.version):
        remedy = f"@{name} has no such version: use 1 to {found.version}, or @{name} for the newest"
        return explicit, [ConfigProblem(FIELD, value, remedy)]
    return apply_changes(explicit, {FIELD: f"@{name}:{number or found.version}"}), []


def written_in(session: Session, config: RunConfig, project_id: str | None) -> RunConfig:
    """Return the config of a run with its list's entries, so that it says all by itself; its own weights come before
    them.

    Raises ConfigError where the method cannot take them, or the version has none.
    """
    if config.task.prompt_list is None:
        return config
    found, version = _named(session, config.task.prompt_list, project_id)
    listed = repository.weights(session, found.id, version)
    if not listed:
        remedy = f"this version has no prompts: take another of the {found.version}, or leave the field empty"
        raise ConfigError([ConfigProblem(FIELD, config.task.prompt_list, remedy)])
    weights = {**listed, **weights_of(config.task.prompt_weights)}
    task = {**config.task.model_dump(mode="json"), "prompt_weights": texts_of(weights)}
    # The other sections are checked already, and are not read again; the rules between fields are.
    return parse_config({**dict(config), "task": task})


def _named(session: Session, value: str, project_id: str | None) -> tuple[PromptList, int]:
    name, _, number = value.removeprefix("@").partition(":")
    found = repository.named(session, project_id, name)
    assert found is not None, "its version was looked up when the config was checked"
    return found, int(number)
