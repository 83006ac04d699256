"""`bapo study`: a declared study, made here or through a server's queue, and grids that `bapo submit --sweep` made."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from bapo.analysis.importance_results import FieldShare, importance_notes, share_note
from bapo.analysis.number_format import bounds_text, counted, share
from bapo.api.studies import (
    StudyActionRequest,
    StudyContinuation,
    StudyCreate,
    StudyDetail,
    StudyPage,
    StudyPower,
    StudyPreview,
    StudyReport,
    StudyRun,
    StudySetting,
    StudySummary,
    StudyWrite,
)
from bapo.cli.connection import Server, online
from bapo.cli.drafts import label_of
from bapo.cli.failures import Exit, RefusedError, plain_errors
from bapo.cli.fork_experiment import print_experiment
from bapo.cli.life import StopWhen
from bapo.cli.listing import Listing, listed
from bapo.cli.option_sets import with_option_sets
from bapo.cli.output import NOTHING, JsonOption, duration, percent, print_json, say, status_text
from bapo.cli.streams import data_output
from bapo.client import Client
from bapo.study.declaration import Declaration, load, parse, shipped
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
    help="Declared studies, grids of runs and fork experiments. `bapo study FILE` runs a study file on this machine; "
    "`bapo submit --sweep` makes a grid of runs on a server.",
)

FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="A study file, or the name of a shipped study.")]
StudyArgument = Annotated[str, typer.Argument(metavar="STUDY", help="Id, as `bapo study list` shows it.")]


def _compared(study: StudySummary) -> str:
    if study.question is None:
        begun = f"{counted(len(study.checkpoints), 'checkpoint')}: " if study.checkpoints else ""
        return begun + ", ".join(study.fields)
    return f"{counted(study.num_arms, 'arm')} × {counted(study.num_seeds, 'seed')}"


def _steps(run: StudyRun) -> str:
    return f"{run.step:,}/{run.num_steps:,}" if run.num_steps else f"{run.step:,}"


SHIPPED = Listing[tuple[str, Declaration]](
    {
        "name": lambda item: item[0],
        "runs": lambda item: item[1].num_runs,
        "title": lambda item: item[1].title,
    },
    cut=("title",),
)
STUDIES = Listing[StudySummary](
    {
        "id": lambda study: study.id,
        "title": lambda study: study.title,
        "compares": _compared,
        "runs": lambda study: study.num_runs,
        "states": lambda study: ", ".join(f"{count} {state}" for state, count in study.states.items()),
        "done": lambda study: percent(study.steps_done / study.steps_planned if study.steps_planned else None),
        "owner": lambda study: study.owner,
        "created": lambda study: study.created_at,
    },
    cut=("title", "compares", "owner"),
    right=("done",),
    empty="no study yet: `bapo study submit planning-mini` or `bapo submit RECIPE --sweep FIELD=V1,V2` makes one",
)
GRID_RUNS = Listing[StudyRun](
    {
        "id": lambda run: Text(run.run_id or NOTHING, style="bold"),
        "setting": lambda run: label_of(run.set),
        "status": lambda run: run.state if run.status is None else status_text(run.status),
        "step": _steps,
        "eval": lambda run: percent(run.eval_latest),
        "best": lambda run: percent(run.eval_best),
    },
    cut=("setting",),
    right=("step", "eval", "best"),
)
DECLARED_RUNS = Listing[StudyRun](
    {
        "run": lambda run: run.run_id,
        "arm": lambda run: run.arm or "",
        "regime": lambda run: run.regime or "",
        "seed": lambda run: f"{run.seed}",
        "state": lambda run: run.state,
        "step": _steps,
    },
    cut=("arm",),
    right=("seed", "step"),
)


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
    """Check a study file: the runs it declares, and its problems. Makes nothing."""
    from bapo.cli import study_folders  # noqa: PLC0415

    with plain_errors():
        study, warnings, primary = study_folders.examined(file)
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
    print(f"{study.title}: {counted(study.num_runs, 'run')}, {study.num_tuning_runs} of them to choose settings")
    print(f"arms: {arms}")
    print(f"seeds: {', '.join(map(str, study.seeds))}; regimes: {', '.join(each.name for each in study.regimes)}")
    print(f"primary comparison: {primary}")
    print(f"declaration: {study.digest}")


@app.command("power")
def power(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="A study file, or the name of a shipped study.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, max=1000, help="Number of seeds. Default: the file's.")
    ] = None,
    sd: Annotated[
        float | None,
        typer.Option(
            "--sd",
            min=0.001,
            max=100,
            help="Standard deviation over seeds of the paired difference, in points. Default: the shipped studies'.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the smallest difference that a design shows in 80 % of repetitions, two-sided at 5 %, paired over seeds.

    [bold]bapo study power planning-mini[/bold], or [bold]bapo study power --seeds 5 --sd 1.2[/bold]

    `bapo study submit FILE --dry-run` asks the server, which knows the earlier runs of the project.
    """
    from bapo.study.power import power_of_design  # noqa: PLC0415

    with plain_errors():
        if (file is None) == (seeds is None):
            raise RefusedError("give a study file, or --seeds: one of them")
        number = seeds if file is None else len(parse(load(file)).seeds)
        found = power_of_design(number or 1, given=None if sd is None else sd / 100)
    if as_json:
        print_json(found)
    else:
        print("\n".join(_power_lines(found)))


