"""Prices of compute hours."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from bapo.api.base import Body, Text
from bapo.config import patterns

PriceScope = Literal["gpu", "slot", "gpu_name", "worker"]
"""What a price is of: any GPU, or a slot of a machine without GPUs; one kind of GPU; a worker, per GPU or, without any,
per slot. A worker's price comes before that of its kind of GPU, which comes before the general one."""


class PriceWrite(Body):
    """A price from a moment on. Earlier hours keep the price of their time."""

    scope: PriceScope = Field(examples=["gpu_name"])
    name: Text = Field(default="", max_length=200, examples=["NVIDIA H200"])
    """The kind of GPU, or the worker; empty for `gpu` and `slot`."""
    hour_price: float | None = Field(ge=0, le=1_000_000, allow_inf_nan=False, examples=[2.5])
    """Per hour, in the currency of the prices; null: none of its own, so that the more general one applies again."""
    since: datetime | None = None
    """Past or future. Null: now; the first price for `gpu` or `slot` applies from the beginning."""

    @model_validator(mode="after")
    def _name_where_one_is_needed(self) -> Self:
        if self.scope in ("gpu", "slot") and self.name:
            raise ValueError(f"a price for {self.scope} has no name: leave it out, or give gpu_name or worker as scope")
        if self.scope in ("gpu_name", "worker") and not self.name:
            raise ValueError("give as name which kind of GPU or which worker the price is of")
        return self

    @field_validator("since")
    @classmethod
    def _has_zone(cls, since: datetime | None) -> datetime | None:
        if since is not None and since.tzinfo is None:
            raise ValueError("give the time with its zone, such as 2026-11-23T18:00:00Z")
        return since


class CurrencyWrite(Body):
    """Another currency for all prices."""

    currency: Text = Field(pattern=patterns.CURRENCY, examples=["EUR"])
    """An ISO 4217 code."""
    rate: float = Field(gt=0, le=1_000_000_000, allow_inf_nan=False, examples=[0.92])
    """Worth of one unit of the present currency in the new one: all prices, past ones too, are multiplied by it."""


class MachinePrice(Body):
    """The price of a kind of machine now."""

    scope: PriceScope
    name: str
    hour_price: float | None
    """Its own; null if it has none."""
    applies: float | None
    """What its hours cost now, by its own price or a more general one; null if there is none."""
    since: datetime | None
    """Since when its own price applies; null if it has none, or from the beginning."""


class PriceChange(Body):
    """A change that somebody made."""

    scope: PriceScope
    name: str
    hour_price: float | None
    """Null: no price of its own any more."""
    since: datetime | None
    """Null: from the beginning."""
    made_at: datetime
    author: str


class PriceList(Body):
    """The prices of compute hours."""

    currency: str
    items: Sequence[MachinePrice]
    """The two general ones, each known kind of GPU, and each known worker."""
    history: Sequence[PriceChange]
    """All changes, the newest first; with the prices of the server's settings if they were there before."""
    may_edit: bool
    """Whether the caller may change them: administrators may."""
