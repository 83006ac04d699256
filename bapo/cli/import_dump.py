"""`bapo import --from`: the rollouts that another trainer left in files, as an observed run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from bapo.cli.extras import remedy
from bapo.cli.failures import RefusedError
from bapo.cli.output import console, notes, user_text
from bapo.observe.dumps.columns import FIELDS, parsed_columns
from bapo.observe.dumps.formats import Dump, Format, open_dump
from bapo.observe.dumps.importing import Imported, Settings, import_dump
from bapo.observe.dumps.problems import dump_error
from bapo.observe.dumps.steps import groups_of, read_steps
from bapo.observe.folder import FOLDERS
from bapo.observe.group import RejectedGroupError, numbers, prompt_text

SHOWN_CHARACTERS = 300
SHOWN_RESPONSES = 3


class DumpOptions(NamedTuple):
    """How a dump is read."""

    kind: Format
    columns: Sequence[str]
    validation: Path | None
    settings: Settings


class OpenedDump(NamedTuple):
    """The rollouts of training, and of held-out sets where there are any."""

    training: Dump
    evaluations: Dump | None


def opened(path: Path, options: DumpOptions) -> OpenedDump:
    """The dump of a folder. Raises ConfigError, and RefusedError where Parquet cannot be read here."""
    columns = parsed_columns(options.columns)
    if options.kind is Format.PRIME_RL and options.validation is not None:
        raise dump_error("--validation", str(options.validation), "prime-rl keeps evaluations beside: leave it out")
    try:
        training = open_dump(path, options.kind, columns)
        if options.kind is Format.PRIME_RL:
            beside = open_dump(path, options.kind, columns, evaluations=True)
            return OpenedDump(training, beside if beside.files else None)
        held_out = options.validation
        return OpenedDump(training, None if held_out is None else open_dump(held_out, options.kind, columns))
    except ModuleNotFoundError as error:
        raise RefusedError(f"Parquet files need {error.name}: {remedy('train')}") from None


def folder_for(path: Path) -> Path:
    """Where the run lies whose caller names no folder: one for each dump, so that a later import continues it."""
    return FOLDERS / (path.resolve().name.removesuffix(".jsonl").removesuffix(".parquet") or "dump")


def written(dump: OpenedDump, out: Path, settings: Settings) -> Imported:
    """Write the run, with a bar of the bytes. Raises ConfigError and OSError."""
    total = sum(file.num_bytes for file in dump.training.files)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=notes(), transient=True, disable=not notes().is_terminal) as progress:
        task = progress.add_task("reading", total=total)

        def tell(step: int, num_bytes: int) -> None:
            progress.update(task, completed=num_bytes, description=f"step {step:,}")

        return import_dump(dump.training, dump.evaluations, out, settings, tell)


def describe_import(result: Imported) -> None:
    """Say on standard error what is not in the record."""
    errors = notes()
    for message in result.messages:
        errors.print(message, markup=False, highlight=False)
    for kind, count in result.left_out.items():
        errors.print(f"left out: {count:,} × {kind}", markup=False, highlight=False)


def show(dump: OpenedDump, settings: Settings) -> None:
    """Print what was understood of a dump, with its first step. Raises ConfigError."""
    training = dump.training
    left_out: Counter[str] = Counter()
    first = next(read_steps(training, left_out), None)
    if first is None:
        raise dump_error("FOLDER", str(training.folder), "its files hold no row")
    groups = groups_of(first.rollouts, settings.source)
    table = Table(show_header=False, box=None)
    for name, value in _facts(training, settings, first.step, len(first.rollouts)):
        table.add_row(name, user_text(value))
    sizes = Counter(len(group.rewards) for group in groups)
    table.add_row("groups", f"{len(groups):,} in the first step")
    table.add_row("group sizes", ", ".join(f"{count:,} of {size}" for size, count in sizes.most_common(8)))
    rewards = [reward for group in groups for reward in numbers(group.rewards)]
    correct = sum(reward > settings.reward_threshold for reward in rewards)
    table.add_row("rewards", f"{min(rewards):g} to {max(rewards):g}")
    table.add_row("correct", f"{correct:,} of {len(rewards):,}: reward above {settings.reward_threshold:g}")
    if dump.evaluations is not None:
        table.add_row("held-out sets", f"{len(dump.evaluations.files):,} files")
    console().print(table)
    group = groups[0]
    console().print("\nfirst group")
    try:
        console().print(user_text(_cut(prompt_text(group.prompt))))
    except RejectedGroupError as error:
        console().print(user_text(str(error)))
    texts = group.responses or [""] * len(group.rewards)
    for reward, text in list(zip(group.rewards, texts, strict=True))[:SHOWN_RESPONSES]:
        console().print(user_text(f"  {reward:g}  {_cut(text)}"))
    console().print("\nNothing was written.")


def _facts(dump: Dump, settings: Settings, first_step: int, num_rows: int) -> list[tuple[str, str]]:
    steps = [file.step for file in dump.files if file.step is not None]
    facts: list[tuple[str, Any]] = [
        ("trainer", settings.trainer or dump.trainer or "not named: give --trainer"),
        ("files", f"{len(dump.files):,}, {sum(file.num_bytes for file in dump.files) / 1e6:,.1f} MB"),
        ("steps", f"{len(set(steps)):,}, from {min(steps):,} to {max(steps):,}" if steps else f"from {first_step:,}"),
        ("rows", f"{num_rows:,} in the first step"),
    ]
    for field in FIELDS:
        if field in dump.columns:
            column = dump.columns[field]
            is_there = all(name in dump.found for name in column.split(","))
            facts.append((field, f"column {column}" + ("" if is_there else ", which is not there")))
    used = {name for column in dump.columns.values() for name in column.split(",")}
    if unused := [name for name in dump.found if name not in used]:
        facts.append(("not read", ", ".join(unused)))
    return facts


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARACTERS else f"{line[:SHOWN_CHARACTERS]}…"
