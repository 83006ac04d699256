"""Output of commands: tables that fit the terminal, plain lines where there is none, JSON for programs."""

from __future__ import annotations

import functools
import json
import sys
import unicodedata
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any

import typer
from pydantic import BaseModel
from pydantic_core import to_jsonable_python
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bapo.analysis import number_format
from bapo.cli.streams import replace_what_cannot_be_written

PLAIN_WIDTH = 1_000_000
"""Characters per line where the output is not a terminal, so that nothing is cut off."""
COLUMN_GAP = 2
LEAST_CHARACTERS = 8
"""Minimum width of a column that gives way to others."""
NOTHING = "–"

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]

STATUS_STYLES = {
    "draft": "dim",
    "queued": "cyan",
    "starting": "cyan",
    "running": "blue",
    "pausing": "yellow",
    "paused": "yellow",
    "stopping": "yellow",
    "cancelled": "dim",
    "succeeded": "green",
    "failed": "red",
    "lost": "magenta",
}
X_STYLES = ("blue", "yellow", "cyan")
"""Colours of X1, X2 and X3, as in the dashboard."""


@cache
def console() -> Console:
    """Return standard output."""
    return _console(stderr=False)


@cache
def notes() -> Console:
    """Return standard error, for messages to people."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    # Also where a program prints our tables without a command of ours.
    replace_what_cannot_be_written()
    if (sys.stderr if stderr else sys.stdout).isatty():
        return Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    # Whatever FORCE_COLOR and COLUMNS say: programs read this.
    return Console(
        stderr=stderr,
        highlight=False,
        markup=False,
        emoji=False,
        width=PLAIN_WIDTH,
        force_terminal=False,
        no_color=True,
    )


def say(line: str) -> None:
    """Print a line for a person to standard error, so that standard output holds nothing but the result."""
    notes().print(clean(line), soft_wrap=True)


def print_json(answer: BaseModel | Sequence[BaseModel] | dict[str, Any] | list[Any]) -> None:
    """Print a result for programs."""
    print(json.dumps(to_jsonable_python(answer), indent=2, ensure_ascii=not _is_unicode()))


def print_answer(answer: BaseModel | dict[str, Any], line: str, *, as_json: bool) -> None:
    """Print the answer to a change: JSON for programs, one line for people."""
    if as_json:
        print_json(answer)
    else:
        print(clean(line))


def _is_unicode() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def clean(text: str) -> str:
    """Remove the characters that control a terminal."""
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf")
        else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )


def user_text(text: str, style: str = "") -> Text:
    """Format a user's text for a table: one line, no control characters."""
    return Text(clean(text).replace("\n", " "), style=style)


def status_text(status: str) -> Text:
    """Format a state in its colour."""
    return Text(status, style=STATUS_STYLES.get(status, ""))


def table(*headings: str, right: Sequence[str] = ()) -> Table:
    """Make a table without a frame; columns in `right` are aligned right."""
    made = Table(box=None, pad_edge=False, padding=(0, COLUMN_GAP, 0, 0), header_style="dim")
    for heading in headings:
        made.add_column(heading, justify="right" if heading in right else "left", no_wrap=True, overflow="ellipsis")
    return made


def print_table(made: Table, title: str | None = None, *, cut: Collection[str] = ()) -> None:
    """Print a table, without trailing spaces where the output is not a terminal.

    Columns named in `cut` are shortened where a terminal is too narrow: a shortened text can be read, a shortened
    number is wrong.
    """
    if title is not None:
        console().print(Text(clean(title), style="bold"), soft_wrap=True)
    if console().is_terminal:
        _fit(made, cut, console().width)
        console().print(made)
        return
    with console().capture() as captured:
        console().print(made)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def print_framed(made: Table) -> None:
    """Print a table with its lines and wrapped cells; one line per row and no frame where there is no terminal."""
    if console().is_terminal:
        console().print(made)
        return
    plain = table(*(str(column.header) for column in made.columns))
    for column, original in zip(plain.columns, made.columns, strict=True):
        column.justify = original.justify
    for row in zip(*(column.cells for column in made.columns), strict=True):
        plain.add_row(*(user_text("; ".join(str(cell).splitlines())) for cell in row))
    print_table(plain, None if made.title is None else str(made.title))


def _fit(made: Table, cut: Collection[str], width: int) -> None:
    needed = [max(cell_len(str(cell)) for cell in (column.header, *column.cells)) for column in made.columns]
    places = [index for index, column in enumerate(made.columns) if column.header in cut]
    excess = sum(needed) + COLUMN_GAP * (len(needed) - 1) - width
    while excess > 0 and places:
        widest = max(places, key=needed.__getitem__)
        if needed[widest] <= LEAST_CHARACTERS:
            break
        needed[widest] -= 1
        excess -= 1
    for column, characters in zip(made.columns, needed, strict=True):
        if column.no_wrap:
            column.width = characters


def duration(seconds: float | None) -> str:
    """Format a duration: 45 s, 12 m, 1 h 22 m, 2 d 4 h."""
    if seconds is None:
        return NOTHING
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes} m"
    if minutes < 24 * 60:
        return f"{minutes // 60} h {minutes % 60:02} m"
    return f"{minutes // 1440} d {minutes % 1440 // 60} h"


def ago(moment: datetime | None) -> str:
    """Format an age, such as 5 m ago."""
    if moment is None:
        return NOTHING
    seconds = (datetime.now(UTC) - moment).total_seconds()
    return "now" if seconds < 5 else f"{duration(seconds)} ago"


percent = functools.partial(number_format.percent, space=" ")
"""Format of shares, such as 41.2 %, with a plain space."""


def number(value: float | None, form: str = ".3g") -> str:
    """Format a figure; a dash if there is none."""
    return NOTHING if value is None else f"{value:{form}}"
