"""`bapo import --from`: the rollouts that another trainer left in files, as an observed run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from bapo.cli.extras import remedy
from bapo.cli.failures import RefusedError
from bapo.cli.output import console, notes, user_text
from bapo.observe.dumps.columns import parsed_columns
from bapo.observe.dumps.dump_import import Imported, Settings, import_dump
from bapo.observe.dumps.formats import Dump, Format, ParseReport, open_dump
from bapo.observe.dumps.rows import dump_error
from bapo.observe.dumps.steps import DumpedStep, lines_of_evaluations, lines_of_step, read_steps, sizes_ahead
from bapo.observe.folder import FOLDERS
from bapo.observe.group import Group, RejectedGroupError, prompt_text
from bapo.observe.observation import Observation

SHOWN_CHARACTERS = 300
SHOWN_RESPONSES = 3
SHOWN_GROUPS = 16


class DumpOptions(NamedTuple):
    """Options for reading a dump."""

    kind: Format
    columns: Sequence[str]
    validation: Path | None
    settings: Settings


class OpenedDump(NamedTuple):
    """The rollouts of training, and of held-out sets where there are any."""

    training: Dump
    evaluations: Dump | None


def opened(path: Path, options: DumpOptions) -> OpenedDump:
    """Open the dump of a folder. Raises ConfigError, and RefusedError if Parquet support is not installed."""
    columns = parsed_columns(options.columns)
    if options.kind is Format.PRIME_RL and options.validation is not None:
        raise dump_error("--validation", str(options.validation), "prime-rl keeps them in the same folder: omit it")
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
    """Return the default run folder: one for each dump, so that a later import continues it."""
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

        def show(step: int, num_bytes: int) -> None:
            progress.update(task, completed=num_bytes, description=f"step {step:,}")

        return import_dump(dump.training, dump.evaluations, out, settings, show)


def describe_import(result: Imported) -> None:
    """Say on standard error what the fields were read from, and what is not in the record."""
    errors = notes()
    for field, place in result.understood.items():
        errors.print(f"{field}: {place}", markup=False, highlight=False, soft_wrap=True)
    for message in result.messages:
        errors.print(message, markup=False, highlight=False, soft_wrap=True)
    for kind, count in result.left_out.items():
        errors.print(f"left out: {count:,} × {kind}", markup=False, highlight=False, soft_wrap=True)


def show(dump: OpenedDump, settings: Settings) -> None:
    """Print what was understood of a dump, with its first group. Raises ConfigError."""
    seen = _Seen(dump, settings)
    table = Table(show_header=False, box=None)
    for name, value in seen.facts():
        table.add_row(name, user_text(value))
    if dump.evaluations is not None:
        table.add_row("held-out sets", f"{len(dump.evaluations.files):,} files")
    console().print(table)
    group = seen.first[0]
    console().print("\nfirst group")
    try:
        console().print(user_text(_cut(prompt_text(group.prompt))))
    except RejectedGroupError as error:
        console().print(user_text(str(error)))
    texts = group.responses or [""] * len(group.rewards)
    for reward, text in list(zip(group.rewards, texts, strict=True))[:SHOWN_RESPONSES]:
        console().print(user_text(f"  {reward:g}  {_cut(text)}"))
    console().print("\nNothing was written.")


class _Seen:
    """Contents of a dump, step by step."""

    def __init__(self, dump: OpenedDump, settings: Settings) -> None:
        """Read the whole dump, as an import does: an error in its last row is one. Raises ConfigError."""
        left_out: Counter[str] = Counter()
        self.first: Sequence[Group] = ()
        self._dump = dump.training
        self._settings = settings
        self._parse_report = ParseReport(dump.training)
        self._steps: list[int] = []
        self._group_sizes: Counter[int] = Counter()
        self._num_correct = self._num_known = 0
        self._lowest, self._highest = math.inf, -math.inf
        known, steps = sizes_ahead(read_steps(dump.training, left_out))
        self._observation = Observation(
            attempt=1,
            reward_threshold=settings.reward_threshold,
            sizes=known,
            samples_per_step=settings.samples_per_step,
            is_past=True,
        )
        for step in steps:
            self._note(step)
        if not self.first:
            raise dump_error("FOLDER", str(dump.training.folder), "its files hold no row")
        for evaluation in () if dump.evaluations is None else read_steps(dump.evaluations, left_out):
            for _ in lines_of_evaluations(self._observation, evaluation):
                """Counted where it is left out."""
        self._left_out: Counter[str] = left_out + self._observation.rejections

    def _note(self, dumped: DumpedStep) -> None:
        self._parse_report.note(dumped.rollouts)
        self._steps.append(dumped.step)
        # A later attempt repeats steps, and the trainer may count from 0.
        self._observation.step = 0
        groups, _ = lines_of_step(self._observation, dumped, dumped.step + 1, self._settings.source)
        self.first = self.first or groups
        self._group_sizes += Counter(len(group.rewards) for group in groups)
        known = [reward for group in groups for reward in group.rewards if math.isfinite(reward)]
        self._num_known += len(known)
        self._num_correct += sum(reward > self._settings.reward_threshold for reward in known)
        self._lowest, self._highest = min([self._lowest, *known]), max([self._highest, *known])

    def facts(self) -> Iterator[tuple[str, str]]:
        """Return what it holds, in the order in which it is shown."""
        dump, threshold = self._dump, self._settings.reward_threshold
        files = [*dump.files, *dump.counted]
        yield "trainer", self._settings.trainer or dump.trainer or "not named: give --trainer"
        yield "files", f"{len(files):,}, {sum(file.num_bytes for file in files) / 1e6:,.1f} MB"
        yield "steps", f"{len(set(self._steps)):,}, from {min(self._steps):,} to {max(self._steps):,}"
        yield "rows", f"{self._parse_report.num_rows:,}"
        yield from self._parse_report.facts().items()
        yield "groups", f"{self._group_sizes.total():,}, {len(self.first):,} in the first step"
        yield "group sizes", ", ".join(f"{count:,} of {size}" for size, count in self._group_sizes.most_common(8))
        yield "rewards", f"{self._lowest:g} to {self._highest:g}" if self._num_known else "no number"
        yield "correct", f"{self._num_correct:,} of {self._num_known:,}: reward above {threshold:g}"
        counts = [sum(reward > threshold for reward in group.rewards) for group in self.first[:SHOWN_GROUPS]]
        more = ", …" if len(self.first) > SHOWN_GROUPS else ""
        yield "first step", f"right responses, group by group: {', '.join(map(str, counts))}{more}"
        if self._left_out:
            yield "left out", ", ".join(f"{count:,} × {kind}" for kind, count in self._left_out.items())


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARACTERS else f"{line[:SHOWN_CHARACTERS]}…"
