"""The `bapo` command: a table of its commands; one module a command, or a group of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from bapo import __version__
from bapo.cli.lazy import LazyCommand, LazyGroup, Panel

PANELS = (
    Panel(
        "On this machine, without a server",
        (
            LazyCommand("train", "bapo.cli.train:train", "Train a run in this process."),
            LazyCommand("recipes", "bapo.cli.describe:recipes", "List the recipes, or show one's complete config."),
            LazyCommand("config", "bapo.cli.describe:config", "Explain the config fields: meaning, range, default."),
            LazyCommand("study", "bapo.cli.studies:app", "Methods × seeds as one declared study and its report."),
            LazyCommand("data", "bapo.cli.data:app", "Prepare the paper's data sets."),
            LazyCommand("report", "bapo.cli.report:report", "Write runs as the paper's figures into one HTML file."),
            LazyCommand("warm-start", "bapo.cli.warm_start:warm_start_model", "Make the small base model anew."),
        ),
    ),
    Panel(
        "Servers",
        (
            LazyCommand("up", "bapo.cli.up:up", "Start a server and a worker on this machine."),
            LazyCommand("worker", "bapo.cli.worker:worker", "Let this machine train a server's runs."),
            LazyCommand("backup", "bapo.cli.backup:backup", "Write a server's database and runs into one file."),
            LazyCommand("restore", "bapo.cli.backup:restore", "Make an empty server what a backup holds."),
            LazyCommand("doctor", "bapo.cli.doctor:doctor", "Say what is wrong with a deployment, and the remedy."),
            LazyCommand("login", "bapo.cli.login:login", "Log in to a server and remember it."),
            LazyCommand("logout", "bapo.cli.login:logout", "Forget a server."),
            LazyCommand("whoami", "bapo.cli.login:whoami", "Say which server is used, and as whom."),
            LazyCommand("completion", "bapo.cli.completion:completion", "Print the completion script of a shell."),
        ),
    ),
    Panel(
        "Runs",
        (
            LazyCommand("submit", "bapo.cli.submit:submit", "Submit a run, or a grid of them."),
            LazyCommand("runs", "bapo.cli.runs:runs", "List runs: search, filter, sort."),
            LazyCommand("show", "bapo.cli.show:show", "Show one run: state, results, config, history."),
            LazyCommand("watch", "bapo.cli.watch:watch", "Watch runs live, until they have ended."),
            LazyCommand("logs", "bapo.cli.logs:logs", "Print a run's log."),
            LazyCommand("clone", "bapo.cli.clone:clone", "Submit a run that starts from another's config."),
            LazyCommand("fork", "bapo.cli.fork:fork", "Submit a run that goes on from another's checkpoint."),
            LazyCommand("sweeps", "bapo.cli.sweeps:app", "Several runs that are read as one."),
            LazyCommand("import", "bapo.cli.import_run:import_run", "Show a run that was trained without a server."),
        ),
    ),
    Panel(
        "Steer",
        (
            LazyCommand("start", "bapo.cli.life:start", "Queue drafts."),
            LazyCommand("stop", "bapo.cli.life:stop", "Stop runs for good, after a checkpoint."),
            LazyCommand("pause", "bapo.cli.life:pause", "Stop runs and free their machines, to go on later."),
            LazyCommand("resume", "bapo.cli.life:resume", "Let paused runs go on."),
            LazyCommand("retry", "bapo.cli.life:retry", "Queue failed runs again."),
            LazyCommand("steer", "bapo.cli.steer:steer", "Change parameters of a run while it trains."),
        ),
    ),
    Panel(
        "Keep order",
        (
            LazyCommand("star", "bapo.cli.marks:star", "Star runs for yourself."),
            LazyCommand("unstar", "bapo.cli.marks:unstar", "Take stars away."),
            LazyCommand("tag", "bapo.cli.marks:tag", "Add tags to runs, or remove them."),
            LazyCommand("note", "bapo.cli.marks:note", "Read or write a run's notes."),
            LazyCommand("rename", "bapo.cli.marks:rename", "Give a run another name."),
            LazyCommand("archive", "bapo.cli.marks:archive", "Put runs away."),
            LazyCommand("unarchive", "bapo.cli.marks:unarchive", "Take runs out of the archive."),
            LazyCommand("delete", "bapo.cli.marks:delete", "Delete runs."),
        ),
    ),
    Panel(
        "Results",
        (
            LazyCommand("compare", "bapo.cli.compare:compare", "Compare runs: results, costs, configs."),
            LazyCommand("what-if", "bapo.cli.what_if:what_if_command", "A run's batches under other settings."),
            LazyCommand("checkpoints", "bapo.cli.fork:checkpoints", "List the checkpoints that a run keeps."),
            LazyCommand("artifacts", "bapo.cli.artifacts:app", "Download checkpoints, journals, reports, logs."),
            LazyCommand("export", "bapo.cli.export:app", "Write metrics, records or the run list to files."),
        ),
    ),
    Panel(
        "Machines",
        (
            LazyCommand("workers", "bapo.cli.workers:workers", "List the workers and what they train."),
            LazyCommand("storage", "bapo.cli.storage:storage", "See what takes up space, and what goes by itself."),
            LazyCommand("queue", "bapo.cli.queue:app", "See what waits, and why; change the order."),
            LazyCommand("drain", "bapo.cli.drain:drain", "Let a worker run empty."),
            LazyCommand("forget-worker", "bapo.cli.drain:forget_worker", "Take a worker off the list."),
        ),
    ),
    Panel(
        "People",
        (
            LazyCommand("projects", "bapo.cli.projects:app", "What runs belong to, and who may see them."),
            LazyCommand("users", "bapo.cli.users:app", "Who may log in; for administrators."),
            LazyCommand("tokens", "bapo.cli.tokens:app", "Secrets for scripts, and for workers."),
            LazyCommand("audit", "bapo.cli.audit:audit", "Who did what; for administrators."),
        ),
    ),
    Panel(
        "Be told",
        (
            LazyCommand("alerts", "bapo.cli.alerts:app", "What rules found in runs; the rules."),
            LazyCommand("webhooks", "bapo.cli.webhooks:app", "Addresses that are told what happens."),
        ),
    ),
)


class BapoGroup(LazyGroup):
    """All commands."""

    panels = PANELS


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"bapo {__version__}")
        raise typer.Exit


app = typer.Typer(
    name="bapo",
    cls=BapoGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


@app.callback(
    epilog="Begin with `bapo up` (a server on this machine) or `bapo login ADDRESS` (your team's), then "
    "`bapo submit countdown-demo --watch`. "
    "Exit codes: 0 done, 1 refused or failed, 2 wrong input, 3 server away, 4 not logged in; "
    "watch: 5 run failed, 6 cancelled, 7 paused, 8 time is up."
)
def main(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave."),
    ] = False,
) -> None:
    """Train language models by off-policy RLVR (BAPO, arXiv:2602.20722) and see what the data is doing."""
