"""`bapo findings`: what is wrong with a run's data, and what to do about it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from bapo.analysis.findings.finding import LABELS, Evidence, FindingKind, FindingsReport, PromptList, figure_text
from bapo.analysis.number_format import bounds_text, counted
from bapo.cli.complete import complete_runs
from bapo.cli.connection import Server
from bapo.cli.failures import RefusedError, plain_errors
from bapo.cli.listing import write_csv
from bapo.cli.option_sets import with_option_sets
from bapo.cli.output import console, print_json, user_text
from bapo.cli.run_lookup import find_run
from bapo.cli.streams import data_output

_COLOURS = {"problem": "red", "warning": "yellow", "note": "cyan"}


@with_option_sets
def findings(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="Run folder, or a run on the server.", autocompletion=complete_runs)
    ],
    prompts: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Print the prompts of a finding as CSV, such as never-solved.",
            autocompletion=lambda: [kind.replace("_", "-") for kind in LABELS],
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    *,
    server: Server,
) -> None:
    """Show what is wrong with a run's data, with evidence, and what to do about it.

    [bold]bapo findings runs/countdown-demo[/bold]

    [bold]bapo findings kzx3 --prompts never-solved > prompts.csv[/bold]
    """
    kind = None if prompts is None else _kind_of(prompts)
    report: FindingsReport | None = None
    listed: PromptList | None = None
    with plain_errors():
        if Path(run).is_dir():
            # NumPy takes a while to load, and a server's answer does not need it.
            from bapo.analysis.findings.search import find  # noqa: PLC0415
            from bapo.analysis.findings.stream import read_stream  # noqa: PLC0415

            search = find(read_stream(Path(run)))
            report = search.report
            listed = None if kind is None else search.prompts.get(kind, PromptList(kind=kind, items=[]))
        else:
            try:
                with server.connected() as client:
                    run_id = find_run(client, run).id
                    if kind is None:
                        report = client.findings(run_id)
                    else:
                        listed = client.finding_prompts(run_id, kind)
            except RefusedError as error:
                raise RefusedError(f"{run} is not a folder here, and on the server: {error}", error.code) from None
    if listed is not None:
        _print_prompts(listed, as_json=as_json)
    elif report is not None and as_json:
        print_json(report)
    elif report is not None:
        show_report(report)


def _kind_of(text: str) -> FindingKind:
    for kind in LABELS:
        if kind.replace("_", "-") == text.replace("_", "-"):
            return kind
    known = ", ".join(kind.replace("_", "-") for kind in LABELS)
    raise typer.BadParameter(f"no such finding: take one of {known}", param_hint="--prompts")


def _print_prompts(listed: PromptList, *, as_json: bool) -> None:
    if as_json:
        print_json(listed)
        return
    headings = ("prompt_id", "num_visits", "num_rollouts", "num_correct", "detail")
    write_csv(headings, ([getattr(item, name) for name in headings] for item in listed.items), data_output())


def show_report(report: FindingsReport) -> None:
    """Print all findings with their evidence and remedies, and what else was checked."""
    out = console()
    for finding in report.findings:
        out.print(user_text(finding.severity, f"bold {_COLOURS[finding.severity]}"), user_text(finding.title))
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
        for figure in finding.evidence:
            table.add_row(figure.label, shown(figure, figure.value), interval_of(figure))
        out.print(table)
        if finding.null:
            out.print("  If nothing were wrong:", user_text(finding.null))
        for remedy in finding.remedies:
            out.print("  →", user_text(remedy.text))
            if remedy.leaves_out_prompts:
                option = finding.kind.replace("_", "-")
                out.print(f"    bapo findings RUN --prompts {option} > {option}.csv", style="dim", highlight=False)
                out.print(f"    bapo clone RUN --without-prompts {option}.csv", style="dim", highlight=False)
            for line in remedy.snippet.splitlines():
                out.print(user_text(f"    {line}", "dim"))
            for field, value in remedy.changes.items():
                out.print(f"    --set {field}={value}", style="dim", highlight=False)
        if finding.num_prompts:
            option = finding.kind.replace("_", "-")
            out.print(f"    {counted(finding.num_prompts, 'prompt')}: --prompts {option}", style="dim", highlight=False)
        out.print(f"  Rests on {finding.num_rollouts:,} rollouts.\n", style="dim", highlight=False)
    clear = [check.label for check in report.checks if check.outcome == "nothing"]
    lacking = [f"{check.label} ({check.reason})" for check in report.checks if check.outcome == "too_little"]
    if not report.findings:
        out.print(f"Nothing found up to step {report.step:,}.", highlight=False)
    if clear:
        out.print("Checked, nothing found:", ", ".join(clear) + ".", style="dim", highlight=False)
    if lacking:
        out.print("Too little recorded:", "; ".join(lacking) + ".", style="dim", highlight=False)


def shown(figure: Evidence, value: float) -> str:
    """Format a value in this figure's unit."""
    return figure_text(figure, value, _duration, space=" ")


def _duration(seconds: float) -> str:
    return f"{seconds:,.0f} s" if abs(seconds) < 600 else f"{seconds / 60:,.0f} min"


def interval_of(figure: Evidence) -> str:
    """Return the 95 % interval as text; empty where the figure is counted."""
    return bounds_text(figure.low, figure.high, partial(shown, figure))
