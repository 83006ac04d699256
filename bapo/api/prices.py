"""Prices of compute hours."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from bapo.api.base import Body, Text
from bapo.config import patterns

PriceScope = Literal["gpu", "slot", "gpu_name", "worker"]
"""Scope of a price: any GPU, or a slot of a machine without GPUs; one kind of GPU; a worker, per GPU or, without any,
per slot. A worker's price takes precedence over that of its kind of GPU, which takes precedence over the general
one."""


class PriceWrite(Body):
    """A price from a moment on. Earlier hours keep the price of their time."""

    scope: PriceScope = Field(examples=["gpu_name"])
    name: Text = Field(default="", max_length=200, examples=["NVIDIA H200"])
    """The kind of GPU, or the worker; empty for `gpu` and `slot`."""
    hour_price: float | None = Field(ge=0, le=1_000_000, allow_inf_nan=False, examples=[2.5])
    """Price per hour, in the currency of the prices; null to inherit the more general one again."""
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
    """Price per hour of this scope; null if it inherits the more general one."""
    applies: float | None
    """Current price per hour, inherited or not; null if there is none."""
    since: datetime | None
    """Since when its own price applies; null if it has none, or from the beginning."""


class PriceChange(Body):
    """Change of a price by an administrator."""

    scope: PriceScope
    name: str
    hour_price: float | None
    """New price per hour; null to inherit the more general one."""
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
    """True if the caller may change them: administrators may."""
