"""Prices of compute hours."""

from __future__ import annotations

from bapo.api.prices import CurrencyWrite, PriceList, PriceWrite
from bapo.client.call import route


class PriceCalls:
    """Prices of compute hours."""

    @route("GET /prices")
    def prices(self) -> PriceList:
        """Return the prices of all kinds of machines, and every change."""

    @route("POST /prices")
    def set_price(self, body: PriceWrite) -> PriceList:
        """Set a price from a moment on; for administrators."""

    @route("PUT /prices/currency")
    def set_currency(self, body: CurrencyWrite) -> PriceList:
        """Convert all prices to another currency; for administrators."""
