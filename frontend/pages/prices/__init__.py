"""Prices of compute hours: everybody sees them and what changed; administrators change them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from dash import ALL, Dash, Output, State, html, set_props

from bapo.api.prices import CurrencyWrite, PriceList, PriceWrite
from frontend.components.actions import FormError, open_when_pressed, show, tell, when_pressed, when_submitted
from frontend.components.card import page_heading
from frontend.components.store import Store
from frontend.pages.prices.board import PRICE_BUTTON, board, change_dialog, currency_button, currency_dialog, kind_text
from frontend.session import Api

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
