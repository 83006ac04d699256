"""Routes of prices."""

from __future__ import annotations

from backend.kit.context import DbSession, SettingsOf, new_router
from backend.kit.permissions import Administrator, Reader
from backend.prices import service
from bapo.api.prices import CurrencyWrite, PriceList, PriceWrite

router = new_router("prices")


@router.get("/prices", summary="Get prices")
def get_prices(caller: Reader, session: DbSession, settings: SettingsOf) -> PriceList:
    """List the current hourly prices of each kind of machine, and all changes."""
    return service.price_list(session, settings, caller)


@router.post("/prices", summary="Set a price")
def set_price(caller: Administrator, session: DbSession, settings: SettingsOf, body: PriceWrite) -> PriceList:
    """Set the price of an hour from a moment on; hours before keep theirs. Requires an administrator."""
    service.set_price(session, settings, body, caller)
    session.flush()
    return service.price_list(session, settings, caller)


@router.put("/prices/currency", summary="Change the currency")
def set_currency(caller: Administrator, session: DbSession, settings: SettingsOf, body: CurrencyWrite) -> PriceList:
    """Convert all prices, past ones too, to another currency. Requires an administrator."""
    service.set_currency(session, settings, body, caller)
    session.flush()
    return service.price_list(session, settings, caller)
