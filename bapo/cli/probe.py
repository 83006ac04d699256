"""`bapo probe`: what a model makes of a data set, before a run is paid for."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from bapo.analysis.findings.probe import with_planned_cost
from bapo.cli.failures import plain_errors
from bapo.cli.findings import show_report
from bapo.cli.output import JsonOption, print_json
from bapo.cli.planned import planned_run
from bapo.cli.train import EXIT_STOPPED, train_here
from bapo.config import apply_changes, resolve
from bapo.methods.probe import NUM_PROBLEMS, probe_changes


def probe(
    model: Annotated[str, typer.Argument(help="Folder of a Hugging Face model, or a name, see `bapo model list`.")],
    data: Annotated[
        str, typer.Argument(help="Data file (.jsonl, .parquet), a recipe, or a run's folder, for its task.")
    ],
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Change a config field of the planned run; repeatable."),
    ] = None,
    problems: Annotated[int, typer.Option(min=1, help="Problems to answer.")] = NUM_PROBLEMS,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Run folder. Default: runs/probe.")] = None,
    price_per_hour: Annotated[
        float | None,
        typer.Option(
            min=0, metavar="PRICE", help="Price per hour of this machine: also shows the cost of the planned run."
        ),
    ] = None,
    currency: Annotated[str, typer.Option(help="Currency of the price.")] = "USD",
    as_json: JsonOption = False,
) -> None:
    """Answer problems with the base model, and suggest G, c1 to c3, v and m for training on them.

    [bold]bapo probe countdown-base countdown-demo[/bold]

    [bold]bapo probe models/qwen train.parquet --set rollout.max_response_tokens=1024 --price-per-hour 2.50[/bold]
    """
    run_folder = out or Path("runs") / "probe"
    with plain_errors():
        planned = planned_run(model, data, assignments or [])
        changes = probe_changes(planned.config.model_dump(mode="json"), problems)
        # What the planned method sets means nothing to a probe.
        explicit = {name: section for name, section in planned.explicit.items() if name != "method"}
        summary = train_here(resolve(apply_changes(explicit, changes)).config, run_folder)
        if summary.status == "stopped":
            raise SystemExit(EXIT_STOPPED)
        # NumPy takes a while to load, and a mistyped field should not wait for it.
        from bapo.analysis.findings.search import find  # noqa: PLC0415
        from bapo.analysis.findings.stream import read_stream  # noqa: PLC0415

        found = find(read_stream(run_folder)).report
        report = with_planned_cost(found, partial(_cost, price_per_hour), "Its cost at this price", currency)
    if as_json:
        print_json(report)
    else:
        show_report(report)


def _cost(price_per_hour: float | None, seconds: float) -> float | str:
    if price_per_hour is None:
        return "no price was given for this machine: --price-per-hour"
    return seconds / 3600 * price_per_hour
