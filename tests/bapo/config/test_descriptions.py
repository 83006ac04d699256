"""What the strings beneath fields say."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from bapo.config.descriptions import describe_properties, field_description


class Described(BaseModel):
    model_config = ConfigDict(json_schema_extra=describe_properties)

    plain: int = 0
    """Over
    two lines."""
    bare: int = 0
    given: int = Field(default=0, description="Given.")
    """Not taken."""
    named: int = Field(default=0, alias="other")
    """By its alias."""

    def method(self) -> None:
        """Of no field."""


class Narrower(Described):
    plain: Literal[1] = 1
    more: int = 0
    """Its own."""


def test_the_string_beneath_a_field_describes_it() -> None:
    assert field_description(Described, "plain") == "Over\ntwo lines."


def test_a_field_without_a_string_is_not_described() -> None:
    assert field_description(Described, "bare") is None


def test_a_description_that_is_given_is_the_one() -> None:
    assert field_description(Described, "given") == "Given."


def test_a_subclass_describes_what_it_declares_and_inherits_the_rest() -> None:
    found = {name: field_description(Narrower, name) for name in Narrower.model_fields}
    # `plain` is declared again, without a string.
    assert found == {"plain": None, "bare": None, "given": "Given.", "named": "By its alias.", "more": "Its own."}


def test_a_class_within_a_function_is_found() -> None:
    class Inner(Described):
        deep: int = 0
        """Within."""

    assert field_description(Inner, "deep") == "Within."


def test_a_class_without_a_source_inherits() -> None:
    made = create_model("Made", __base__=Described, extra=(int, 0))
    assert field_description(made, "plain") == "Over\ntwo lines."
    assert field_description(made, "extra") is None


def test_the_schema_says_what_pydantic_itself_would_say() -> None:
    class Theirs(Described):
        model_config = ConfigDict(title="Described", json_schema_extra=None, use_attribute_docstrings=True)

        plain: int = 0
        """Over
        two lines."""
        named: int = Field(default=0, alias="other")
        """By its alias."""

    for by_alias in (True, False):
        assert Described.model_json_schema(by_alias=by_alias) == Theirs.model_json_schema(by_alias=by_alias)
