"""Table 4: the data sets of the runs, with the size and licence of those that are published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Literal, NamedTuple

import plotly.graph_objects as go

from bapo.datasets.sets import SETS, PublishedSet
from bapo.figures import formatting
from bapo.figures.recorded import RecordedRun
from bapo.figures.tables import Cell, Column, TextTable, table_figure
from bapo.figures.theme import Palette

Use = Literal["train", "test"]


class DataRow(NamedTuple):
    """A set of problems as the runs use it."""

    name: str
    use: Use
    num_problems: int | None
    """Problems that the runs use; `None` of a training file without `task.max_train_problems`."""
    num_runs: int
    published: PublishedSet | None
    """Set of the catalogue, if the problems come from a file of its name."""


class DataTable(NamedTuple):
    """Training sets first, then test sets."""

    rows: Sequence[DataRow]


def data_table_data(runs: Sequence[RecordedRun]) -> DataTable:
    """List the sets with the runs that use each; another number of problems is another row."""
    counts: dict[tuple[str, Use, int | None, PublishedSet | None], int] = {}
    for run in runs:
        for found in (*_training(run.config.get("task", {})), *_tests(run)):
            counts[found] = counts.get(found, 0) + 1
    rows = [DataRow(name, use, size, num, published) for (name, use, size, published), num in counts.items()]
    return DataTable(sorted(rows, key=lambda row: row.use != "train"))


def _training(task: Mapping[str, Any]) -> Iterator[tuple[str, Use, int | None, PublishedSet | None]]:
    file = task.get("train_file")
    if file:
        name = PurePath(file).stem
        # Countdown takes so many of its file.
        yield name, "train", task.get("num_train") or task.get("max_train_problems"), SETS.get(name)
    elif task.get("num_train"):
        yield f"{task['type']}, generated", "train", task["num_train"], None


def _tests(run: RecordedRun) -> Iterator[tuple[str, Use, int | None, PublishedSet | None]]:
    names = {PurePath(each).stem for each in run.config.get("task", {}).get("test_files") or ()}
    sizes = {record.dataset: len(record.num_correct) for record in run.evaluations}
    for name, size in sizes.items():
        yield name, "test", size, SETS.get(name) if name in names else None


def data_text(data: DataTable) -> TextTable:
    """Format the table; what the catalogue says of a set is quoted."""
    columns = [
        *(Column("data set", align="left"), Column("used to", align="left"), Column("problems"), Column("runs")),
        *(Column("problems", "as published"), Column("licence", "as published", align="left")),
        Column("source", "as published", align="left"),
    ]
    return TextTable(columns, [_cells(row) for row in data.rows])


def _cells(row: DataRow) -> list[Cell]:
    size = formatting.MISSING if row.num_problems is None else f"{row.num_problems:,}"
    own = [Cell(row.name), Cell(row.use), Cell(size), Cell(str(row.num_runs))]
    if row.published is None:
        return [*own, *(Cell(formatting.MISSING, is_quoted=True) for _ in range(3))]
    repository, num_problems, licence = row.published
    quoted = (f"{num_problems:,}", licence or "not stated", repository)
    return [*own, *(Cell(text, is_quoted=True) for text in quoted)]


def data_table_figure(data: DataTable, palette: Palette) -> go.Figure:
    """Draw the table as a plotly figure."""
    return table_figure(data_text(data), palette)
