"""The `bapo` command: one module per command."""

from __future__ import annotations

import typer

from bapo.cli.compare import compare
from bapo.cli.describe import config, recipes
from bapo.cli.import_run import import_run
from bapo.cli.report import report
from bapo.cli.train import train
from bapo.cli.up import up
from bapo.cli.warm_start import warm_start_model
from bapo.cli.what_if import what_if_command
from bapo.cli.worker import worker

app = typer.Typer(
    name="bapo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Train language models by off-policy RLVR (BAPO, arXiv:2602.20722) and see what the data is doing.",
)
app.command("up")(up)
app.command("train")(train)
app.command("worker")(worker)
app.command("import")(import_run)
app.command("what-if")(what_if_command)
app.command("compare")(compare)
app.command("report")(report)
app.command("recipes")(recipes)
app.command("config")(config)
app.command("warm-start")(warm_start_model)
