"""A study file as the inputs of a form, and back: each input has the place in the file that it shows."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from bapo.api.base import FieldProblem
from bapo.api.configs import ConfigFieldInfo
from bapo.config.resolve import flatten
from bapo.study.declaration import MEAN
from frontend.components.config_form.inputs import Ids, typed_values
from frontend.components.config_form.values import listed, of_types, parsed, shown, values_of

Document = Mapping[str, Any]
"""A study file as TOML reads it, right or wrong."""
Path = tuple[str | int, ...]
Kind = Literal["text", "number", "whole_numbers", "names", "choice", "config", "values"]

SETS = ("set", "config", "grid")
"""Tables of config fields."""
DEFAULTS: Mapping[Path, Any] = {
    ("primary", "metric"): "avg",
    ("primary", "test_set"): MEAN,
    ("primary", "at"): "steps",
}
_WHOLE = ConfigFieldInfo(
    path="seeds",
    description="",
    default=None,
    kind="integer",
    optional=False,
    minimum=None,
    maximum=None,
    choices=(),
    method_types=(),
)


class Item(NamedTuple):
    """A value of a study file that has inputs."""

    path: Path
    kind: Kind
    info: ConfigFieldInfo = _WHOLE
    """Description of the config field, if it is one."""

    @property
    def key(self) -> str:
        """In identifiers."""
        return "/".join(map(str, self.path))


def items_of(document: Document, infos: Mapping[str, ConfigFieldInfo]) -> dict[str, Item]:
    """Return everything that the form shows of a study, by key."""
    found = [
        *(Item((name,), "text") for name in ("title", "question", "expectation")),
        *(Item((name,), "choice") for name in ("recipe", "reference")),
        Item(("seeds",), "whole_numbers"),
        Item(("test_sets",), "names"),
        Item(("num_runs",), "number"),
        *(Item(("primary", name), "choice") for name in ("arm", "against", "metric", "test_set", "at", "regime")),
        *_fields(document, ("config",), infos),
        *_fields(document, ("set",), infos),
    ]
    for place, arm in enumerate(members(document, "arms")):
        own = ("arms", place)
        found += [Item((*own, "name"), "text"), Item((*own, "method"), "choice")]
        found += _fields(document, (*own, "set"), infos, str(arm.get("method")))
    for place, _ in enumerate(members(document, "regimes")):
        own = ("regimes", place)
        found += [Item((*own, "name"), "text"), Item((*own, "title"), "text")]
        found += _fields(document, (*own, "set"), infos)
    if isinstance(document.get("tuning"), dict):
        found += [Item(("tuning", "seeds"), "whole_numbers"), Item(("tuning", "arms"), "names")]
        found += _fields(document, ("tuning", "grid"), infos)
        found += _fields(document, ("tuning", "set"), infos)
    return {item.key: item for item in found}


def members(document: Document, part: str) -> list[dict[str, Any]]:
    """Return the arms or regimes that the file has."""
    given = document.get(part)
    return [each if isinstance(each, dict) else {} for each in given] if isinstance(given, list) else []


def names_of(document: Document, part: str) -> list[str]:
    """Return names of the arms or regimes, each once."""
    return list(dict.fromkeys(str(each["name"]) for each in members(document, part) if each.get("name")))


def _fields(document: Document, path: Path, infos: Mapping[str, ConfigFieldInfo], method: str = "") -> list[Item]:
    kind: Kind = "values" if path[-1] == "grid" else "config"
    return [
        Item((*path, field), kind, _info_of(field, value if kind == "values" else [value], infos, method))
        for field, value in table_at(document, path).items()
    ]


def _info_of(field: str, values: Any, infos: Mapping[str, ConfigFieldInfo], method: str) -> ConfigFieldInfo:
    """Return the field as it is in a method; as plain text where it does not exist, or could not show these values.

    The server says what is wrong with it.
    """
    plain = _WHOLE.model_copy(update={"path": field, "kind": "text"})
    info = of_types(infos[field], method, "") if field in infos else plain
    try:
        listed(info, values if isinstance(values, list) else [values])
    except (TypeError, ValueError):
        return plain
    return info


def table_at(document: Document, path: Path) -> dict[str, Any]:
    """Return the fields of a table, dotted; none where there is no such table."""
    found: Any = document
    for part in path:
        if isinstance(part, int):
            found = found[part] if isinstance(found, list) and part < len(found) else None
        else:
            found = found.get(part) if isinstance(found, dict) else None
    return flatten(found) if isinstance(found, dict) else {}


def value_at(document: Document, path: Path) -> Any:
    """Return what the file says at a place; the default, or None, where it says nothing."""
    return table_at(document, path[:-1]).get(str(path[-1]), DEFAULTS.get(path))


def inputs_of(document: Document, item: Item) -> list[Any]:
    """Return the values of an item's inputs."""
    value = value_at(document, item.path)
    match item.kind:
        case "whole_numbers":
            return [numbers_text(value)]
        case "names":
            return [[str(each) for each in value] if isinstance(value, list) else []]
        case "config":
            return shown(item.info, value)
        case "values":
            return [listed(item.info, value if isinstance(value, list) else [value])]
        case "number":
            return ["" if value is None else value]
    return ["" if value is None else str(value)]


def numbers_text(value: Any) -> str:
    """Return whole numbers as ranges: [1, 2, 3, 7] → `1..3, 7`."""
    if not isinstance(value, list):
        return "" if value is None else str(value)
    if not all(isinstance(each, int) for each in value):
        return ", ".join(map(str, value))
    spans: list[list[int]] = []
    for number in value:
        if spans and number == spans[-1][-1] + 1:
            spans[-1] = [spans[-1][0], number]
        else:
            spans.append([number])
    parts = []
    for span in spans:
        is_long = span[-1] - span[0] > 1
        parts += [f"{span[0]}..{span[-1]}"] if is_long else [str(each) for each in span]
    return ", ".join(parts)


