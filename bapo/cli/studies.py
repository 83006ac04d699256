"""`bapo study`: methods × seeds × settings as one declared study, on this machine or through a server's queue."""

from __future__ import annotations

import signal
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from bapo.api.studies import StudyActionRequest, StudyCreate, StudyDetail, StudyReport, StudyWrite
from bapo.cli.connection import online
from bapo.cli.failures import Exit, RefusedError, plain_errors
from bapo.cli.life import StopWhen
from bapo.cli.output import (
    NOTHING,
    JsonOption,
    ago,
    duration,
    percent,
    print_json,
    print_table,
    say,
    table,
    user_text,
)
from bapo.client import Client
from bapo.study.declaration import load, parse, shipped
from bapo.study.folder import StudyFolder
from bapo.study.markdown import markdown
from bapo.study.plan import check
from bapo.study.report import primary_words
from bapo.study.running import Outcome, StudyRunner

FORMATS = (".md", ".html", ".json")
REPORT_NAMES = tuple(f"report{suffix}" for suffix in FORMATS)


class Action(StrEnum):
    """What can be done to all runs of a study."""

    START = "start"
    STOP = "stop"
    PAUSE = "pause"
    RESUME = "resume"
    HOLD = "hold"
    RELEASE = "release"
    RETRY = "retry"


class StudyGroup(TyperGroup):
    """`bapo study FILE` is `bapo study run FILE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the command's name before a file's."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=StudyGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Methods × seeds × settings, declared beforehand and read as one report; `bapo study FILE` makes one here.",
)

FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="A study file, or the name of a shipped study.")]
StudyArgument = Annotated[str, typer.Argument(metavar="STUDY", help="Id, as `bapo study list` shows it.")]


@app.command("run")
def run(
    file: FileArgument,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder of the study. Default: studies/NAME.")
    ] = None,
    workers: Annotated[int, typer.Option("--workers", "-w", min=1, max=256, help="Runs trained at once.")] = 1,
    amend: Annotated[
        str | None,
        typer.Option("--amend", metavar="WHY", help="Go on with a changed file; the report says what changed and why."),
    ] = None,
) -> None:
    """Make a study in a folder, without a server. The same command goes on where it was interrupted.

    A run that is done is not made again; one that was interrupted goes on from its last checkpoint. Ctrl-C stops the
    trainers at their next step boundary. The report stands in the folder as report.md, report.html and report.json.
    """
    with plain_errors():
        text = load(file)
        study = parse(text)
        for warning in check(study):
            say(f"warning: {warning}")
        if amend is not None and not amend.strip():
            raise RefusedError("--amend needs a reason: write why the declaration changes")
        folder = StudyFolder.begin(out or Path("studies") / Path(file).stem, text, amend=amend)
        progress = _Progress(study.num_runs)
        runner = StudyRunner(folder, workers=workers, say=progress)
        _stop_on_signals(runner)
        say(f"{study.num_runs} runs in {folder.path}; {primary_words(study)}")
        outcomes = runner.run()
        report = folder.report()
        _write_all(report, folder.path)
    undone = [outcome for outcome in outcomes if outcome.state != "done"]
    print(folder.path / REPORT_NAMES[0])
    if any(outcome.state == "failed" for outcome in undone):
        raise SystemExit(Exit.FAILED)
    if undone or not report.is_complete:
        raise SystemExit(Exit.INTERRUPTED)


class _Progress:
    """A line for each run that has ended."""

    def __init__(self, num_runs: int) -> None:
        self._num_runs = num_runs
        self._num_ended = 0

    def __call__(self, outcome: Outcome) -> None:
        """Called by the thread that waited for the run."""
        self._num_ended += 1
        took = f" in {duration(outcome.seconds)}" if outcome.seconds >= 1 else ""
        reason = f": {outcome.reason}" if outcome.reason else ""
        say(f"{self._num_ended}/{self._num_runs} {outcome.run.name}: {outcome.state}{took}{reason}")


def _stop_on_signals(runner: StudyRunner) -> None:
    def stop(number: int, _: object) -> None:
        # The second one ends at once; the trainers then end their runs by themselves.
        signal.signal(number, signal.SIG_DFL)
        say("stopping at the next step boundary, with checkpoints; the same command goes on")
        runner.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)


def _write_all(report: StudyReport, folder: Path) -> None:
    for name in REPORT_NAMES:
        _write(report, folder / name)


def _write(report: StudyReport, out: Path) -> None:
    match out.suffix:
        case ".json":
            out.write_text(report.model_dump_json(indent=1) + "\n", encoding="utf-8")
        case ".html":
            from bapo.report.study import study_document  # noqa: PLC0415  (Plotly takes a second to import)

            out.write_bytes(study_document(report))
        case _:
            out.write_text(markdown(report), encoding="utf-8")


@app.command("check")
def check_file(file: FileArgument, as_json: JsonOption = False) -> None:
    """Say what a study file asks for, and what is wrong with it; makes nothing."""
    with plain_errors():
        study = parse(load(file))
        warnings = check(study)
    for warning in warnings:
        say(f"warning: {warning}")
    arms = ", ".join(arm.name for arm in study.arms)
    if as_json:
        print_json(
            {
                "title": study.title,
                "num_runs": study.num_runs,
                "num_tuning_runs": study.num_tuning_runs,
                "arms": [arm.name for arm in study.arms],
                "seeds": study.seeds,
                "primary": primary_words(study),
                "digest": study.digest,
                "warnings": [str(warning) for warning in warnings],
            }
        )
        return
    print(f"{study.title}: {study.num_runs} runs, {study.num_tuning_runs} of them to choose settings")
    print(f"arms: {arms}")
    print(f"seeds: {', '.join(map(str, study.seeds))}; regimes: {', '.join(each.name for each in study.regimes)}")
    print(f"primary comparison: {primary_words(study)}")
    print(f"declaration: {study.digest}")


@app.command("shipped")
def list_shipped(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Print this one's file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the studies that come with BAPO, or print one's file, to start from."""
    with plain_errors():
        if name is not None:
            print(load(name), end="")
            return
        studies = {each: parse(text) for each, text in shipped().items()}
    if as_json:
        print_json(
            [{"name": each, "title": study.title, "num_runs": study.num_runs} for each, study in studies.items()]
        )
        return
    made = table("name", "runs", "what it asks", right=("runs",))
    for each, study in studies.items():
        made.add_row(each, f"{study.num_runs}", user_text(study.title))
    print_table(made, cut=("what it asks",))


