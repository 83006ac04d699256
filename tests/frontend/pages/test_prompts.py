"""The tabs on prompts and responses and a prompt's page, as made by the server."""

from __future__ import annotations

from typing import Any

import pytest

from bapo.api.prompts import PromptFilter, Story
from bapo.figures.theme import DARK, LIGHT
from bapo.rollout import BatchSource
from frontend.components.prompts import filter_of
from frontend.pages.prompt import Address, policy_age
from frontend.pages.run.prompts import ramp_style


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, {"sort": "visits", "descending": True}),
        ({"tab": "prompts", "page": "3"}, {"sort": "visits", "descending": True}),
        ({"sort": "gain"}, {"sort": "gain"}),
        ({"sort": "gain", "descending": "true"}, {"sort": "gain", "descending": True}),
        (
            {"story": "stuck", "source": "reused", "search": "3 4", "min_last": "2", "max_last": "", "sort": "visits"},
            {"story": Story.STUCK, "source": BatchSource.REUSED, "search": "3 4", "min_last": 2, "sort": "visits"},
        ),
        # What is none of the filter's values is left out, not an error page.
        ({"story": "happy", "min_last": "many", "search": "x"}, {"search": "x", "sort": "visits", "descending": True}),
        ({"sort": "beauty"}, {"sort": "first_step"}),
    ],
)
def test_an_address_holds_a_filter(query: dict[str, str], expected: dict[str, Any]) -> None:
    assert filter_of(query) == PromptFilter(**expected)


def test_the_ramp_follows_the_scheme() -> None:
    style = ramp_style(4)
    assert list(style) == ["--k0", "--k1", "--k2", "--k3", "--k4"]
    assert style["--k0"] == f"light-dark({LIGHT.ramp[0]}, {DARK.ramp[0]})"


def test_a_prompts_address_keeps_the_list_that_it_was_reached_from() -> None:
    path = {"run_id": "r1", "prompt_id": "maths%2Falgebra%3A12%20b"}
    address = Address.of(path, {"story": "unlocked", "sort": "gain", "descending": "true", "search": "a&b"})
    assert address.prompt_id == "maths/algebra:12 b"
    href = "/runs/r1/prompts/next%2Fone?story=unlocked&search=a%26b&sort=gain&descending=true"
    assert address.href_of("next/one") == href
    again = Address.of(
        {"run_id": "r1", "prompt_id": "next%2Fone"},
        {"story": "unlocked", "search": "a&b", "sort": "gain", "descending": "true"},
    )
    assert again.wanted == address.wanted
    assert address.search(tab="prompts").startswith("?tab=prompts&story=unlocked")


@pytest.mark.parametrize(("staleness", "text"), [(0, "current"), (1, "1 step old"), (5, "5 steps old")])
def test_the_age_of_a_policy_is_told_in_words(staleness: int, text: str) -> None:
    assert policy_age(staleness) == text
