"""Reads the filter of the prompt list from an address: for the list, and for a prompt's neighbours in it."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from bapo.api.prompts import PromptFilter

DEFAULT_SORT = "visits"


def filter_of(query: Mapping[str, str]) -> PromptFilter:
    """Return the filter of an address, under the names of the API; unknown keys are ignored."""
    given = {key: value for key, value in query.items() if key in PromptFilter.model_fields and value != ""}
    given.setdefault("sort", DEFAULT_SORT)
    if "sort" not in query:
        given["descending"] = "true"
    try:
        return PromptFilter.model_validate(given)
    except ValidationError as error:
        wrong = {str(finding["loc"][0]) for finding in error.errors()}
        return PromptFilter.model_validate({key: value for key, value in given.items() if key not in wrong})
