"""`bapo what-if`: replay a run's batches under other settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from bapo.analysis.number_format import counted
from bapo.analysis.what_if.answer import DEFAULT_DRAWS, WhatIfAnswer, WhatIfTotal
from bapo.api.readings import WhatIfRequest
from bapo.cli.complete import complete_fields, complete_runs
from bapo.cli.connection import Server
from bapo.cli.failures import RefusedError, plain_errors
from bapo.cli.option_sets import with_option_sets
from bapo.cli.output import console, print_framed
from bapo.cli.run_lookup import find_run
from bapo.config import parse_assignments

_TOTALS = (
    ("fill_rate", "mean fill rate", "{:.1%}"),
    ("empty_batches", "empty batches", "{:,.0f}"),
    ("trained", "groups trained on", "{:,.0f}"),
    ("x1_share", "X1 fresh", "{:.1%}"),
    ("x2_share", "X2 re-evaluated", "{:.1%}"),
    ("x3_share", "X3 reused", "{:.1%}"),
    ("fresh", "fresh groups", "{:,.0f}"),
    ("gradient_share", "of them with a gradient", "{:.1%}"),
    ("reevaluated", "prompts answered again", "{:,.0f}"),
    ("rollouts", "rollouts", "{:,.0f}"),
)


@with_option_sets
def what_if_command(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="Run folder, or a run on the server.", autocompletion=complete_runs)
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="New value of a field, such as method.c1=0.25; repeatable.",
            autocompletion=complete_fields,
        ),
    ] = None,
    draws: Annotated[
        int, typer.Option(min=2, max=200, help="Random draws of answers that no policy gave.")
    ] = DEFAULT_DRAWS,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every step.")] = False,
    *,
    server: Server,
) -> None:
    """Replay a run's batches with other thresholds, buffers or filters, as DAPO, or with other group sizes.

    Replays the recorded accuracies; how the policy would have reacted to other batches is not simulated. Figures that
    rest on answers that no policy gave are estimates with 90 % intervals.

    [bold]bapo what-if kzx3 --set method.c1=1/4[/bold]

    [bold]bapo what-if kzx3 --set method.type=dapo --set rollout.group_size=16[/bold]
    """
    with plain_errors():
        changes = parse_assignments(settings or ())
        if Path(run).is_dir():
            # Imported late: the answer of a server does not need them.
            from bapo.analysis.what_if.forecast import what_if  # noqa: PLC0415
            from bapo.analysis.what_if.recording import read_recording  # noqa: PLC0415

            answer = what_if(read_recording(Path(run)), changes, draws=draws)
        else:
            try:
                with server.connected() as client:
                    answer = client.what_if(find_run(client, run).id, WhatIfRequest(set=changes, draws=draws))
            except RefusedError as error:
                raise RefusedError(f"{run} is not a folder here, and on the server: {error}", error.code) from None
    if as_json:
        print(answer.model_dump_json())
    else:
        _show(answer)


def _recorded_text(value: float | None, form: str) -> str:
    return "not recorded" if value is None else form.format(value)


def _show(answer: WhatIfAnswer) -> None:
    table = Table("", "recorded", "would have been", "estimate, 90 % interval", title=counted(answer.num_steps, "step"))
    for name, label, form in _TOTALS:
        total: WhatIfTotal = getattr(answer.totals, name)
        certain = "the same in all draws" if total.estimated else "exact"
        width = certain if total.low == total.high else f"{form.format(total.low)} to {form.format(total.high)}"
        table.add_row(label, _recorded_text(total.recorded, form), form.format(total.forecast), width)
    for field, (before, after) in answer.changes.items():
        console().print(f"{field}: {before} → {after}")
    print_framed(table)
    if answer.num_drawn_groups:
        console().print(
            f"{answer.num_drawn_groups:,.0f} fresh groups are no recorded ones: their responses were drawn "
            f"{answer.num_draws} times from the pass rates of the run's prompts."
        )
    if answer.num_estimated:
        console().print(
            f"Exact through step {answer.exact_through:,}. {answer.num_estimated:,.0f} re-evaluations never happened "
            f"and were drawn {answer.num_draws} times; {answer.num_known:,.0f} were recorded."
        )
    console().print("How the policy would have reacted to other batches is not simulated.")
    for warning in answer.warnings:
        console().print(f"{warning.field}: {warning.remedy}", style="yellow")
    if answer.num_disagreeing:
        console().print(
            f"In {answer.num_disagreeing:,} steps the recorded batch is not what this version of BAPO makes of the "
            "recorded accuracies.",
            style="yellow",
        )
