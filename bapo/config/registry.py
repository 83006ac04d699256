"""The classes of a section that `type` selects: those of BAPO, then those that installed packages offer."""

from __future__ import annotations

import importlib
import logging
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.metadata import EntryPoint
from typing import Annotated, Any, Generic, NamedTuple, TypeVar, Union

from pydantic import Field, TypeAdapter

from bapo.config import plugins
from bapo.config.errors import broken_rule
from bapo.config.fields import section_fields
from bapo.config.plugins import PluginError
from bapo.config.section import TypedSection

LOG = logging.getLogger(__name__)

S = TypeVar("S", bound=TypedSection)


class _Found(NamedTuple, Generic[S]):
    classes: Mapping[str, type[S]]
    described: Mapping[str, type[S]]
    """Classes that configs may hold and nothing offers."""
    implementations: Mapping[type[S], Any]
    """Config class → the class that does its work."""
    errors: Mapping[str, PluginError]
    """Entry point → why it cannot be used."""


class Registry(Generic[S]):
    """The config classes of one section.

    A class that does a section's work names the section's class as its `config_class`. BAPO's own are found in the
    modules of a package of ours, those of installed packages by entry points: the name of an entry point is the `type`
    of its config class. Both are imported when a config of the section is first needed. An entry point that cannot be
    used is reported once, in the log, and again to each config that names its type; all others work.
    """

    def __init__(
        self, section: str, group: str, base: type[S], *, default: str, shipped: Sequence[type[S]] | None = None
    ) -> None:
        """Create the registry. `section`: its name in a config. `group`: of the entry points. `default`: a type.

        `shipped`: config classes of BAPO. None: those of the package of ours that is named like the group.
        """
        self.section = section
        self.group = group
        self._base = base
        self._default = default
        self._shipped = shipped

    @property
    def default(self) -> type[S]:
        """Config class of a section that names no type."""
        return self.classes[self._default]

    def default_section(self) -> S:
        """Return the section of a config that names none."""
        return self.default.model_validate({})

    @property
    def classes(self) -> Mapping[str, type[S]]:
        """Config class by type: the default, the others of BAPO, then those of packages by name."""
        return self._found.classes

    def get(self, name: object) -> type[S] | None:
        """Return the config class of a type; None if this installation does not know it."""
        return self.classes.get(str(name)) or self._found.described.get(str(name))

    def implementation(self, config_class: type[S]) -> Any:
        """Return the class that does the work of a config class."""
        return self._found.implementations[config_class]

    def validate(self, given: object) -> S:
        """Return the section, checked by the class that its `type` names. Raises ValueError."""
        named = given.get("type") if isinstance(given, Mapping) else None
        error = self._found.errors.get(named) if isinstance(named, str) else None
        if error is not None:
            raise broken_rule(f"{self.section}.type", str(error))
        return self._adapter.validate_python(given)

    def import_shipped(self) -> None:
        """Import BAPO's own classes, and none of packages: for a process that is going to be forked."""
        self._shipped_implementations()

    def forget(self) -> None:
        """Look again at the next use; for tests that install a package."""
        self.__dict__.pop("_found", None)
        self.__dict__.pop("_adapter", None)
        plugins.offered.cache_clear()

    def _shipped_implementations(self) -> Mapping[type[S], Any]:
        return {} if self._shipped is not None else dict(_implementations_in(self.group))

    @cached_property
    def _adapter(self) -> TypeAdapter[S]:
        members: Any = Union[(*self.classes.values(), *self._found.described.values())]
        return TypeAdapter(Annotated[members, Field(discriminator="type")])

    @cached_property
    def _found(self) -> _Found[S]:
        implementations = dict(self._shipped_implementations())
        shipped = {each.type_name(): each for each in self._shipped or implementations}
        described = {name: each for name, each in shipped.items() if not each.is_trainable}
        classes = {self._default: shipped[self._default], **shipped}
        classes = {name: each for name, each in classes.items() if name not in described}
        errors: dict[str, PluginError] = {}
        for point in self._points():
            try:
                implementation = plugins.load(point)
                config_class = self._checked(point, implementation, classes, described)
            except PluginError as error:
                LOG.warning("%s", error)
                if point.name not in classes:
                    errors[point.name] = error
                continue
            classes[point.name] = config_class
            implementations[config_class] = implementation
        return _Found(classes, described, implementations, errors)

    def _points(self) -> Iterator[EntryPoint]:
        for points in plugins.offered(self.group).values():
            yield from points

    def _checked(
        self, point: EntryPoint, implementation: Any, known: Mapping[str, type[S]], described: Mapping[str, type[S]]
    ) -> type[S]:
        """Return the config class of a package's class. Raises PluginError if it conflicts with the others."""
        found = getattr(implementation, "config_class", None)
        if not (isinstance(found, type) and issubclass(found, self._base)):
            raise plugins.unusable(point, f"it has no config_class that is a subclass of {self._base.__name__}")
        if point.name in known or point.name in described:
            raise plugins.unusable(point, f"there is a {self.section} of that name already")
        name = found.model_fields["type"].default
        if name != point.name:
            raise plugins.unusable(point, f"{found.__name__}.type is {name!r}, and not the entry point's name")
        try:
            kinds = _kinds(self.section, found)
        except Exception as error:
            raise plugins.unusable(
                point, f"its fields cannot be described ({type(error).__name__}: {error})"
            ) from error
        for other in known.values():
            theirs = _kinds(self.section, other)
            clash = next((path for path, kind in kinds.items() if theirs.get(path, kind) != kind), None)
            if clash is not None:
                raise plugins.unusable(
                    point,
                    f"{clash} is of kind {kinds[clash]}, but {theirs[clash]} in {other.type_name()}; rename it",
                )
        return found


def _implementations_in(package: str) -> Iterator[tuple[type[Any], type[Any]]]:
    """Return the config class and the class of each pair that a module of the package defines, in order of their
    modules."""
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
        for found in vars(importlib.import_module(module.name)).values():
            if isinstance(found, type) and found.__module__ == module.name and "config_class" in vars(found):
                yield vars(found)["config_class"], found


def _kinds(section: str, config_class: type[TypedSection]) -> dict[str, str]:
    """Return the kind of each field: form and command line have one input for a field of all types that know it."""
    return {each.path: each.kind for each in section_fields(config_class, f"{section}.")}