def _power_lines(found: StudyPower) -> list[str]:
    """Describe the power of the design, the spread it rests on, and the power of more seeds."""
    lines = [f"{found.text} (80 % power, two-sided 5 %, paired over seeds)"]
    if found.detectable_low is not None and found.detectable_high is not None and found.source != "given":
        ends = f"{share(found.detectable_low)} to {share(found.detectable_high)} points"
        lines.append(f"{ends}, as the spread may be between seeds")
    lines.append(f"spread between seeds: {share(found.deviation, 2)} points, {found.source_text}")
    more = ", ".join(f"{number} seeds {share(value)}" for number, value in found.more_seeds.items())
    return [*lines, f"more seeds would show: {more} points"] if more else lines


def _print_design(preview: StudyPreview) -> None:
    if preview.power is not None:
        print("\n".join(_power_lines(preview.power)))
    if preview.seconds is not None:
        hours = preview.compute_hours
        spent = "" if hours is None else f", {hours.value:,.2f} compute hours"
        money = "" if preview.cost is None else f", {preview.cost.value:,.2f} {preview.currency}"
        print(f"about {duration(preview.seconds.value)}, one run after the other{spent}{money}")


@app.command("shipped")
def list_shipped(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Print the file of this study.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the studies that ship with BAPO, or print the file of one, to start from."""
    with plain_errors():
        if name is not None:
            print(load(name), end="", file=data_output())
            return
        studies = {each: parse(text) for each, text in shipped().items()}
    if as_json:
        print_json(
            [{"name": each, "title": study.title, "num_runs": study.num_runs} for each, study in studies.items()]
        )
        return
    SHIPPED.print(list(studies.items()))


@app.command("report")
@with_option_sets
def report(
    study: Annotated[str, typer.Argument(metavar="DIR|STUDY", help="Folder of a study, or its id on the server.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="File ending in .md, .html or .json. Default: print Markdown."
        ),
    ] = None,
    *,
    server: Server,
) -> None:
    """Write the report of a study on its finished runs; it lists the others."""
    with plain_errors():
        if out is not None and out.suffix not in FORMATS:
            raise RefusedError(f"--out {out}: end it in {', '.join(FORMATS)}")
        found = _read(Path(study)) if Path(study).is_dir() else _asked(study, server)
        if out is None:
            print(markdown(found), end="", file=data_output())
        else:
            _write(found, out)
            say(f"{out}: {sum(run.state == 'done' for run in found.runs)} of {len(found.runs)} runs are done")


def _read(folder: Path) -> StudyReport:
    from bapo.cli import study_folders  # noqa: PLC0415

    return study_folders.report_of(folder)


def _asked(study: str, server: Server) -> StudyReport:
    with server.connected() as client:
        return client.study_report(study)


# ---------------------------------------------------------------- on a server


@app.command("submit")
@online
def submit(
    client: Client,
    file: FileArgument,
    project: Annotated[str | None, typer.Option(help="Project of the study.")] = None,
    priority: Annotated[int, typer.Option(min=0, max=100, help="Priority in the queue; higher starts first.")] = 50,
    key: Annotated[
        str | None, typer.Option("--key", help="Submitting again with the same key returns the first study.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only check it.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Submit a study file to a server's queue. Prints the study's id on standard output, and nothing else there."""
    text = load(file)
    if dry_run:
        preview = client.preview_study(StudyWrite(text=text, project=project))
        if as_json:
            print_json(preview)
        else:
            if not preview.problems:
                print(f"{preview.title}: {counted(preview.num_runs, 'run')}; {preview.primary}")
            for problem in preview.problems:
                given = "" if problem.value is None else f" = {problem.value!r}"
                say(f"{problem.field}{given}: {problem.remedy}")
            _print_design(preview)
        if preview.problems:
            raise SystemExit(Exit.BAD_INPUT)
        return
    body = StudyCreate(text=text, project=project, priority=priority)
    made = client.create_study(body, idempotency_key=key)
    if as_json:
        print_json(made)
    else:
        print(made.id)
        say(f"study {made.id}: {counted(len(made.runs), 'run')}; {made.primary}")


@app.command("list")
@listed(STUDIES)
def list_studies(
    client: Client,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="Maximum number shown.")] = 30,
) -> StudyPage:
    """List the studies on a server, newest first."""
    return client.studies(limit=limit)


