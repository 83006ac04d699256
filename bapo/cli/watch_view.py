"""Views of `bapo watch`: two live lines per run on a terminal, otherwise a line for each change."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from bapo.api.records import Series
from bapo.api.runs import TERMINAL_STATUSES, RunDetail
from bapo.cli.output import STATUS_STYLES, X_STYLES, clean, console, duration, number, percent, say, status_text

REWARD = "critic/rewards/mean"
COUNTS = tuple(f"bapo/batch/{name}" for name in ("x1", "x2", "x3"))
BATCH_SIZE = "bapo/batch/batch_size"
KEYS = (REWARD, *COUNTS, BATCH_SIZE)
RECENT_STEPS = 200
NUM_POINTS = 24
BAR = 20
"""Characters of a bar."""
NARROW_BAR = 12
WIDE_CHARACTERS = 110
LINES_PER_RUN = 20
"""Number of progress lines where the output is not a terminal."""
_SPARKS = "▁▂▃▄▅▆▇█"


class Watched:
    """A run and its latest metrics."""

    def __init__(self, run: RunDetail) -> None:
        self.run = run
        self.rewards: Sequence[float] = ()
        self.counts: Sequence[int] = ()
        self.batch_size = 0
        self.away_since: float | None = None

    def update(self, run: RunDetail, series: Series) -> None:
        """Take the current state of the run and its newest steps."""
        self.run = run
        self.rewards = [value for value in series.columns.get(REWARD, ()) if value is not None]
        if series.steps:
            last = {key: column[-1] for key, column in series.columns.items()}
            self.counts = [int(last.get(key) or 0) for key in COUNTS]
            self.batch_size = int(last.get(BATCH_SIZE) or 0)

    @property
    def is_over(self) -> bool:
        """True if the run has ended or is paused."""
        return self.run.status in TERMINAL_STATUSES or self.run.status == "paused"

    @property
    def batch(self) -> str:
        """Newest batch, such as X1 16, X2 2, X3 4 of 32."""
        if not self.batch_size:
            return "no batch yet"
        counts = ", ".join(f"{name} {count}" for name, count in zip(("X1", "X2", "X3"), self.counts, strict=True))
        return f"{counts} of {self.batch_size}"

    @property
    def evaluation(self) -> str:
        """Newest evaluation and its change since the start in points, such as CD-34 avg@8 20.1 % (+8.1)."""
        run = self.run
        if run.eval_name is None:
            return ""
        text = f"{run.eval_name} {percent(run.eval_latest)}"
        if run.eval_base is None or run.eval_latest is None:
            return text
        return f"{text} ({100 * (run.eval_latest - run.eval_base):+.1f})"


class View:
    """Shows nothing."""

    def __init__(self, watched: Sequence[Watched]) -> None:
        self.watched = watched

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """Leave what was shown."""

    def update(self, each: Watched) -> None:
        """Show a changed run."""


class PlainView(View):
    """Prints a line for each state and evaluation, and for each part of the progress."""

    def __init__(self, watched: Sequence[Watched]) -> None:
        super().__init__(watched)
        self._printed: dict[str, tuple[str, int, float | None, bool]] = {}

    def update(self, each: Watched) -> None:
        """Print a changed run."""
        run = each.run
        part = run.step * LINES_PER_RUN // max(run.num_steps, 1)
        is_away = each.away_since is not None
        now = (run.status.value, part, run.eval_latest, is_away)
        before = self._printed.get(run.id)
        self._printed[run.id] = now
        if before == now:
            return
        if before is not None and before[3] != is_away:
            self._print(run, "no answer from the server: retrying" if is_away else "the server is back")
        lines = []
        if before is None or before[0] != run.status:
            lines.append(f"{run.status}: {run.status_reason}" if run.status_reason else str(run.status))
        if run.step and (before is None or before[1:3] != now[1:3]):
            parts = [f"step {run.step}/{run.num_steps}", f"reward {number(run.reward_mean, '.3f')}", each.batch]
            parts += [each.evaluation] if each.evaluation else []
            parts += [f"{duration(run.eta_seconds)} left"] if run.eta_seconds and run.status == "running" else []
            lines.append("; ".join(parts))
        # The last line says how the run ended, also where its last steps come with it.
        for line in reversed(lines) if each.is_over else lines:
            self._print(run, line)

    def _print(self, run: RunDetail, text: str) -> None:
        name = f" {run.name}" if len(self.watched) > 1 else ""
        print(clean(f"{run.id}{name}: {text}"), flush=True)


class LiveView(View):
    """Two lines per run, updated in place."""

    def __init__(self, watched: Sequence[Watched], screen: Console | None = None) -> None:
        super().__init__(watched)
        self._screen = screen or console()
        self._live = Live(console=self._screen, get_renderable=self.drawing, refresh_per_second=2)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._live.refresh()
        self._live.stop()

    def drawing(self) -> Group:
        """Draw all runs."""
        width = self._screen.width
        return Group(*(line for each in self.watched for line in (headline(each, width), details(each, width))))


def view_of(watched: Sequence[Watched], *, quiet: bool, plain: bool) -> View:
    """Return the view that suits the output."""
    if quiet:
        return View(watched)
    return LiveView(watched) if console().is_terminal and not plain else PlainView(watched)


def headline(each: Watched, width: int) -> Text:
    """Name, state, progress, time to go."""
    run = each.run
    line = _line()
    name = Text(clean(run.name).replace("\n", " "), style="bold")
    # What follows the name takes 58 characters at most.
    name.truncate(max(12, min(40, width - 60)), overflow="ellipsis", pad=True)
    line.append_text(name)
    line.append(f" {run.id} ", style="dim")
    status = status_text(run.status)
    status.truncate(9, pad=True)
    line.append_text(status)
    share = run.step / max(run.num_steps, 1)
    done = round(share * BAR)
    line.append(" " + "━" * done, style=STATUS_STYLES.get(run.status, "blue"))
    line.append("━" * (BAR - done), style="bright_black")
    line.append(f" {run.step}/{run.num_steps}")
    if each.away_since is not None:
        line.append(f"  no answer for {duration(time.monotonic() - each.away_since)}", style="yellow")
    elif run.eta_seconds is not None and run.status == "running":
        line.append(f"  {duration(run.eta_seconds)} left", style="dim")
    return line


def details(each: Watched, width: int) -> Text:
    """Format reward, batch and evaluation, or the reason for their absence."""
    run = each.run
    line = _line()
    line.append("  ")
    if run.status_reason and run.status != "running":
        line.append(clean(run.status_reason).replace("\n", " "), style="yellow")
        return line
    line.append("reward ", style="dim")
    line.append(number(run.reward_mean, ".3f"))
    is_wide = width >= WIDE_CHARACTERS
    line.append(f" {sparkline(each.rewards)} " if is_wide else " ", style="dim")
    line.append_text(batch_bar(each, BAR if is_wide else NARROW_BAR))
    line.append(f" {each.batch}")
    if each.evaluation:
        line.append(f"  {each.evaluation}")
    return line


def _line() -> Text:
    return Text(no_wrap=True, overflow="ellipsis")


def batch_bar(each: Watched, characters: int) -> Text:
    """Draw a bar of the newest batch by source, and of the part missing to B."""
    bar = Text()
    if not each.batch_size:
        return bar
    filled, drawn = 0, 0
    for count, style in zip(each.counts, X_STYLES, strict=True):
        filled += count
        # From the sum, so that rounding does not add up.
        until = round(min(1.0, filled / each.batch_size) * characters)
        bar.append("█" * (until - drawn), style=style)
        drawn = until
    bar.append("░" * (characters - drawn), style="bright_black")
    return bar


def sparkline(values: Sequence[float]) -> str:
    """Draw the values as a sparkline between their minimum and maximum."""
    if not values:
        return ""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    return "".join(_SPARKS[round((value - low) / span * (len(_SPARKS) - 1))] for value in values)


def announce_leave(watched: Sequence[Watched]) -> None:
    """Say that the runs continue after Ctrl-C."""
    going = sum(not each.is_over for each in watched)
    if going:
        say("no longer watching; " + ("the run continues" if going == 1 else f"{going} runs continue"))
