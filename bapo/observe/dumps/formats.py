"""The dumps that can be read: where their files lie, what their rows say, and what was found in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from bapo.files.column_paths import leaf_paths, outer_paths
from bapo.files.safe_paths import files_inside
from bapo.observe.dumps.columns import FIELDS, Reader, Rollout, column_reader
from bapo.observe.dumps.prime_rl import PLACES, effective_files, is_evaluation, prime_rl_rollouts
from bapo.observe.dumps.rows import DumpFile, dump_error, number_types, read_rows


class Format(StrEnum):
    """The trainer that wrote the files."""

    TRL = "trl-completions"
    VERL = "verl-dumps"
    PRIME_RL = "prime-rl"
    JSONL = "jsonl"
    PARQUET = "parquet"


@dataclass(frozen=True, slots=True)
class Dump:
    """Files of one folder in the order of their steps, and how their rows are read."""

    folder: Path
    files: Sequence[DumpFile]
    read: Reader
    columns: Mapping[str, str]
    """Columns by field; none where rows are nested."""
    found: Sequence[str]
    """Columns of the first row, and the parts of its structures by their paths."""
    trainer: str
    repeats: bool
    """True if a file may hold the rollouts of the one before it once more."""
    places: Mapping[str, str] = field(default_factory=dict)
    """Source of each field, for nested rows."""
    counted: Sequence[DumpFile] = ()
    """Files of which it is only counted what their trainer left out."""


TRAINERS = {Format.TRL: "TRL", Format.VERL: "verl", Format.PRIME_RL: "prime-rl"}
_FILE_NAMES = {
    Format.TRL: re.compile(r"completions_(?P<step>\d{1,9})\.parquet"),
    Format.VERL: re.compile(r"(?P<step>\d{1,9})\.jsonl"),
    Format.PRIME_RL: re.compile(r"train_rollouts\.jsonl|traces\.jsonl"),
    Format.JSONL: re.compile(r".*\.jsonl"),
    Format.PARQUET: re.compile(r".*\.parquet"),
}
_EXPECTED = {
    Format.TRL: "completions_*.parquet, as TRL writes with log_completions=True",
    Format.VERL: "{step}.jsonl, as verl writes to trainer.rollout_data_dir",
    Format.PRIME_RL: "step_*/train/effective/traces.jsonl or step_*/train_rollouts.jsonl, as prime-rl writes to its "
    "folder rollouts",
    Format.JSONL: "*.jsonl",
    Format.PARQUET: "*.parquet",
}
_EVALUATIONS = re.compile(r"eval_rollouts\.jsonl|traces\.jsonl")
_STEP_FOLDER = re.compile(r"step_(?P<step>\d{1,9})")
_PLAIN = {name: name for name in ("prompt", "response", "reward", "step")}
_COLUMNS: Mapping[Format, Mapping[str, str]] = {
    Format.TRL: {"prompt": "prompt", "response": "completion", "step": "step"},
    Format.VERL: {"prompt": "input", "response": "output", "reward": "score", "step": "step", "answer": "gts"},
    Format.PRIME_RL: {},
    Format.JSONL: _PLAIN,
    Format.PARQUET: _PLAIN,
}
_NOT_REWARDS = frozenset({"step", "advantage", "num_tokens", "policy_version"})


def open_dump(path: Path, kind: Format, given: Mapping[str, str], *, evaluations: bool = False) -> Dump:
    """Return the dump in a folder, or in one file. Raises ConfigError if there is none, or no column gives a field."""
    folder, files = _files(path, kind, evaluations=evaluations)
    if kind is Format.PRIME_RL:
        if given:
            raise dump_error("--column", next(iter(given)), "the rows of prime-rl are nested: leave it out")
        taken, counted = effective_files(files)
        trainer = TRAINERS[kind]
        return Dump(folder, taken, prime_rl_rollouts, {}, (), trainer, repeats=False, places=PLACES, counted=counted)
    first = _first_row(folder, files)
    columns = {**_COLUMNS[kind], **given}
    if kind is Format.TRL and "reward" not in given:
        columns["reward"] = ",".join(_reward_columns(folder, files, columns))
    # What no option names may be missing, as long as a group and its rewards remain.
    optional = {name for name in columns if name not in given} - {"prompt"}
    if "step" in optional and "step" not in first and any(file.step is None for file in files):
        remedy = "no column gives the training step: add --column step=COLUMN, or number the files"
        raise dump_error("--column", f"found: {', '.join(first) or 'none'}", remedy)
    return Dump(
        folder,
        files,
        column_reader(columns, frozenset(optional)),
        columns,
        tuple(dict.fromkeys([*first, *leaf_paths(first)])),
        TRAINERS.get(kind, ""),
        repeats=kind is Format.TRL,
    )


def _files(path: Path, kind: Format, *, evaluations: bool) -> tuple[Path, list[DumpFile]]:
    if path.is_file() and not path.is_symlink():
        folder = path.parent
        sizes: dict[tuple[str, ...], int] = {(path.name,): path.stat().st_size}
    elif path.is_dir():
        folder = path
        sizes = {file.parts: file.num_bytes for file in files_inside(path)}
    else:
        raise dump_error("FOLDER", str(path), "there is no such folder or file")
    wanted = _EVALUATIONS if kind is Format.PRIME_RL and evaluations else _FILE_NAMES[kind]
    # A folder, or a file, within that of prime-rl's rollouts may be given.
    outer = folder.resolve().parts if kind is Format.PRIME_RL else ()
    found = [
        DumpFile(parts, sizes[parts], _step_of((*outer, *parts), match))
        for parts in sizes
        if (match := wanted.fullmatch(parts[-1]))
        and (kind is not Format.PRIME_RL or is_evaluation((*outer, *parts)) is evaluations)
    ]
    if not found and not (kind is Format.PRIME_RL and evaluations):
        raise dump_error("FOLDER", str(path), f"it holds no file {_EXPECTED[kind]}: give the folder of the dump")
    return folder, sorted(found, key=_order)


def _step_of(parts: Sequence[str], name: re.Match[str]) -> int | None:
    if "step" in name.groupdict():
        return int(name["step"])
    for part in reversed(parts):
        if folder := _STEP_FOLDER.fullmatch(part.partition(".")[0]):
            return int(folder["step"])
    stem = parts[-1].partition(".")[0]
    return int(stem) if stem.isascii() and stem.isdigit() and len(stem) <= 9 else None


def _order(file: DumpFile) -> tuple[int, list[tuple[int, str]]]:
    """Return the sort key: by step, then by name with numbers in the order of numbers."""
    pieces = re.split(r"(\d{1,18})", file.name)
    return (-1 if file.step is None else file.step), [(int(p) if p.isdecimal() else -1, p) for p in pieces]


def _first_row(folder: Path, files: Sequence[DumpFile]) -> Mapping[str, Any]:
    for file in files:
        for _, values in read_rows(folder, file.parts, Counter()):
            return values
    raise dump_error("FOLDER", str(folder), "its files hold no row: give the folder of a run that has trained")


def _reward_columns(folder: Path, files: Sequence[DumpFile], columns: Mapping[str, str]) -> list[str]:
    """Name the columns of TRL's reward functions, one each: the numbers that are nothing else.

    A column is judged by its type in all files: it may lack a value in a whole file, and then has no type there.
    """
    types: dict[str, set[bool]] = {}
    for file in files:
        for name, is_number in number_types(folder, file.parts).items():
            types.setdefault(name, set()).update(() if is_number is None else (is_number,))
    taken = {*columns.values(), *_NOT_REWARDS}
    found = [name for name, kinds in types.items() if name not in taken and True in kinds]
    remedy = "add --column reward=COLUMN, or several as in A,B, which are added up"
    for name in found:
        if False in types[name]:
            raise dump_error(
                "reward", name, f"the column has numbers in some files and other values in others: {remedy}"
            )
    if not found:
        raise dump_error(
            "reward", "", f"no column has decimals, as rewards of TRL are (found: {', '.join(types)}): {remedy}"
        )
    return found


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
        for name in _OPTIONAL:
            self._num_values[name] += sum(getattr(each, name) is not None for each in rollouts)

    def facts(self) -> Mapping[str, str]:
        """Return what each field was read from, and the columns that were not read."""
        columns = self._dump.columns
        facts = {}
        for name in FIELDS:
            place = self._place(name)
            if place is not None:
                facts[name] = place + self._share(name)
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
