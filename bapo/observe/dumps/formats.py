"""The dumps that can be read: where their files lie, and what their rows say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from bapo.files.column_paths import leaf_paths
from bapo.files.safe_paths import files_inside
from bapo.observe.dumps.columns import Reader, Rollout, column_reader, rollout, text_of
from bapo.observe.dumps.problems import dump_error, row_error
from bapo.observe.dumps.rows import read_rows


class Format(StrEnum):
    """The trainer that wrote the files."""

    TRL = "trl-completions"
    VERL = "verl-dumps"
    PRIME_RL = "prime-rl"
    JSONL = "jsonl"
    PARQUET = "parquet"


class DumpFile(NamedTuple):
    """A file of a dump."""

    parts: tuple[str, ...]
    """Names of the folders that lead to it, and its own."""
    num_bytes: int
    step: int | None
    """Of all its rows, where its name says it."""

    @property
    def name(self) -> str:
        """Its path within the folder."""
        return "/".join(self.parts)


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
    """Whether a file may hold the rollouts of the one before it once more."""


TRAINERS = {Format.TRL: "TRL", Format.VERL: "verl", Format.PRIME_RL: "prime-rl"}
_FILE_NAMES = {
    Format.TRL: re.compile(r"completions_(?P<step>\d{1,9})\.parquet"),
    Format.VERL: re.compile(r"(?P<step>\d{1,9})\.jsonl"),
    Format.PRIME_RL: re.compile(r"train_rollouts\.jsonl"),
    Format.JSONL: re.compile(r".*\.jsonl"),
    Format.PARQUET: re.compile(r".*\.parquet"),
}
_EXPECTED = {
    Format.TRL: "completions_*.parquet, as TRL writes with log_completions=True",
    Format.VERL: "{step}.jsonl, as verl writes to trainer.rollout_data_dir",
    Format.PRIME_RL: "step_*/train_rollouts.jsonl, as prime-rl writes to its folder rollouts",
    Format.JSONL: "*.jsonl",
    Format.PARQUET: "*.parquet",
}
_EVALUATIONS = re.compile(r"eval_rollouts\.jsonl")
_STEP_FOLDER = re.compile(r"step_(?P<step>\d{1,9})")
_PLAIN = {field: field for field in ("prompt", "response", "reward", "step")}
_COLUMNS: Mapping[Format, Mapping[str, str]] = {
    Format.TRL: {"prompt": "prompt", "response": "completion", "step": "step"},
    Format.VERL: {"prompt": "input", "response": "output", "reward": "score", "step": "step", "answer": "gts"},
    Format.PRIME_RL: {},
    Format.JSONL: _PLAIN,
    Format.PARQUET: _PLAIN,
}
_NOT_REWARDS = frozenset({"step", "advantage", "num_tokens", "policy_version"})


def open_dump(path: Path, kind: Format, given: Mapping[str, str], *, evaluations: bool = False) -> Dump:
    """The dump in a folder, or in one file. Raises ConfigError where there is none, or no column gives a field."""
    folder, files = _files(path, kind, evaluations=evaluations)
    if kind is Format.PRIME_RL:
        if given:
            raise dump_error("--column", next(iter(given)), "the rows of prime-rl are nested: leave it out")
        return Dump(folder, files, _prime_rl_rollout, {}, (), TRAINERS[kind], repeats=False)
    first = _first_row(folder, files)
    columns = {**_COLUMNS[kind], **given}
    if kind is Format.TRL and "reward" not in given:
        columns["reward"] = ",".join(_reward_columns(first, columns, files[0]))
    # What no option names may be missing, as long as a group and its rewards remain.
    optional = {field for field in columns if field not in given} - {"prompt"}
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
    found = [
        DumpFile(parts, sizes[parts], _step_of(parts, match))
        for parts in sizes
        if (match := wanted.fullmatch(parts[-1]))
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
    """By step, then by name with numbers in the order of numbers."""
    pieces = re.split(r"(\d{1,18})", file.name)
    return (-1 if file.step is None else file.step), [(int(p) if p.isdecimal() else -1, p) for p in pieces]


def _first_row(folder: Path, files: Sequence[DumpFile]) -> Mapping[str, Any]:
    for file in files:
        for _, values in read_rows(folder, file.parts, Counter()):
            return values
    raise dump_error("FOLDER", str(folder), "its files hold no row: give the folder of a run that has trained")


def _reward_columns(first: Mapping[str, Any], columns: Mapping[str, str], file: DumpFile) -> list[str]:
    """TRL writes one column per reward function, under its name: the numbers that are nothing else."""
    taken = {*columns.values(), *_NOT_REWARDS}
    found = [name for name, value in first.items() if name not in taken and (value is None or type(value) is float)]
    if not found:
        remedy = f"{file.name} has no column of numbers (found: {', '.join(first)}): add --column reward=COLUMN"
        raise dump_error("reward", "", remedy)
    return found


def _prime_rl_rollout(file: str, row: int, values: Mapping[str, Any]) -> Rollout:
    """Either shape: with `prompt` and `completion`, and, of verifiers v1, a trace of nodes."""
    if "nodes" in values:
        return _traced_rollout(file, row, values)
    for field in ("prompt", "reward"):
        if field not in values:
            remedy = f"the row has neither {field!r} nor 'nodes': give the rollouts of prime-rl, or use --from jsonl"
            raise row_error(field, file, row, None, remedy)
    example, task = values.get("example_id"), values.get("task")
    return rollout(
        file,
        row,
        step=None,
        prompt=values["prompt"],
        response=values.get("completion"),
        rewards=[values["reward"]],
        answer=values.get("answer") or None,
        source=values.get("env_name") or (task if isinstance(task, str) else None),
        group=None if example is None else f"{task}/{example}",
        is_cut=values.get("is_truncated"),
    )


def _traced_rollout(file: str, row: int, values: Mapping[str, Any]) -> Rollout:
    nodes = values["nodes"]
    if not isinstance(nodes, list):
        raise row_error("nodes", file, row, nodes, "give the list of the trace's messages")
    messages = [node["message"] for node in nodes if isinstance(node, dict) and isinstance(node.get("message"), dict)]
    asked = next((at for at, message in enumerate(messages) if message.get("role") == "assistant"), len(messages))
    prompt = [{"role": message.get("role"), "content": text_of(message)} for message in messages[:asked]]
    info = values.get("info")
    routing = info.get("prime_rl") if isinstance(info, dict) else None
    routing = routing if isinstance(routing, dict) else {}
    return rollout(
        file,
        row,
        step=None,
        prompt=prompt,
        response=messages[asked:],
        rewards=[_traced_reward(file, row, values)],
        source=routing.get("env_name"),
        group=routing.get("group_id"),
        is_cut=values.get("is_truncated"),
        policy_version=routing.get("policy_version"),
    )


def _traced_reward(file: str, row: int, values: Mapping[str, Any]) -> Any:
    """Σ score · weight over the named rewards; none where scoring did not run."""
    if "reward" in values:
        return values["reward"]
    rewards = values.get("rewards")
    if not isinstance(rewards, dict) or not rewards or None in rewards.values():
        return None
    parts = [each if isinstance(each, dict) else {"score": each} for each in rewards.values()]
    try:
        return sum(float(part["score"]) * float(part.get("weight", 1.0)) for part in parts)
    except (KeyError, TypeError, ValueError):
        raise row_error("rewards", file, row, rewards, "give a score, or score and weight, by name") from None
