"""Changes that the form's buttons make to a study file: adding and removing arms, regimes and config fields."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from bapo.api.configs import ConfigFieldInfo
from bapo.config.method import METHODS
from frontend.components.config_form.values import of_types
from frontend.pages.studies.form_model import Document, Path, counted_again, members, names_of, put, value_at


def with_field(document: Document, place: str, field: str, infos: Mapping[str, ConfigFieldInfo]) -> dict[str, Any]:
    """Return the file with a config field in one of its tables, at its default."""
    path = _path(place)
    method = str(value_at(document, (*path[:2], "method"))) if path[0] == "arms" else ""
    default = of_types(infos[field], method, "").default
    value = "" if default is None else default
    changed = copy.deepcopy(dict(document))
    is_grid = path[-1] == "grid"
    put(changed, (*path, field), [value] if is_grid else value)
    return counted_again(changed) if is_grid else changed


def with_change(document: Document, action: str, place: str) -> dict[str, Any]:
    """Return the file after a button was pressed: `action` on the part at `place`."""
    changed = copy.deepcopy(dict(document))
    path = _path(place)
    match action:
        case "add-member":
            part = str(path[0])
            changed[part] = [*members(document, part), _new(document, part)]
        case "copy-member":
            part, index = str(path[0]), int(path[1])
            given = members(document, part)
            copied = {**copy.deepcopy(given[index]), "name": _free(document, part, f"{given[index].get('name', '')} 2")}
            changed[part] = [*given[: index + 1], copied, *given[index + 1 :]]
        case "remove-member":
            part, index = str(path[0]), int(path[1])
            changed[part] = [each for place, each in enumerate(members(document, part)) if place != index]
            if part == "regimes" and not changed[part]:
                del changed[part]
        case "add-tuning":
            seeds = value_at(document, ("seeds",))
            numbers = [each for each in seeds if isinstance(each, int)] if isinstance(seeds, list) else []
            changed["tuning"] = {"seeds": [max(numbers, default=0) + 1], "grid": {}}
        case "remove-tuning":
            changed.pop("tuning", None)
        case "remove-field":
            put(changed, path, None)
            if path[:2] != ("tuning", "grid"):
                return changed
    return counted_again(changed)


def _path(place: str) -> Path:
    """Return the parts of a place: `arms/0/set/method.c1` → ("arms", 0, "set", "method.c1")."""
    return tuple(int(part) if part.isdigit() else part for part in place.split("/"))


def _new(document: Document, part: str) -> dict[str, Any]:
    if part == "regimes":
        # The first named regime comes in addition to the unnamed one, which gets a name too.
        return {"name": _free(document, part, "main" if not members(document, part) else "regime 2")}
    return {"name": _free(document, part, "New arm"), "method": METHODS.default.type_name()}


def _free(document: Document, part: str, name: str) -> str:
    """Return the name, with another number where it is taken."""
    taken = set(names_of(document, part))
    stem, _, number = name.rpartition(" ")
    count = int(number) if number.isdigit() and stem else 2
    stem = stem if number.isdigit() and stem else name
    while name in taken:
        name, count = f"{stem} {count}", count + 1
    return name[:60]
