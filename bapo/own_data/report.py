"""Report on an uploaded file: its first rows, the columns as they were mapped, and all findings of the check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from bapo.config.descriptions import describe_properties
from bapo.files.column_paths import outer_paths
from bapo.own_data.result_marks import MARKS

DataTask = Literal["file", "countdown"]
"""Type of the tasks that the rows are problems of, as in `task.type`."""
Severity = Literal["problem", "warning", "note"]

REQUIRED: Mapping[DataTask, Sequence[str]] = {"file": ("prompt", "answer"), "countdown": ("nums", "target")}
"""Required parts of a row."""
OPTIONAL: Mapping[DataTask, Sequence[str]] = {"file": ("solution", "images", "data_source"), "countdown": ()}


class Described(BaseModel):
    """Common base."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=describe_properties)


class ColumnMapping(Described):
    """Columns that hold the parts of a problem, and the verifier of responses to it."""

    task: DataTask = "file"
    columns: Mapping[str, str] = {}
    """Our column, such as `prompt` → the file's; dots lead into structures, as in `reward_model.ground_truth`; `####`,
    `\\boxed` or `<answer>` behind a column's name is the result that its text marks so."""
    verifier: str = Field(default="math", max_length=4_000)
    """Verifier of responses, as in `task.verifier`."""

    @property
    def missing(self) -> Sequence[str]:
        """Parts that no column gives."""
        return [name for name in REQUIRED[self.task] if not self.columns.get(name)]


class DataPreview(Described):
    """The first rows of a file."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    """JSON values; long ones are truncated and marked."""

    @property
    def choices(self) -> Sequence[str]:
        """Names that may be chosen as a column: the parts, and the structures that they are parts of."""
        return list(dict.fromkeys([*self.columns, *(path for name in self.columns for path in outer_paths(name))]))

    def has(self, column: str) -> bool:
        """Return whether this is a choice, or the result that the text of one marks."""
        choices = self.choices
        return any(column.removesuffix(mark) in choices for mark in ("", *MARKS))


class BadRow(Described):
    """A row that cannot be used."""

    row: int
    """Line of a JSONL or CSV file, row of a Parquet file; from 1."""
    reason: str


class RepeatedRow(Described):
    """A row that says what an earlier one says."""

    row: int
    earlier: int
    text: str
    """The beginning of its prompt."""


class Overlap(Described):
    """Problems that another data set contains as well."""

    name: str
    """`@name` of a registered data set, or the name of a test set that ships."""
    is_test_set: bool
    """True if runs were evaluated on it."""
    num_problems: int
    """Problems of this file that the other has."""
    rows: Sequence[int]
    """The first of them."""


class VerifierTrial(Described):
    """Judgements of the verifier on reference answers, and on wrong answers."""

    verifier: str
    num_tried: int
    """Problems, spread over the file."""
    num_references_refused: int
    """Reference answers that were judged wrong."""
    num_wrong_accepted: int
    """Wrong answers that were judged right."""
    examples: Sequence[BadRow]
    num_whole_texts: int = 0
    """Reference answers, among those judged wrong, that are whole texts, which no response repeats."""
    mark: str | None = None
    """Mark before the result in most of these texts, such as `####`; appended to the column's name it selects the
    results.
    """
    not_tried_because: str | None = None


class Remark(Described):
    """Something that the check found, in a sentence."""

    severity: Severity
    """Severity: `problem` blocks registration; `warning` requires the user to read it first."""
    text: str


class DataReport(Described):
    """The check of a whole file."""

    num_rows: int
    num_kept: int
    """Rows that are registered: readable, and with a prompt that no earlier row has."""
    num_bad: int
    bad_rows: Sequence[BadRow]
    """The first of them."""
    num_repeated: int
    """Rows with the same prompt as an earlier one: left out."""
    num_contradicting: int
    """Those among them that have another answer."""
    repeated: Sequence[RepeatedRow]
    num_near: int
    """Rows that pose nearly the same problem as another one: kept."""
    near: Sequence[RepeatedRow]
    num_compared: int
    """Rows that were compared in words; the first of very many."""
    overlaps: Sequence[Overlap]
    trial: VerifierTrial
    longest_prompt: int
    """Characters."""
    remarks: Sequence[Remark]

    @property
    def is_refused(self) -> bool:
        """True if the file cannot be registered."""
        return any(remark.severity == "problem" for remark in self.remarks)

    @property
    def warnings(self) -> Sequence[str]:
        """Warnings that must be read before the file is registered."""
        return [remark.text for remark in self.remarks if remark.severity == "warning"]