# ---------------------------------------------------------------- back into the file


def with_inputs(
    document: Document, infos: Mapping[str, ConfigFieldInfo], ids: Ids, values: Sequence[Any]
) -> dict[str, Any]:
    """Return the file with what was typed; only inputs that show something else than the file says change it."""
    items = items_of(document, infos)
    changed = copy.deepcopy(dict(document))
    is_larger = False
    for key, typed in typed_values(ids, values).items():
        item = items.get(key)
        if item is None or _same(typed, inputs_of(document, item)):
            continue
        put(changed, item.path, _parsed(item, typed))
        is_larger = is_larger or item.kind == "whole_numbers" or item.path[:2] == ("tuning", "grid")
        is_larger = is_larger or item.path == ("tuning", "arms")
        if item.path[0] in ("arms", "regimes") and item.path[-1] == "name":
            _rename(changed, str(item.path[0]), value_at(document, item.path), typed[0])
    return counted_again(changed) if is_larger else changed


def _same(typed: Sequence[Any], inputs: Sequence[Any]) -> bool:
    return ["" if value is None else value for value in typed] == list(inputs)


def _parsed(item: Item, typed: Sequence[Any]) -> Any:
    match item.kind:
        case "whole_numbers":
            return values_of(_WHOLE, str(typed[0] or ""))
        case "names":
            return list(typed[0] or ())
        case "values":
            return values_of(item.info, str(typed[0] or ""))
        case "config":
            # TOML has no empty value.
            value = parsed(item.info, typed)
            return "" if value is None else value
    return typed[0] if typed[0] not in ("", None) else None


def put(document: dict[str, Any], path: Path, value: Any) -> None:
    """Write a value at a place; None takes it out."""
    inner: Any = document
    for part, following in pairwise(path):
        kind = list if isinstance(following, int) else dict
        present = inner.get(part) if isinstance(inner, dict) else inner[part]
        if not isinstance(present, kind):
            inner[part] = kind()
        if part in SETS:
            inner[part] = flatten(inner[part])
        inner = inner[part]
    if value is None:
        inner.pop(path[-1], None)
        # A table of fields that is empty says nothing.
        if not inner and len(path) > 1 and path[-2] in SETS:
            put(document, path[:-1], None)
    else:
        inner[path[-1]] = value


def _rename(document: dict[str, Any], part: str, before: Any, after: Any) -> None:
    """Rename an arm or a regime wherever the file refers to it."""
    if not before or not after or before in names_of(document, part):
        return
    places: tuple[Path, ...] = (("primary", "arm"), ("primary", "against"), ("reference",))
    for path in places if part == "arms" else (("primary", "regime"),):
        if value_at(document, path) == before:
            put(document, path, after)
    tuned = value_at(document, ("tuning", "arms"))
    if part == "arms" and isinstance(tuned, list):
        put(document, ("tuning", "arms"), [after if each == before else each for each in tuned])


def counted_again(document: dict[str, Any]) -> dict[str, Any]:
    """Return the file with the number of runs that it now makes."""
    arms, regimes = len(members(document, "arms")), max(1, len(members(document, "regimes")))
    seeds = value_at(document, ("seeds",))
    number = arms * regimes * (len(seeds) if isinstance(seeds, list) else 0)
    if isinstance(document.get("tuning"), dict):
        points = 1
        for values in table_at(document, ("tuning", "grid")).values():
            points *= len(values) if isinstance(values, list) else 1
        tuned, tuning_seeds = value_at(document, ("tuning", "arms")), value_at(document, ("tuning", "seeds"))
        num_tuned = len(tuned) if isinstance(tuned, list) and tuned else arms
        number += points * num_tuned * regimes * (len(tuning_seeds) if isinstance(tuning_seeds, list) else 0)
    document["num_runs"] = number
    return document


# ---------------------------------------------------------------- problems


def by_key(problems: Sequence[FieldProblem], document: Document, keys: Sequence[str]) -> dict[str, str]:
    """Return the remedies by input; problems that concern no input are left out."""
    found: dict[str, str] = {}
    for problem in problems:
        key = _key_of(problem.field, document, keys)
        if key is not None:
            found[key] = f"{found[key]}; {problem.remedy}" if key in found else problem.remedy
    return found


def _key_of(field: str, document: Document, keys: Sequence[str]) -> str | None:
    part, _, rest = field.partition(".")
    if part in ("arms", "regimes"):
        # A name may contain dots.
        names = [str(each.get("name", "")) for each in members(document, part)]
        fits = [(name, place) for place, name in enumerate(names) if name and f"{rest}.".startswith(f"{name}.")]
        if fits:
            name, place = max(fits, key=lambda each: len(each[0]))
            part, rest = f"{part}/{place}", rest[len(name) + 1 :]
        else:
            index, _, rest = rest.partition(".")
            part = f"{part}/{index}" if index.isdigit() else part
    elif part == "tuning":
        inner, _, rest = rest.partition(".")
        part = f"tuning/{inner}" if inner else part
    if rest.startswith("set."):
        part, rest = f"{part}/set", rest.removeprefix("set.")
    while rest:
        if f"{part}/{rest}" in keys:
            return f"{part}/{rest}"
        rest = rest.rpartition(".")[0]
    return next((key for key in (part, f"{part}/name") if key in keys), None)
