"""The tables of prices and of their changes, and the dialogs that change them."""

from __future__ import annotations

from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.api.prices import MachinePrice, PriceChange, PriceList
from bapo.figures import formatting
from frontend.components.attributes import attributes
from frontend.components.card import section_title
from frontend.components.controls import small_button
from frontend.components.dialog import form_dialog
from frontend.components.moment import moment
from frontend.components.notices import notice
from frontend.components.table import cell, row, table_card

PRICE_BUTTON = "price-change"
"""Names the buttons that change a price."""


def kind_text(scope: str, name: str) -> str:
    """Return what a price is of, such as `NVIDIA H200` or `any GPU`."""
    return {"gpu": "any GPU", "slot": "a slot without GPUs", "worker": f"the worker {name}"}.get(scope, name)


def board(prices: PriceList) -> list[Any]:
    """Return the prices now, and every change."""
    head = ("An hour of", "Own price", "Since", "Applies now", *([""] if prices.may_edit else []))
    changes = [
        section_title("Changes"),
        table_card(
            ("An hour of", "Price", "From", "Set", "By"),
            [_change(each, prices.currency) for each in prices.history],
            "artifact-table",
        ),
    ]
    unpriced = notice(
        "No prices yet", "Costs are shown once there is a price for the machines that runs train on.", icon_name="data"
    )
    is_priced = any(each.applies is not None for each in prices.items) or prices.history
    return [
        *([] if is_priced else [unpriced]),
        table_card(head, [_price(each, prices) for each in prices.items], "artifact-table"),
        *(changes if prices.history else []),
    ]


def _price(price: MachinePrice, prices: PriceList) -> html.Tr:
    kind = kind_text(price.scope, price.name)
    button = small_button(
        "Change",
        {"type": PRICE_BUTTON, "scope": price.scope, "name": price.name},
        **attributes(aria_label=f"Change the price of {kind}"),
    )
    return row(
        html.Div(kind, className="artifact-name artifact-short", title=kind),
        cell(_money(price.hour_price, prices.currency), "number nowrap"),
        cell(_since(price), "nowrap"),
        cell(_money(price.applies, prices.currency), "number nowrap"),
        *([button] if prices.may_edit else []),
    )


def _money(value: float | None, currency: str) -> str:
    """Return a price with all that was typed: 2.50 USD, 0.0125 USD."""
    if value is None or value == round(value, 2):
        return formatting.money(value, currency)
    return f"{value:,.6g}{formatting.THIN_SPACE}{currency}"


def _since(price: MachinePrice) -> Any:
    if price.hour_price is None:
        return formatting.MISSING
    return "the beginning" if price.since is None else moment(price.since, relative=False)


def _change(change: PriceChange, currency: str) -> html.Tr:
    return row(
        kind_text(change.scope, change.name),
        cell("no own price" if change.hour_price is None else _money(change.hour_price, currency), "nowrap"),
        cell("the beginning" if change.since is None else moment(change.since, relative=False), "nowrap"),
        cell(moment(change.made_at), "nowrap"),
        change.author,
    )


def change_dialog() -> dmc.Modal:
    """Return the dialog for one price."""
    fields = [
        dmc.NumberInput(
            id="price-value",
            label="Price per hour",
            description="Per GPU, or per slot without GPUs. Leave empty to apply the general price, if any.",
            min=0,
            decimalScale=4,
            allowNegative=False,
        ),
        dmc.TextInput(
            id="price-since",
            label="From",
            description="Date or time in UTC, past or future. Empty: now; a first general price, from the beginning.",
            placeholder="now",
        ),
    ]
    return form_dialog("price", "Price", fields, "Save")


def currency_button() -> dmc.Button:
    """Return the button that opens the dialog for the currency."""
    return dmc.Button("Change currency", id="price-currency-open", variant="default", color="gray")


def currency_dialog() -> dmc.Modal:
    """Return the dialog for the currency."""
    fields = [
        dmc.TextInput(id="price-currency", label="Currency", description="An ISO 4217 code.", placeholder="EUR"),
        dmc.NumberInput(
            id="price-rate",
            label="Rate",
            description="What one unit of the present currency is worth in the new one. All prices, past ones too, are "
            "multiplied by it.",
            value=1,
            min=0,
            decimalScale=6,
            allowNegative=False,
        ),
    ]
    return form_dialog("price-currency", "Currency of all prices", fields, "Convert")
