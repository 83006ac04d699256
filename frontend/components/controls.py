"""Controls for rows and lists: small, and labelled for screen readers where no label is visible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import html

from frontend.components.elements import attributes
from frontend.components.icon import IconName, icon
from frontend.request.prefix import served

Options = Sequence[str] | Sequence[dict[str, str]]


def icon_button(
    icon_name: IconName, label: str, *, size: int = 16, colour: str = "red", **properties: Any
) -> dmc.ActionIcon:
    """Return a button that is only an icon; `label` says what it does."""
    return dmc.ActionIcon(
        icon(icon_name, size),
        variant="subtle",
        color=colour,
        size="sm",
        **attributes(aria_label=label),
        **properties,
    )


def small_button(
    label: str,
    identifier: Any = None,
    icon_name: IconName | None = None,
    *,
    size: str = "compact-xs",
    **properties: Any,
) -> dmc.Button:
    """Return a button for a row of a list, or for the head of a page."""
    named = {} if identifier is None else {"id": identifier}
    look = {} if icon_name is None else {"leftSection": icon(icon_name, 16 if size == "xs" else 14)}
    return dmc.Button(label, size=size, variant="default", color="gray", **named, **look, **properties)


def download_button(label: str, address: str, **properties: Any) -> html.A:
    """Return a button that downloads what the dashboard serves at the address."""
    button = small_button(label, icon_name="download", size="xs")
    return html.A(button, href=served(address), download="", className="plain-link", **properties)


def _step_button(identifier: str, sign: str, label: str) -> dmc.ActionIcon:
    """Return a button that goes a step back or on."""
    return dmc.ActionIcon(
        html.Span(sign, className="step-sign", **attributes(aria_hidden="true")),
        id=identifier,
        size=30,
        variant="default",
        color="gray",
        **attributes(aria_label=label),
    )


def stepper(name: str, step: str, placeholder: str, *, of: str = "step", **properties: Any) -> html.Div:
    """Return a field for a step, with buttons to its neighbours and the newest; `name` begins their identifiers."""
    field = dmc.NumberInput(
        id=f"{name}-step",
        value=int(step) if step.isdecimal() else "",
        placeholder=placeholder,
        min=1,
        allowDecimal=False,
        allowNegative=False,
        hideControls=True,
        w=96,
        size="xs",
        **attributes(aria_label="Step"),
        **properties,
    )
    return html.Div(
        [
            _step_button(f"{name}-previous", "‹", f"Previous {of}"),
            field,
            _step_button(f"{name}-next", "›", f"Next {of}"),
            small_button("Newest", f"{name}-newest", size="xs"),
        ],
        className="samples-stepper",
        role="group",
        **attributes(aria_label="Step"),
    )


def small_select(identifier: Any, label: str, value: Any, data: Options, **properties: Any) -> dmc.Select:
    """Return a select with one option always chosen."""
    return dmc.Select(
        id=identifier,
        value=value,
        data=data,
        allowDeselect=False,
        size="xs",
        **attributes(aria_label=label),
        **properties,
    )


def filter_select(
    identifier: Any,
    label: str,
    value: str | None,
    data: Sequence[Any],
    placeholder: str,
    width: int,
    **properties: Any,
) -> dmc.Select:
    """Return a select that filters a list by what is chosen, if anything is."""
    return dmc.Select(
        id=identifier,
        value=value,
        data=data,
        placeholder=placeholder,
        clearable=True,
        size="xs",
        w=width,
        **attributes(aria_label=label),
        **properties,
    )


def segments(identifier: Any, label: str, value: str, data: Options, **properties: Any) -> dmc.SegmentedControl:
    """Return a choice between a few options, all of them visible."""
    return dmc.SegmentedControl(
        id=identifier, value=value, data=data, size="xs", **attributes(aria_label=label), **properties
    )


def search_field(identifier: str, label: str, value: str, placeholder: str, **properties: Any) -> dmc.TextInput:
    """Return a field that searches the content below it."""
    return dmc.TextInput(
        id=identifier,
        value=value,
        placeholder=placeholder,
        leftSection=icon("search", 16),
        size="xs",
        **attributes(aria_label=label),
        **properties,
    )


def download_links(path: str, name: str, query: str, *, label: str = "CSV", **properties: Any) -> list[html.A]:
    """Return links that download a list as CSV, called `label`, and as JSON lines; path and name lack the ending."""
    return [
        html.A(
            [icon("download", 16), text],
            href=served(f"{path}.{ending}{query}"),
            download=f"{name}.{ending}",
            className="fact-link",
            **properties,
        )
        for text, ending in ((label, "csv"), ("JSON lines", "jsonl"))
    ]


def button_around(look: str, **values: str) -> dict[str, Any]:
    """Return `boxWrapperProps` of a menu's target: the element that tells whether the menu is open is the button."""
    return {"component": "button", "type": "button", "className": look, **attributes(**values)}


def menu_of(label: Any, icon_name: IconName, *content: Any, look: str = "", **properties: Any) -> dmc.Popover:
    """Return a button that opens a panel of controls below it; `look` adds to the button's class."""
    target = dmc.PopoverTarget(
        [icon(icon_name, 14), html.Span(label)], boxWrapperProps=button_around(f"menu-button {look}".strip())
    )
    return dmc.Popover(
        [target, dmc.PopoverDropdown(list(content))],
        position="bottom-start",
        shadow="md",
        trapFocus=True,
        closeOnEscape=True,
        **properties,
    )