@app.command("report")
def report(
    study: Annotated[str, typer.Argument(metavar="DIR|STUDY", help="Folder of a study, or its id on the server.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="File ending in .md, .html or .json. Default: print Markdown."
        ),
    ] = None,
    server: Annotated[str | None, typer.Option("--server", help="As for other commands.")] = None,
    token: Annotated[str | None, typer.Option("--token", help="As for other commands.")] = None,
    token_file: Annotated[Path | None, typer.Option("--token-file", help="As for other commands.")] = None,
) -> None:
    """Write a study's report as far as its runs are done; what is not done is named in it."""
    with plain_errors():
        if out is not None and out.suffix not in FORMATS:
            raise RefusedError(f"--out {out}: end it in {', '.join(FORMATS)}")
        found = (
            StudyFolder.open(Path(study)).report() if Path(study).is_dir() else _asked(study, server, token, token_file)
        )
        if out is None:
            print(markdown(found), end="")
        else:
            _write(found, out)
            say(f"{out}: {sum(run.state == 'done' for run in found.runs)} of {len(found.runs)} runs are done")


def _asked(study: str, server: str | None, token: str | None, token_file: Path | None) -> StudyReport:
    from bapo.cli.connection import connected  # noqa: PLC0415  (a folder needs no client)

    with connected(server, token, token_file) as client:
        return client.study_report(study)