@app.command("show")
@online
def show(
    client: Client,
    study: StudyArgument,
    ids: Annotated[bool, typer.Option("--ids", "-q", help="Print the runs' ids only.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a study: its runs, and the results of a grid by setting, with intervals over seeds.

    For a fork experiment: its arms against the baseline, and what the intervals cover.

    [bold]bapo watch $(bapo study show a7f3k2m9qe --ids)[/bold]
    """
    found = client.study(study)
    if as_json:
        print_json(found)
    elif ids:
        for each in found.runs:
            if each.run_id is not None:
                print(each.run_id)
    elif found.checkpoints:
        print_experiment(client.fork_experiment(study), found.title)
        print()
        GRID_RUNS.print(found.runs, title="Runs")
    elif found.question is None:
        _print_grid(found)
    else:
        DECLARED_RUNS.print(found.runs, title=f"{found.title}: {found.primary}")


def _print_grid(study: StudyDetail) -> None:
    settings = Listing[StudySetting](
        {
            "setting": lambda setting: label_of(setting.set),
            "runs": lambda setting: len(setting.run_ids),
            study.eval_name or "evaluation": lambda setting: percent(setting.latest),
            "95 % interval": _interval,
            "best": lambda setting: percent(setting.best),
        },
        right=("best",),
    )
    settings.print(study.settings, title=f"{study.title}: results by setting")
    print()
    GRID_RUNS.print(study.runs, title="Runs")


def _interval(setting: StudySetting) -> str | None:
    return bounds_text(setting.latest_low, setting.latest_high, percent) or None


@app.command("importance")
@online
def importance(
    client: Client,
    study: StudyArgument,
    metric: Annotated[
        str | None,
        typer.Option(help="A column of the run list, such as metric.actor/entropy. Default: eval_latest."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show how much of the variance of a result each varied field explains, with its interval and chance level."""
    found = client.study_importance(study, metric=metric)
    if as_json:
        print_json(found)
        return
    what = found.importance
    shares = Listing[FieldShare](
        {
            "field": lambda each: " × ".join(each.fields),
            "share": lambda each: percent(each.value),
            "95 % interval": lambda each: bounds_text(each.low, each.high, percent),
            "chance": lambda each: percent(each.null),
            "shown": lambda each: "yes" if each.is_shown else "no",
            "note": share_note,
        },
        cut=("field", "note"),
        right=("share", "chance"),
    )
    if what.shares:
        shares.print(what.shares, title=f"{found.eval_name or found.metric} of {counted(what.num_runs, 'run')}")
    for line in importance_notes(what):
        say(line)


@app.command("arms")
@online
def arms(
    client: Client,
    study: StudyArgument,
    dataset: Annotated[str | None, typer.Option(help="Held-out set. Default: the widest.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the arms of a fork experiment against its baseline, paired, and what the intervals cover."""
    found = client.fork_experiment(study, dataset=dataset)
    if as_json:
        print_json(found)
    else:
        print_experiment(found, client.study(study).title)


@app.command("continue")
@online
def continue_arm(
    client: Client,
    study: StudyArgument,
    arm: Annotated[int, typer.Argument(metavar="ARM", min=0, help="Number, as `bapo study show` prints it.")],
    steps: Annotated[
        int | None, typer.Option("--steps", min=1, help="Training steps in all. Default: those of the first parent.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="Repeating the command with the same key makes no further runs.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Continue an arm of a fork experiment from its last checkpoint. Prints the ids of the runs.

    The experiment and its other arms stay as they are.
    """
    made = client.continue_arm(study, StudyContinuation(arm=arm, steps=steps), idempotency_key=key)
    if as_json:
        print_json(made)
        return
    for run in made.runs:
        print(run.id)
        say(f"{run.name}: up to step {run.num_steps:,}")


@app.command("change")
@online
def change(
    client: Client,
    study: StudyArgument,
    action: Annotated[Action, typer.Argument(help="Action.")],
    when: Annotated[StopWhen, typer.Option(help="For stop and pause, as for one run.")] = StopWhen.STEP,
    as_json: JsonOption = False,
) -> None:
    """Apply an action to all runs of a study that allow it.

    Short form: [bold]bapo study stop STUDY --when checkpoint[/bold]
    """
    asked: dict[str, Any] = {"action": action.value}
    if action in (Action.STOP, Action.PAUSE):
        asked["when"] = when.value
    answer = client.change_study(study, StudyActionRequest.model_validate(asked))
    if as_json:
        print_json(answer)
    else:
        print(f"{study}: {action.value} done to {counted(answer.num_done, 'run')}, {answer.num_left} left as they are")
        for run_id, reason in answer.refused.items():
            say(f"{run_id}: {reason}")
    if answer.refused:
        raise SystemExit(Exit.FAILED)
