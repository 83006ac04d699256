"""Lists, each as a table, as JSON or as CSV: a list declares its columns, and this module prints them."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

import typer
from rich.text import Text

from bapo.cli.connection import online
from bapo.cli.option_sets import option, parameters_of, wrapper
from bapo.cli.output import NOTHING, JsonOption, ago, print_json, print_table, say, table, user_text
from bapo.cli.streams import data_output
from bapo.client import Client

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
P = ParamSpec("P")

Cell = str | int | datetime | Text | None

LimitOption = Annotated[int, typer.Option("--limit", "-n", min=1, max=500, help="Maximum number shown.")]


class Page(Protocol[T_co]):
    """An answer of the API that is a list."""

    @property
    def items(self) -> Sequence[T_co]:
        """Items of the page."""


@dataclass(frozen=True)
class Listing(Generic[T]):
    """The columns of a list: text is cleaned, numbers and times are aligned right, times are shown as ages."""

    columns: Mapping[str, Callable[[T], Cell]]
    raw: Mapping[str, Callable[[T], Cell]] = field(default_factory=dict)
    """Columns of which CSV has another value: what filters and configs take."""
    cut: Collection[str] = ()
    """Columns that give way where a terminal is too narrow."""
    wrap: Collection[str] = ()
    """Columns that continue on further lines instead."""
    right: Collection[str] = ()
    """Columns of text that are aligned right."""
    empty: str | None = None
    """Printed instead of a table without lines."""

    def print(self, items: Sequence[T], columns: Sequence[str] | None = None, title: str | None = None) -> None:
        """Print a table of these columns, or of all."""
        if not items and self.empty is not None:
            say(self.empty)
            return
        names = list(self.columns) if columns is None else list(columns)
        rows = [[self.columns[name](item) for name in names] for item in items]
        right = {
            name
            for index, name in enumerate(names)
            if name in self.right or any(isinstance(row[index], int | datetime) for row in rows)
        }
        made = table(*names, right=[*right])
        for name, column in zip(names, made.columns, strict=True):
            column.no_wrap = name not in self.wrap
        for row in rows:
            made.add_row(*map(_shown, row))
        print_table(made, title, cut=self.cut)

    def print_csv(self, items: Iterable[T]) -> None:
        """Print all columns for a spreadsheet."""
        columns = {**self.columns, **self.raw}
        write_csv(columns, ([of(item) for of in columns.values()] for item in items), data_output())


def _shown(cell: Cell) -> Text:
    match cell:
        case None:
            return Text(NOTHING)
        case datetime():
            return Text(ago(cell))
        case int():
            return Text(f"{cell:,}")
        case str():
            return user_text(cell)
        case _:
            return cell


def write_csv(headings: Iterable[str], rows: Iterable[Sequence[Any]], file: Any) -> None:
    """Write a table; a text that a spreadsheet would run as a formula gets an apostrophe before it."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows([_harmless(value) for value in row] for row in rows)


def _harmless(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    text = value.plain if isinstance(value, Text) else value
    return f"'{text}" if isinstance(text, str) and text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


@dataclass(frozen=True)
class Output:
    """Formats of a list other than a table."""

    as_json: JsonOption = False
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False


def listed(
    listing: Listing[T],
) -> Callable[[Callable[Concatenate[Client, P], Page[T]]], Callable[..., None]]:
    """Make a command of a function that fetches a list: it gains `--json`, `--csv` and the options of `online`."""

    def command_of(fetch: Callable[Concatenate[Client, P], Page[T]]) -> Callable[..., None]:
        def command(client: Client, /, *, output: Output, **given: Any) -> None:
            page: Any = fetch(client, **given)  # type: ignore[call-arg] # what was declared is what Typer gives
            if output.as_json:
                print_json(page)
            elif output.as_csv:
                listing.print_csv(page.items)
            else:
                listing.print(page.items)

        return online(wrapper(command, fetch, [*parameters_of(fetch), option("output", Output)]))

    return command_of
