"""Files that list prompts by their identities."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

COLUMN = "prompt_id"
ACTIONS = ("quarantine", "weight")


def read_prompt_list(path: Path) -> list[str]:
    """Return the identities in a CSV file's column `prompt_id`, or in a text file one a line; each once.

    Raises ValueError where there is none, and OSError where the file cannot be read.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    place = rows[0].index(COLUMN) if rows and COLUMN in rows[0] else None
    if place is None:
        listed = [row[0].strip() for row in rows if len(row) == 1]
    else:
        listed = [row[place].strip() for row in rows[1:] if len(row) > place]
    # An identity is `source:hash`. A leading apostrophe keeps spreadsheets from running a text as a formula.
    found = list(dict.fromkeys(each.removeprefix("'") for each in listed if ":" in each))
    if not found:
        remedy = f"give a CSV file with a column {COLUMN}, as `bapo findings RUN --prompts KIND` prints it"
        raise ValueError(f"{path} lists no prompts: {remedy}")
    return found


class EntryText(NamedTuple):
    """A line of a file of entries, unparsed."""

    prompt_id: str
    weight: str
    """`0` for a prompt that is left out."""
    note: str


def read_entries(lines: Iterable[str], name: str) -> list[EntryText]:
    """Return what a CSV file says of prompts: `prompt_id`, and `action` (quarantine or weight), `weight` and `note` if
    given.

    Without action and weight, and in a text file with one identity a line, a prompt is left out. `name`: the file, for
    messages. Raises ValueError for a row that cannot be read, a prompt listed twice, and where there is none.
    """
    rows = [(number, row) for number, row in enumerate(csv.reader(lines), 1) if any(map(str.strip, row))]
    places = {column.strip().lstrip("\ufeff"): place for place, column in enumerate(rows[0][1])} if rows else {}
    if COLUMN in places:
        rows = rows[1:]
    else:
        places = {COLUMN: 0}
    found: dict[str, EntryText] = {}
    for number, row in rows:
        values = {
            column: row[place].strip().lstrip("\ufeff") if place < len(row) else "" for column, place in places.items()
        }
        # A leading apostrophe keeps spreadsheets from running a text as a formula.
        prompt_id = values[COLUMN].removeprefix("'")
        action, weight = values.get("action", "").lower(), values.get("weight", "")
        if ":" not in prompt_id:
            raise ValueError(f"{name}, row {number}: {prompt_id!r:.80} is no prompt's identity, which is `source:hash`")
        if action not in ("", *ACTIONS):
            raise ValueError(f"{name}, row {number}: the action {action!r:.40} is none: give {' or '.join(ACTIONS)}")
        if action == "weight" and not weight:
            raise ValueError(f"{name}, row {number}: the action is weight, and no weight is given: give one such as 2")
        if prompt_id in found:
            raise ValueError(f"{name}, row {number}: {prompt_id!r:.80} is in an earlier row, too: remove one of them")
        left_out = action == "quarantine" or not weight
        note = values.get("note", values.get("detail", "")).removeprefix("'")
        found[prompt_id] = EntryText(prompt_id, "0" if left_out else weight, note)
    if not found:
        raise ValueError(f"{name} lists no prompts: give a CSV file with a column {COLUMN}")
    return list(found.values())
