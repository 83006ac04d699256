"""`bapo prices`: what compute hours cost; administrators change it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from bapo.analysis.number_format import counted
from bapo.api.prices import CurrencyWrite, MachinePrice, PriceList, PriceScope, PriceWrite
from bapo.cli.connection import Answer, answering, online
from bapo.cli.lazy import group
from bapo.cli.listing import Listing
from bapo.cli.output import JsonOption, print_json, say
from bapo.client import Client

app = group("Show and set prices of compute hours.")


def _money(value: float | None) -> str | None:
    return None if value is None else f"{value:,.4g}"


PRICES = Listing[MachinePrice](
    {
        "of": lambda price: price.scope,
        "name": lambda price: price.name or None,
        "own price": lambda price: _money(price.hour_price),
        "since": lambda price: price.since,
        "applies": lambda price: _money(price.applies),
    },
    cut=("name",),
    right=("own price", "applies"),
)


@app.command("list")
@online
def list_prices(client: Client, as_json: JsonOption = False) -> None:
    """Show what an hour of each kind of machine costs now."""
    prices = client.prices()
    if as_json:
        print_json(prices)
        return
    PRICES.print(prices.items)
    say(f"per hour, in {prices.currency}; {counted(len(prices.history), 'change')}")


@app.command("set")
@answering
def set_price(
    client: Client,
    price: Annotated[float, typer.Argument(min=0, help="Price per hour of a GPU, or of a slot without one.")],
    gpu: Annotated[str | None, typer.Option(help="Of this kind of GPU only, such as 'NVIDIA H200'.")] = None,
    worker: Annotated[str | None, typer.Option(help="Of this worker only.")] = None,
    slot: Annotated[bool, typer.Option("--slot", help="Of a slot of machines without GPUs.")] = False,
    since: Annotated[
        datetime | None,
        typer.Option(help="Start of the price, in UTC. Default: now; for the first general price, the beginning."),
    ] = None,
) -> Answer:
    """Set the price of an hour from a moment on; for administrators.

    [bold]bapo prices set 2.5 --gpu "NVIDIA H200" --since 2026-11-01[/bold]
    """
    if sum((gpu is not None, worker is not None, slot)) > 1:
        raise typer.BadParameter("give one of --gpu, --worker and --slot", param_hint="--gpu")
    scope: PriceScope = "gpu_name" if gpu is not None else "worker" if worker is not None else "slot" if slot else "gpu"
    moment = None if since is None else since.replace(tzinfo=UTC)
    found = client.set_price(PriceWrite(scope=scope, name=gpu or worker or "", hour_price=price, since=moment))
    return found, _price_text(found)


@app.command("currency")
@answering
def set_currency(
    client: Client,
    currency: Annotated[str, typer.Argument(help="ISO 4217 code, such as EUR.")],
    rate: Annotated[float, typer.Option(help="Value of one unit of the current currency in the new one.")],
) -> Answer:
    """Convert all prices, past ones too, to another currency; for administrators."""
    found = client.set_currency(CurrencyWrite.model_construct(currency=currency.upper(), rate=rate))
    return found, f"all prices are in {found.currency}"


def _price_text(prices: PriceList) -> str:
    last = prices.history[0]
    since = "the beginning" if last.since is None else f"{last.since:%Y-%m-%d %H:%M} UTC"
    return f"{last.name or last.scope}: {_money(last.hour_price)} {prices.currency} an hour from {since}"
