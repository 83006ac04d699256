"""Files that list prompts by their identities."""

from __future__ import annotations

import csv
from pathlib import Path

COLUMN = "prompt_id"


def read_prompt_list(path: Path) -> list[str]:
    """The identities in a CSV file's column `prompt_id`, or in a text file one a line; each once.

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
