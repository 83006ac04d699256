"""`bapo what-if`: a run's batches under other settings, from a server or from a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from bapo.api import WhatIfAnswer, WhatIfRequest, WhatIfTotal
from bapo.api.what_if import DEFAULT_DRAWS
from bapo.cli.failures import plain_errors
from bapo.cli.import_run import LOCAL_TOKEN_FILE
from bapo.client import Client
from bapo.config import parse_assignments
from bapo.replay_recording import read_recording
from bapo.what_if import what_if

_TOTALS = (
    ("fill_rate", "mean fill rate", "{:.1%}"),
    ("empty_batches", "empty batches", "{:,.0f}"),
    ("trained", "groups trained on", "{:,.0f}"),
    ("x1_share", "X1 fresh", "{:.1%}"),
    ("x2_share", "X2 re-evaluated", "{:.1%}"),
    ("x3_share", "X3 reused", "{:.1%}"),
    ("reevaluated", "prompts answered again", "{:,.0f}"),
    ("rollouts", "rollouts", "{:,.0f}"),
)


def what_if_command(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run folder, or identifier of a run on the server.")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Other value of a field, such as method.c1=0.25; repeatable.")
    ] = None,
    server: Annotated[str, typer.Option(help="Address of the server.")] = "http://127.0.0.1:8000",
    token: Annotated[str | None, typer.Option(envvar="BAPO_TOKEN", help="API token.")] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="File with the API token, by default bapo-data/admin-token.")
    ] = None,
    draws: Annotated[
        int, typer.Option(min=2, max=200, help="How often re-evaluations that never happened are drawn.")
    ] = DEFAULT_DRAWS,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every step.")] = False,
) -> None:
    """Show what a run's batches would have been with other thresholds, buffers or filters.

    The recorded accuracies are replayed; the policy's own reaction to other batches is not simulated.
    """
    with plain_errors():
        changes = parse_assignments(settings or ())
        if Path(run).is_dir():
            answer = what_if(read_recording(Path(run)), changes, draws=draws)
        else:
            answer = _ask(run, changes, draws, server=server, token=token, token_file=token_file)
    if as_json:
        print(answer.model_dump_json())
    else:
        _show(answer)


def _ask(
    run_id: str, changes: dict[str, Any], draws: int, *, server: str, token: str | None, token_file: Path | None
) -> WhatIfAnswer:
    if token is None and token_file is None:
        if not LOCAL_TOKEN_FILE.exists():
            raise typer.BadParameter(
                f"{run_id!r} is no folder here; for a run on a server give --token, --token-file or the variable "
                "BAPO_TOKEN",
                param_hint="RUN",
            )
        token_file = LOCAL_TOKEN_FILE
    secret = token if token_file is None else token_file.read_text().strip()
    with Client(server, token=secret) as client:
        return client.what_if(run_id, WhatIfRequest(set=changes, draws=draws))


def _show(answer: WhatIfAnswer) -> None:
    console = Console(highlight=False)
    table = Table("", "recorded", "would have been", "95 % interval", title=f"{answer.num_steps:,} steps")
    for name, label, form in _TOTALS:
        total: WhatIfTotal = getattr(answer.totals, name)
        certain = "exact" if answer.num_draws == 1 else "the same in all draws"
        width = certain if total.low == total.high else f"{form.format(total.low)} to {form.format(total.high)}"
        table.add_row(label, form.format(total.recorded), form.format(total.forecast), width)
    for field, (before, after) in answer.changes.items():
        console.print(f"{field}: {before} → {after}")
    console.print(table)
    if answer.num_estimated:
        console.print(
            f"Exact through step {answer.exact_through:,}. {answer.num_estimated:,.0f} re-evaluations never happened "
            f"and were drawn {answer.num_draws} times; {answer.num_known:,.0f} were recorded."
        )
    console.print("The policy's own reaction to other batches is not simulated.")
    for warning in answer.warnings:
        console.print(f"{warning.field}: {warning.remedy}", style="yellow")
    if answer.num_disagreeing:
        console.print(
            f"In {answer.num_disagreeing:,} steps the recorded batch is not what this version of BAPO makes of the "
            "recorded accuracies.",
            style="yellow",
        )
