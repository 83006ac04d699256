"""Addresses and files of the pages of prompts over all runs and of prompt lists."""

from __future__ import annotations

import base64

import pytest

from frontend.components.actions import FormError
from frontend.components.prompts import entry_weight
from frontend.pages.prompt_lists.editor import entries_of
from frontend.pages.prompts import offset_of
from frontend.pages.prompts.overview import filter_of


def test_an_address_is_a_filter_and_what_is_none_filters_nothing() -> None:
    wanted = filter_of({"show": "suspected", "min_runs": "3", "descending": "true", "offset": "50", "search": ""})
    assert (wanted.show, wanted.min_runs, wanted.descending, wanted.search) == ("suspected", 3, True, None)
    wanted = filter_of({"show": "nothing", "min_runs": "many", "sort": "num_runs"})
    assert (wanted.show, wanted.min_runs, wanted.sort) == ("all", 1, "num_runs")
    assert [offset_of({"offset": text}) for text in ("50", "-1", "x", "9" * 20)] == [50, 0, 0, 0]


def sent(text: str) -> str:
    """A file as the browser sends it."""
    return "data:text/csv;base64," + base64.b64encode(text.encode()).decode()


def test_a_file_becomes_entries_or_says_what_is_wrong() -> None:
    first, second = entries_of("a.csv", sent("prompt_id,action,weight,note\na:1,quarantine,,why\na:2,weight,0.5,\n"))
    assert (first.weight, first.note, second.weight) == (0.0, "why", 0.5)
    with pytest.raises(ValueError, match=r"a\.csv, row 2: 'x' is no prompt's identity"):
        entries_of("a.csv", sent("prompt_id\nx\n"))
    with pytest.raises(ValueError, match="is no number"):
        entries_of("a.csv", sent("prompt_id,weight\na:1,two\n"))
    with pytest.raises(ValueError, match="is no text in UTF-8"):
        entries_of("a.csv", "data:;base64," + base64.b64encode(b"\xff\xfe\x00").decode())


def test_the_forms_weight_is_checked_where_it_counts() -> None:
    assert entry_weight("quarantine", "nonsense") == 0.0
    assert entry_weight("weight", "2.5") == 2.5
    for text in ("", "0", "two", "0.0001"):
        with pytest.raises(FormError):
            entry_weight("weight", text)
