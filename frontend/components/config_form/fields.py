"""One field of a form: label with symbol and plain name, its inputs, its meaning, and room for an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.api.configs import ConfigFieldInfo
from frontend.components.attributes import attributes
from frontend.components.config_form.methods import base_text, field_text
from frontend.components.config_form.values import OFF, ON, FormField, shown
from frontend.components.explained import explained
from frontend.components.markup import lean
from frontend.components.store_button import store_button
from frontend.symbols import SYMBOLS


def field_id(form: str, path: str, part: int = 0) -> dict[str, Any]:
    """Returns the identifier of an input; a range has two parts."""
    return {"type": f"{form}-field", "path": path, "part": part}


def wrap_id(form: str, path: str) -> dict[str, str]:
    """Returns the identifier of the frame of the inputs, which shows the error."""
    return {"type": f"{form}-wrap", "path": path}


def warning_id(form: str, path: str) -> dict[str, str]:
    """Returns the identifier of the warning below a field."""
    return {"type": f"{form}-warning", "path": path}


def resets(form: str) -> str:
    """Returns the name of the buttons that undo a change, for `button_store`."""
    return f"{form}-reset"


def was_id(form: str, path: str) -> dict[str, str]:
    """Returns the identifier of the value that the field started from."""
    return {"type": f"{form}-was", "path": path}


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
) -> html.Div:
    """The field as it is in the method; where it has a base, what that is and a way back, for when it differs.

    `source`: where the base's value comes from. `is_hidden`: the method or the type of tasks does not have the field.
    `offers`: values to choose from, beside any other that is typed. `key`: in identifiers, where a form has a field
    more than once.
    """
    label: Any = lean(_label(info))
    key = key or info.path
    return html.Div(
        [
            dmc.InputWrapper(
                _inputs(form, key, info, shown(info, value), offers),
                label=label,
                description=field_text(info, method),
                id=wrap_id(form, key),
                inputWrapperOrder=["label", "input", "description", "error"],
                className="field-wrap",
            ),
            *([html.Div(["Source: ", source], className="field-source")] if source else []),
            *([_was(form, base)] if base is not None else []),
            html.Div(id=warning_id(form, key), className="field-warning"),
        ],
        id={"type": f"{form}-slot", "path": key},
        className=f"field field-{width}{' hidden' * is_hidden}",
        **attributes(data_field=key),
    )


def _was(form: str, base: FormField) -> html.Div:
    """Returns the original value and a way back, shown by the style sheet while the field differs."""
    return html.Div(
        [
            html.Span(["was ", html.Code(base_text(base), id=was_id(form, base.info.path), className="diff-old")]),
            html.Button(
                "Reset",
                className="text-button",
                type="button",
                **store_button(resets(form), path=base.info.path),
                **attributes(aria_label=f"Reset {base.info.path}"),
            ),
        ],
        className="field-was",
    )


def _label(info: ConfigFieldInfo) -> html.Span:
    symbol = SYMBOLS.get(info.path)
    if symbol is None:
        return html.Span(html.Code(info.path), className="field-label")
    name = symbol.name[0].upper() + symbol.name[1:]
    return html.Span(
        [
            *([html.Span(symbol.symbol, className="symbol")] if symbol.symbol else []),
            html.Span(name),
            explained(f"{symbol.explanation} Field {info.path}."),
        ],
        className="field-label",
    )


def _inputs(form: str, key: str, info: ConfigFieldInfo, values: Sequence[Any], offers: Sequence[str]) -> Any:
    if info.kind == "fraction_range":
        return html.Div(
            [_range_end(form, key, info, part, value) for part, value in enumerate(values)], className="range"
        )
    common = {"id": field_id(form, key), "value": values[0], **attributes(aria_label=info.path)}
    if info.kind == "flag":
        states = [{"value": ON, "label": "on"}, {"value": OFF, "label": "off"}]
        return dmc.SegmentedControl(data=states, size="xs", **common)
    common["size"] = "sm"
    if info.kind == "choice":
        return dmc.Select(data=list(info.choices), allowDeselect=False, checkIconPosition="right", **common)
    if info.kind == "choices":
        return dmc.MultiSelect(data=list(info.choices), clearable=True, **common)
    common["placeholder"] = "empty" if info.optional else None
    return dmc.Autocomplete(data=list(offers), **common) if offers else dmc.TextInput(autoComplete="off", **common)


def _range_end(form: str, key: str, info: ConfigFieldInfo, part: int, value: Any) -> dmc.TextInput:
    return dmc.TextInput(
        id=field_id(form, key, part),
        value=value,
        size="sm",
        leftSection=html.Span(f"r_tot = {part}", className="range-end"),
        leftSectionWidth=76,
        autoComplete="off",
        **attributes(aria_label=f"{info.path} at r_tot = {part}"),
    )
