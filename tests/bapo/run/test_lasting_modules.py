"""Modules are loaded without the garbage collector, which goes on afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from bapo.run.lasting_modules import lasting_modules


@pytest.fixture(autouse=True)
def _nothing_stays_frozen() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_what_was_loaded_is_not_looked_through_again() -> None:
    gc.unfreeze()
    with lasting_modules("tests.not_loaded_yet"):
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0


def test_the_second_time_nothing_is_frozen() -> None:
    gc.unfreeze()
    with lasting_modules("sys"):
        assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_the_collector_goes_on_where_a_module_cannot_be_loaded() -> None:
    with pytest.raises(ImportError), lasting_modules("tests.not_loaded_yet"):
        raise ImportError
    assert gc.isenabled()
