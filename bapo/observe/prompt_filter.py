"""Leaves the prompts that a finding lists out of a trainer's dataset."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bapo.files.prompt_lists import read_prompt_list
from bapo.observe.group import DATA_SOURCE, identity, prompt_text


def without(
    path: str | Path, *, prompt_column: str = "prompt", source_column: str = "data_source"
) -> Callable[[Mapping[str, Any]], bool]:
    """Return whether a row of a dataset stays, for `dataset.filter(observe.without("prompts.csv"))`.

    `path`: what `bapo findings RUN --prompts KIND` printed. The columns are those that the run was observed with; rows
    without a data source are those of a run without one. Raises ValueError for a file that lists no prompts.
    """
    listed = frozenset(read_prompt_list(Path(path)))

    def stays(row: Mapping[str, Any]) -> bool:
        return identity(row.get(source_column) or DATA_SOURCE, prompt_text(row[prompt_column])) not in listed

    return stays
