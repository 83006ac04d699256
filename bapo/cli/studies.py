"""`bapo study`: a declared study, made here or through a server's queue, and grids that `bapo submit --sweep` made."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from bapo.api.studies import StudyActionRequest, StudyCreate, StudyDetail, StudyReport, StudyRun, StudyWrite
from bapo.cli.connection import Server, online
from bapo.cli.drafts import label_of
from bapo.cli.failures import Exit, RefusedError, plain_errors
from bapo.cli.life import StopWhen
from bapo.cli.output import (
    NOTHING,
    JsonOption,
    ago,
    percent,
    print_json,
    print_table,
    say,
    status_text,
    table,
    user_text,
)
from bapo.client import Client
from bapo.study.declaration import load, parse, shipped
from bapo.study.markdown import markdown

FORMATS = (".md", ".html", ".json")
REPORT_NAMES = tuple(f"report{suffix}" for suffix in FORMATS)


class Action(StrEnum):
    """An action on all runs of a study."""

    START = "start"
    STOP = "stop"
    PAUSE = "pause"
    RESUME = "resume"
    HOLD = "hold"
    RELEASE = "release"
    RETRY = "retry"


class StudyGroup(TyperGroup):
    """`bapo study FILE` is `bapo study run FILE`, and `bapo study stop STUDY` is `bapo study change STUDY stop`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Write the short forms out."""
        if args and args[0] in list(Action):
            args = ["change", *args[1:], args[0]]
        elif args and not args[0].startswith("-") and args[0] not in self.commands:
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=StudyGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Declared studies and grids of runs. `bapo study FILE` runs a study file on this machine; "
    "`bapo submit --sweep` makes a grid of runs on a server.",
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
        typer.Option(
            "--amend", metavar="WHY", help="Continue with a changed file; the report says what changed and why."
        ),
    ] = None,
) -> None:
    """Run a study in a folder, without a server. Repeat the command to resume after an interruption.

    Finished runs are not repeated; an interrupted one resumes from its last checkpoint. Ctrl-C stops the trainers at
    their next step boundary. The folder then holds report.md, report.html and report.json.
    """
    from bapo.cli import study_folders  # noqa: PLC0415  (imports what trains)

    with plain_errors():
        folder, found, outcomes = study_folders.train(file, out, num_workers=workers, amend=amend)
        for name in REPORT_NAMES:
            _write(found, folder / name)
    undone = [outcome for outcome in outcomes if outcome.state != "done"]
    print(folder / REPORT_NAMES[0])
    if any(outcome.state == "failed" for outcome in undone):
        raise SystemExit(Exit.FAILED)
    if undone or not found.is_complete:
        raise SystemExit(Exit.INTERRUPTED)


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
    """Check a study file: the runs it declares, and what is wrong with it. Makes nothing."""
    from bapo.cli import study_folders  # noqa: PLC0415

    with plain_errors():
        study = parse(load(file))
        warnings, primary = study_folders.checked(study)
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
                "primary": primary,
                "digest": study.digest,
                "warnings": [str(warning) for warning in warnings],
            }
        )
        return
    print(f"{study.title}: {study.num_runs} runs, {study.num_tuning_runs} of them to choose settings")
    print(f"arms: {arms}")
    print(f"seeds: {', '.join(map(str, study.seeds))}; regimes: {', '.join(each.name for each in study.regimes)}")
    print(f"primary comparison: {primary}")
    print(f"declaration: {study.digest}")


@app.command("shipped")
def list_shipped(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Print the file of this study.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the studies that ship with BAPO, or print the file of one, to start from."""
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
    """Write the report of a study over the runs that are done; the others are listed in it."""
    with plain_errors():
        if out is not None and out.suffix not in FORMATS:
            raise RefusedError(f"--out {out}: end it in {', '.join(FORMATS)}")
        found = _read(Path(study)) if Path(study).is_dir() else _asked(study, server, token, token_file)
        if out is None:
            print(markdown(found), end="")
        else:
            _write(found, out)
            say(f"{out}: {sum(run.state == 'done' for run in found.runs)} of {len(found.runs)} runs are done")


