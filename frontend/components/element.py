"""Base of our own components, which our scripts draw (`window.bapo_elements`)."""

from __future__ import annotations

from typing import Any, ClassVar

from dash.development.base_component import Component

NAMESPACE = "bapo_elements"
"""Each component names it itself: Dash looks for it in the class, and not in those that it is made of."""


class Element(Component):
    """A component whose properties are set as they are.

    Given to Dash's own way, each would have it look for a package of the namespace's name, through all folders.
    """

    _namespace = NAMESPACE
    _children_props: list[str] = []  # noqa: RUF012 - as Dash declares them
    _base_nodes = ["children"]  # noqa: RUF012
    _valid_wildcard_attributes: list[str] = []  # noqa: RUF012
    available_wildcard_properties: list[str] = []  # noqa: RUF012
    available_properties: ClassVar[list[str]]

    def __init_subclass__(cls) -> None:
        """Name the component as its class, as its script does."""
        cls._type, cls.available_properties = cls.__name__, cls._prop_names

    def __init__(self, **properties: Any) -> None:
        unknown = properties.keys() - set(self._prop_names)
        assert not unknown, f"{self._type} has no {', '.join(sorted(unknown))}"
        untyped: Any = super()
        untyped.__init__()
        for name, value in properties.items():
            setattr(self, name, value)