# ---------------------------------------------------------------- on a server


@app.command("submit")
@online
def submit(
    client: Client,
    file: FileArgument,
    project: Annotated[str | None, typer.Option(help="Project of the study.")] = None,
    priority: Annotated[int, typer.Option(min=0, max=100, help="In the queue; higher first.")] = 50,
    key: Annotated[
        str | None, typer.Option("--key", help="Sent twice with the same key, the study is made once.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only check it.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Make a study through a server's queue. Prints its id on standard output, and nothing else there."""
    text = load(file)
    parse(text)
    if dry_run:
        preview = client.preview_study(StudyWrite(text=text, project=project))
        if as_json:
            print_json(preview)
        else:
            print(f"{preview.title}: {preview.num_runs} runs; {preview.primary}")
            for problem in preview.problems:
                say(f"{problem.field} = {problem.value!r}: {problem.remedy}")
        if preview.problems:
            raise SystemExit(Exit.BAD_INPUT)
        return
    body = StudyCreate(text=text, project=project, priority=priority)
    made = client.create_study(body, idempotency_key=key)
    if as_json:
        print_json(made)
    else:
        print(made.id)
        say(f"study {made.id}: {len(made.runs)} runs; {made.primary}")


@app.command("list")
@online
def list_studies(
    client: Client,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="At most so many.")] = 30,
    as_json: JsonOption = False,
) -> None:
    """List a server's studies, the newest first."""
    page = client.studies(limit=limit)
    if as_json:
        print_json(page)
        return
    if not page.items:
        say("there is no study yet: `bapo study submit planning-mini` makes one")
        return
    made = table("id", "title", "arms", "seeds", "states", "done", "owner", "created", right=("arms", "seeds", "done"))
    for study in page.items:
        made.add_row(
            study.id,
            user_text(study.title),
            f"{study.num_arms}",
            f"{study.num_seeds}",
            ", ".join(f"{count} {state}" for state, count in study.states.items()),
            percent(study.steps_done / study.steps_planned if study.steps_planned else None),
            user_text(study.owner),
            ago(study.created_at),
        )
    print_table(made, cut=("title", "owner"))


@app.command("show")
@online
def show(
    client: Client,
    study: StudyArgument,
    ids: Annotated[bool, typer.Option("--ids", "-q", help="Print the runs' ids only.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a study's runs, arm by arm."""
    found = client.study(study)
    if as_json:
        print_json(found)
    elif ids:
        for each in found.runs:
            if each.run_id is not None:
                print(each.run_id)
    else:
        _print(found)


def _print(study: StudyDetail) -> None:
    made = table("run", "arm", "regime", "seed", "state", "step", right=("seed", "step"))
    for each in study.runs:
        made.add_row(
            each.run_id or NOTHING,
            user_text(each.arm),
            user_text(each.regime),
            f"{each.seed}",
            each.state,
            f"{each.step:,}/{each.num_steps:,}" if each.num_steps else f"{each.step:,}",
        )
    print_table(made, f"{study.title}: {study.primary}", cut=("arm",))


@app.command("change")
@online
def change(
    client: Client,
    study: StudyArgument,
    action: Annotated[Action, typer.Argument(help="What to do.")],
    when: Annotated[StopWhen, typer.Option(help="For stop and pause, as for one run.")] = StopWhen.STEP,
    as_json: JsonOption = False,
) -> None:
    """Do one thing to all runs of a study that allow it."""
    asked: dict[str, Any] = {"action": action.value}
    if action in (Action.STOP, Action.PAUSE):
        asked["when"] = when.value
    answer = client.change_study(study, StudyActionRequest.model_validate(asked))
    if as_json:
        print_json(answer)
    else:
        print(f"{study}: {action.value} done to {answer.num_done} runs, {answer.num_left} left as they are")
        for run_id, reason in answer.refused.items():
            say(f"{run_id}: {reason}")
    if answer.refused:
        raise SystemExit(Exit.FAILED)