def _read(folder: Path) -> StudyReport:
    from bapo.cli import study_folders  # noqa: PLC0415

    return study_folders.report_of(folder)


def _asked(study: str, server: str | None, token: str | None, token_file: Path | None) -> StudyReport:
    with Server(server, token, token_file).connected() as client:
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
        str | None, typer.Option("--key", help="Sent again with the same key, the study is not made twice.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only check it.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Submit a study file to a server's queue. Prints the study's id on standard output, and nothing else there."""
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
    """List the studies on a server, newest first."""
    page = client.studies(limit=limit)
    if as_json:
        print_json(page)
        return
    if not page.items:
        say("no study yet: `bapo study submit planning-mini` or `bapo submit RECIPE --sweep FIELD=V1,V2` makes one")
        return
    made = table("id", "title", "compares", "runs", "states", "done", "owner", "created", right=("runs", "done"))
    for study in page.items:
        arms = f"{study.num_arms} arms × {study.num_seeds} seeds"
        made.add_row(
            study.id,
            user_text(study.title),
            user_text(", ".join(study.fields)) if study.question is None else arms,
            f"{study.num_runs}",
            ", ".join(f"{count} {state}" for state, count in study.states.items()),
            percent(study.steps_done / study.steps_planned if study.steps_planned else None),
            user_text(study.owner),
            ago(study.created_at),
        )
    print_table(made, cut=("title", "compares", "owner"))


@app.command("show")
@online
def show(
    client: Client,
    study: StudyArgument,
    ids: Annotated[bool, typer.Option("--ids", "-q", help="Print the runs' ids only.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a study: its runs, and the results of a grid by setting, with intervals over seeds.

    [bold]bapo watch $(bapo study show a7f3k2m9qe --ids)[/bold]
    """
    found = client.study(study)
    if as_json:
        print_json(found)
    elif ids:
        for each in found.runs:
            if each.run_id is not None:
                print(each.run_id)
    elif found.question is None:
        _print_grid(found)
    else:
        _print_declared(found)


def _print_grid(study: StudyDetail) -> None:
    settings = table(
        "setting", "runs", study.eval_name or "evaluation", "95 % interval", "best", right=("runs", "best")
    )
    for each in study.settings:
        known = each.latest_low is not None and each.latest_high is not None
        interval = f"{percent(each.latest_low)} to {percent(each.latest_high)}" if known else NOTHING
        settings.add_row(
            user_text(label_of(each.set)), f"{len(each.run_ids)}", percent(each.latest), interval, percent(each.best)
        )
    print_table(settings, f"{study.title}: results by setting")
    runs = table("id", "setting", "status", "step", "eval", "best", right=("step", "eval", "best"))
    for run in study.runs:
        runs.add_row(
            Text(run.run_id or NOTHING, style="bold"),
            user_text(label_of(run.set)),
            run.state if run.status is None else status_text(run.status),
            _steps(run),
            percent(run.eval_latest),
            percent(run.eval_best),
        )
    print()
    print_table(runs, "Runs", cut=("setting",))


def _steps(run: StudyRun) -> str:
    return f"{run.step:,}/{run.num_steps:,}" if run.num_steps else f"{run.step:,}"


def _print_declared(study: StudyDetail) -> None:
    made = table("run", "arm", "regime", "seed", "state", "step", right=("seed", "step"))
    for each in study.runs:
        made.add_row(
            each.run_id or NOTHING,
            user_text(each.arm or ""),
            user_text(each.regime or ""),
            f"{each.seed}",
            each.state,
            _steps(each),
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
    """Apply an action to all runs of a study that allow it.

    Short: [bold]bapo study stop STUDY --when checkpoint[/bold]
    """
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
