"""Prices of compute hours: everybody sees them and what changed; administrators change them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
from dash import ALL, Dash, Output, State, html, set_props

from bapo.api.prices import CurrencyWrite, MachinePrice, PriceChange, PriceList, PriceWrite
from bapo.figures import formatting
from frontend.components.actions import FormError, open_when_pressed, show, tell, when_pressed, when_submitted
from frontend.components.card import page_heading, section_title
from frontend.components.controls import small_button
from frontend.components.dialogs import form_dialog
from frontend.components.elements import Store, attributes
from frontend.components.notices import notice
from frontend.components.page import Page
from frontend.components.table import cell, row, table_card
from frontend.components.text import moment
from frontend.request.session import Api

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


INTRODUCTION = (
    "A run costs its compute hours at the prices of their time: a change applies from the moment that it names, and "
    "what ran before keeps its price."
)
MEMBERS = " Administrators of this server change prices."


async def layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """Return the page."""
    prices = await api.client().prices()
    text = INTRODUCTION + ("" if prices.may_edit else MEMBERS)
    return html.Div(
        [
            page_heading("Prices", text, currency_button() if prices.may_edit else None),
            Store(id="price-of"),
            html.Div(board(prices), id="prices-board"),
            *([change_dialog(), currency_dialog()] if prices.may_edit else []),
        ]
    )


PAGES = (Page("/prices", layout, section="prices"),)


def register(app: Dash, api: Api) -> None:
    """Register the callbacks: changing a price, and the currency."""
    open_when_pressed(app, "price-currency-open", "price-currency-dialog")

    @when_pressed(app, {"type": PRICE_BUTTON, "scope": ALL, "name": ALL}, outputs=[Output("price-of", "data")])
    async def ask(pressed: Mapping[str, str]) -> Any:
        prices = await api.client().prices()
        machine = {"scope": pressed["scope"], "name": pressed["name"]}
        own = next(
            (
                each.hour_price
                for each in prices.items
                if each.scope == machine["scope"] and each.name == machine["name"]
            ),
            None,
        )
        title = f"Price of {kind_text(pressed['scope'], pressed['name'])}"
        set_props("price-dialog", {"opened": True, "title": title})
        set_props("price-value", {"value": "" if own is None else own, "suffix": f" {prices.currency}", "error": ""})
        set_props("price-since", {"value": "", "error": ""})
        show("price-problem", "")
        return machine

    @when_submitted(
        app,
        "price-submit",
        fields={"hour_price": "price-value", "since": "price-since"},
        problem="price-problem",
        states=[State("price-of", "data"), State("price-value", "value"), State("price-since", "value")],
    )
    async def change(machine: Any, value: float | str | None, since: str | None) -> None:
        price = None if value in ("", None) else float(value or 0.0)
        body = PriceWrite.model_construct(**machine, hour_price=price, since=moment_of(since))
        _shown(await api.client().set_price(body), "price-dialog")
        tell(f"{kind_text(machine['scope'], machine['name'])}.", "Price changed")

    @when_submitted(
        app,
        "price-currency-submit",
        fields={"currency": "price-currency", "rate": "price-rate"},
        problem="price-currency-problem",
        states=[State("price-currency", "value"), State("price-rate", "value")],
    )
    async def convert(currency: str | None, rate: float | str | None) -> None:
        if rate in ("", None):
            raise FormError(rate="give what one unit of the present currency is worth in the new one")
        name = (currency or "").strip().upper()
        body = CurrencyWrite.model_construct(currency=name, rate=float(rate or 0.0))
        _shown(await api.client().set_currency(body), "price-currency-dialog")
        tell(f"All prices are in {name}.", "Converted")


def _shown(prices: PriceList, dialog: str) -> None:
    set_props(dialog, {"opened": False})
    show("prices-board", board(prices))


def moment_of(text: str | None) -> datetime | None:
    """Return the moment that was typed, in UTC unless it names a zone. Raises FormError for any other text."""
    if not (text or "").strip():
        return None
    try:
        found = datetime.fromisoformat((text or "").strip())
    except ValueError:
        raise FormError(since="give a date such as 2026-11-01, or a time such as 2026-11-01 08:30") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
