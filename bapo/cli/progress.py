"""Progress of a training run on standard error: a bar on a terminal, a line every few steps in a log."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from bapo.cli.output import notes
from bapo.records import AnyRecord, EvaluationRecord, EventRecord, StepRecord
from bapo.run.log_lines import evaluation_line, event_line, step_line

PLAIN_LINE_STEPS = 10
"""Steps between two lines where standard error is not a terminal."""
_TOLD_EVENTS = frozenset(
    {"warm_start", "started", "resumed", "warning", "checkpoint_damaged", "parameter_change", "parameter_refused"}
)


class TrainingProgress:
    """Shows the progress of a trainer."""

    def __init__(self, num_steps: int | None) -> None:
        """Start without a step; `num_steps` may be None until the first record has it (a run given in epochs)."""
        self._console = notes()
        self._num_steps = num_steps
        self._progress = Progress(
            TextColumn("step"),
            MofNCompleteColumn(),
            BarColumn(bar_width=None),
            TimeRemainingColumn(compact=True),
            TextColumn("{task.description}"),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._progress.stop()

    def say(self, line: str) -> None:
        """Print one line above the bar."""
        self._progress.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def on_record(self, record: AnyRecord) -> None:
        """Show a record that has just been written."""
        match record:
            case StepRecord():
                self._show_step(record)
            case EvaluationRecord():
                self.say(evaluation_line(record))
            case EventRecord() if record.event in _TOLD_EVENTS:
                self.say(event_line(record))
            case _:
                pass

    def _show_step(self, record: StepRecord) -> None:
        text = step_line(record)
        if not self._console.is_terminal:
            if record.step % PLAIN_LINE_STEPS == 0 or record.step == record.num_steps:
                self.say(f"step {record.step}/{record.num_steps}: {text}")
            return
        if self._task is None:
            # Begun at the first step seen, so that a resumed run's speed, and its ETA, count only what it does now.
            self._task = self._progress.add_task(text, total=record.num_steps, completed=record.step - 1)
        self._progress.update(self._task, completed=record.step, description=text)
