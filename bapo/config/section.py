"""The common base of all config sections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict

from bapo.config.descriptions import describe_properties


class Section(BaseModel):
    """Frozen; refuses unknown fields. The docstring of each field documents it in the form, the CLI and the docs."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, json_schema_extra=describe_properties, validate_default=True, allow_inf_nan=False
    )


class TypedSection(Section):
    """A section with several classes, selected by `type`; each class narrows it to one name, the default."""

    is_trainable: ClassVar[bool] = True
    """True if runs with it can be trained here. False: it describes another trainer's run, a config holds only what is
    known of that, and nothing offers it."""

    type: str

    @classmethod
    def type_name(cls) -> str:
        """Return the `type` of this class."""
        return str(cls.model_fields["type"].default)


def _as_it_stands(value: str) -> str:
    if "${" in value or not value.isprintable():
        raise ValueError("must not contain ${ or control characters: leave them out")
    return value


PlainText = Annotated[str, AfterValidator(_as_it_stands)]
"""A text that becomes part of other programs' settings, which would expand placeholders in it."""

PathKind = Literal["dataset", "model", "verifier"]


@dataclass(frozen=True, slots=True)
class NamesPath:
    """Marks a field whose value names a file or folder, or several: a server then permits some folders only."""

    kind: PathKind


DataFile = Annotated[PlainText, NamesPath("dataset")]
"""Parquet or JSONL file. A package's own tasks, too, give this type to every field that names a file."""
ModelFolder = Annotated[PlainText, NamesPath("model")]
"""Folder of a model, or the name of one that is shipped with BAPO."""
