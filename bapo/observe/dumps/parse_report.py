"""Report of how a dump was parsed: the columns of each field, and in how many rows it was present."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from bapo.files.column_paths import outer_paths
from bapo.observe.dumps.columns import FIELDS, Rollout
from bapo.observe.dumps.formats import Dump

_OPTIONAL = ("response", "answer", "source", "group", "num_tokens", "is_cut", "policy_version")


class ParseReport:
    """Counts, over all rows, the values that there are."""

    def __init__(self, dump: Dump) -> None:
        self.num_rows = 0
        self._dump = dump
        self._num_values: Counter[str] = Counter()

    def note(self, rollouts: Sequence[Rollout]) -> None:
        """Count the values of one step."""
        self.num_rows += len(rollouts)
        for field in _OPTIONAL:
            self._num_values[field] += sum(getattr(each, field) is not None for each in rollouts)

    def facts(self) -> Mapping[str, str]:
        """Return what each field was read from, and the columns that were not read."""
        columns = self._dump.columns
        facts = {}
        for field in FIELDS:
            place = self._place(field)
            if place is not None:
                facts[field] = place + self._share(field)
        used = {name for column in columns.values() for name in column.split(",")}
        found = self._dump.found
        # Of a structure its parts are listed.
        parts = [name for name in found if not any(other.startswith(f"{name}.") for other in found)]
        if unused := [name for name in parts if not used & {name, *outer_paths(name)}]:
            facts["not read"] = ", ".join(unused)
        return facts

    def _place(self, field: str) -> str | None:
        if field not in self._dump.columns:
            is_there = field not in _OPTIONAL or self._num_values[field]
            return self._dump.places.get(field) if is_there else None
        names = self._dump.columns[field].split(",")
        if field == "step" and names[0] not in self._dump.found:
            return "the number in the name of the file"
        return f"column {names[0]}" if len(names) == 1 else f"columns {' + '.join(names)}, added up"

    def _share(self, field: str) -> str:
        num_values = self._num_values[field]
        if field not in _OPTIONAL or num_values == self.num_rows:
            return ""
        if num_values:
            return f", in {num_values:,} of {self.num_rows:,} rows"
        return ", which is not there"
