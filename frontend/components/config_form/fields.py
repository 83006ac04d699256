"""One field of a form: label with symbol and plain name, its inputs, its meaning, and room for an error."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.api.configs import ConfigFieldInfo
from frontend.components.config_form.methods import base_text, field_text
from frontend.components.config_form.values import OFF, ON, FormField, shown
from frontend.components.elements import NAMESPACE, Element, attributes, store_button
from frontend.components.icon import explained
from frontend.components.markup import tree_of
from frontend.components.symbols import SYMBOLS


def field_id(form: str, path: str, part: int = 0) -> dict[str, Any]:
    """Return the identifier of an input; a range has two parts."""
    return {"type": f"{form}-field", "path": path, "part": part}


def wrap_id(form: str, path: str) -> dict[str, str]:
    """Return the identifier of the frame of the inputs, which shows the error."""
    return {"type": f"{form}-wrap", "path": path}


def resets(form: str) -> str:
    """Return the name of the buttons that undo a change, for `button_store`."""
    return f"{form}-reset"


class Field(Element):
    """Draws a label, inputs, their meaning, and what is found wrong with them (assets/field.js).

    All in one: a form has a hundred fields, and Dash looks at each of its components at every change.
    """

    _namespace = NAMESPACE
    _prop_names = [  # noqa: RUF012 - as Dash declares them
        *("children", "id", "path", "width", "label", "description", "source", "was", "reset"),
        *("error", "warning", "isChanged", "isHidden"),
    ]


class TextInput(Element):
    """A line of text to type into, with Mantine's look; `start` is shown before the typed text."""

    _namespace = NAMESPACE
    _prop_names = ["id", "value", "placeholder", "start", "spoken"]  # noqa: RUF012


class TextArea(Element):
    """Lines of a file to type into, as tall as `rows` of them at first."""

    _namespace = NAMESPACE
    _prop_names = ["id", "className", "rows", "value"]  # noqa: RUF012


def config_field(
    form: str,
    info: ConfigFieldInfo,
    value: Any,
    method: str,
    *,
    width: str = "normal",
    base: FormField | None = None,
    source: str | None = None,
    is_hidden: bool = False,
    offers: Sequence[str] = (),
    key: str | None = None,
) -> Field:
    """Return the field as it is in the method; where it has a base, what that is and a way back, for when it differs.

    `source`: where the base's value comes from. `is_hidden`: the method or the type of tasks does not have the field.
    `offers`: values to choose from; any other can be typed. `key`: in identifiers, where a form has a field
    more than once.
    """
    key = key or info.path
    return Field(
        id=wrap_id(form, key),
        path=key,
        width=width,
        children=_inputs(form, key, info, shown(info, value), offers),
        label=tree_of(_label(info, field_id(form, key))),
        description=field_text(info, method),
        source=source,
        # Shown by the style sheet while the field differs.
        was=None if base is None else base_text(base),
        reset=None if base is None else store_button(resets(form), path=info.path),
        isHidden=is_hidden,
    )


def _label(info: ConfigFieldInfo, first: Mapping[str, Any]) -> list[Any]:
    """Return the label of the first input, and what explains it."""
    # As Dash writes identifiers into pages.
    tied = json.dumps(first, sort_keys=True, separators=(",", ":"))
    symbol = SYMBOLS.get(info.path)
    if symbol is None:
        return [html.Label(html.Code(info.path), htmlFor=tied)]
    sign = [html.Span(symbol.symbol, className="symbol")] if symbol.symbol else []
    name = symbol.name[0].upper() + symbol.name[1:]
    return [html.Label([*sign, html.Span(name)], htmlFor=tied), explained(f"{symbol.explanation} Field {info.path}.")]


def _inputs(form: str, key: str, info: ConfigFieldInfo, values: Sequence[Any], offers: Sequence[str]) -> Any:
    if info.kind == "fraction_range":
        return [
            TextInput(
                id=field_id(form, key, part),
                value=value,
                start=f"r_tot = {part}",
                spoken=f"{info.path} at r_tot = {part}",
            )
            for part, value in enumerate(values)
        ]
    common = {"id": field_id(form, key), "value": values[0]}
    placeholder = "empty" if info.optional else None
    if info.kind not in ("flag", "choice", "choices") and not offers:
        return TextInput(placeholder=placeholder, spoken=info.path, **common)
    common |= attributes(aria_label=info.path)
    if info.kind == "flag":
        states = [{"value": ON, "label": "on"}, {"value": OFF, "label": "off"}]
        return dmc.SegmentedControl(data=states, size="xs", **common)
    common["size"] = "sm"
    if info.kind == "choice":
        return dmc.Select(data=list(info.choices), allowDeselect=False, checkIconPosition="right", **common)
    if info.kind == "choices":
        return dmc.MultiSelect(data=list(info.choices), clearable=True, **common)
    return dmc.Autocomplete(data=list(offers), placeholder=placeholder, **common)
