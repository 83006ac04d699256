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
            LazyCommand("train", "train:train", "Train a run in this process.", "train"),
            LazyCommand("recipes", "describe:recipes", "List the recipes, or show one's complete config."),
            LazyCommand("config", "describe:config", "Explain the config fields: meaning, range, default."),
            LazyCommand("study", "studies:app", "Grids and declared studies: several runs read as one."),
            LazyCommand("data", "data:app", "Prepare the paper's data sets.", "train"),
            LazyCommand(
                "report",
                "report:report",
                "Write runs as the paper's figures into one HTML file.",
                "report",
            ),
            LazyCommand("warm-start", "warm_start:warm_start_model", "Make the small base model anew.", "train"),
        ),
    ),
    Panel(
        "Servers",
        (
            LazyCommand("up", "up:up", "Start a server and a worker on this machine.", "all"),
            LazyCommand("worker", "worker:worker", "Let this machine train a server's runs.", "worker"),
            LazyCommand("backup", "backup:backup", "Write a server's database and runs into one file.", "server"),
            LazyCommand("restore", "backup:restore", "Make an empty server what a backup holds.", "server"),
            LazyCommand("doctor", "doctor:doctor", "Say what is wrong with a deployment, and the remedy."),
            LazyCommand("login", "login:login", "Log in to a server and remember it."),
            LazyCommand("logout", "login:logout", "Forget a server."),
            LazyCommand("whoami", "login:whoami", "Say which server is used, and as whom."),
            LazyCommand("completion", "completion:completion", "Print the completion script of a shell."),
        ),
    ),
    Panel(
        "Runs",
        (
            LazyCommand("submit", "submit:submit", "Submit a run, or a grid of them."),
            LazyCommand("runs", "runs:runs", "List runs: search, filter, sort."),
            LazyCommand("show", "show:show", "Show one run: state, results, config, history."),
            LazyCommand("watch", "watch:watch", "Watch runs live, until they have ended."),
            LazyCommand("logs", "logs:logs", "Print a run's log."),
            LazyCommand("clone", "clone:clone", "Submit a run that starts from another's config."),
            LazyCommand("fork", "fork:fork", "Submit a run that goes on from another's checkpoint."),
            LazyCommand("import", "import_run:import_run", "Show a run that was trained without a server."),
        ),
    ),
    Panel(
        "Steer",
        (
            LazyCommand("start", "life:start", "Queue drafts."),
            LazyCommand("stop", "life:stop", "Stop runs for good, after a checkpoint."),
            LazyCommand("pause", "life:pause", "Stop runs and free their machines, to go on later."),
            LazyCommand("resume", "life:resume", "Let paused runs go on."),
            LazyCommand("retry", "life:retry", "Queue failed runs again."),
            LazyCommand("steer", "steer:steer", "Change parameters of a run while it trains."),
        ),
    ),
    Panel(
        "Keep order",
        (
            LazyCommand("star", "marks:star", "Star runs for yourself."),
            LazyCommand("unstar", "marks:unstar", "Take stars away."),
            LazyCommand("tag", "marks:tag", "Add tags to runs, or remove them."),
            LazyCommand("note", "marks:note", "Read or write a run's notes."),
            LazyCommand("rename", "marks:rename", "Give a run another name."),
            LazyCommand("archive", "marks:archive", "Put runs away."),
            LazyCommand("unarchive", "marks:unarchive", "Take runs out of the archive."),
            LazyCommand("delete", "marks:delete", "Delete runs."),
        ),
    ),
    Panel(
        "Results",
        (
            LazyCommand("compare", "compare:compare", "Compare runs: results, costs, configs."),
            LazyCommand("what-if", "what_if:what_if_command", "A run's batches under other settings."),
            LazyCommand("checkpoints", "fork:checkpoints", "List the checkpoints that a run keeps."),
            LazyCommand("artifacts", "artifacts:app", "Download checkpoints, journals, reports, logs."),
            LazyCommand("export", "export:app", "Write metrics, records or the run list to files."),
        ),
    ),
    Panel(
        "Machines",
        (
            LazyCommand("workers", "workers:workers", "List the workers and what they train."),
            LazyCommand("storage", "storage:storage", "See what takes up space, and what goes by itself."),
            LazyCommand("queue", "queue:app", "See what waits, and why; change the order."),
            LazyCommand("drain", "drain:drain", "Let a worker run empty."),
            LazyCommand("forget-worker", "drain:forget_worker", "Take a worker off the list."),
        ),
    ),
    Panel(
        "People",
        (
            LazyCommand("projects", "projects:app", "What runs belong to, and who may see them."),
            LazyCommand("users", "users:app", "Who may log in; for administrators."),
            LazyCommand("tokens", "tokens:app", "Secrets for scripts, and for workers."),
            LazyCommand("audit", "audit:audit", "Who did what; for administrators."),
        ),
    ),
    Panel(
        "Be told",
        (
            LazyCommand("alerts", "alerts:app", "What rules found in runs; the rules."),
            LazyCommand("webhooks", "webhooks:app", "Addresses that are told what happens."),
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
