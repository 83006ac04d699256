"""The `bapo` command: a table of its commands. Each command, or group of commands, has a module."""

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
            LazyCommand("probe", "probe:probe", "Try a model on data, before a run is paid for.", "train"),
            LazyCommand("describe", "prompt_preview:describe", "Show prompts as a model gets them.", "train"),
            LazyCommand("recipes", "describe:recipes", "List the recipes, or show one's complete config."),
            LazyCommand("config", "describe:config", "Explain the config fields: meaning, range, default."),
            LazyCommand("study", "studies:app", "Run and read studies: several runs read as one."),
            LazyCommand("data", "data:app", "Prepare the paper's data sets, upload your own.", "train"),
            LazyCommand("model", "model:app", "Fetch pretrained models, list and remove them.", "train"),
            LazyCommand("chat", "chat:chat", "Ask a model something, or a run's before and after.", "train"),
            LazyCommand(
                "report",
                "report:report",
                "Write a report of runs: the paper's figures in one HTML file.",
                "report",
            ),
            LazyCommand(
                "warm-start", "warm_start:warm_start_model", "Train a model on right responses, before RL.", "train"
            ),
        ),
    ),
    Panel(
        "Servers",
        (
            LazyCommand("up", "up:up", "Start all services on this machine.", "all"),
            LazyCommand("worker", "worker:worker", "Train a server's runs on this machine.", "worker"),
            LazyCommand("backup", "backup:backup", "Back up a server into one file.", "server"),
            LazyCommand("restore", "backup:restore", "Restore a backup into an empty server.", "server"),
            LazyCommand("doctor", "doctor:doctor", "Check a deployment and suggest remedies."),
            LazyCommand("login", "login:login", "Log in to a server and save the login."),
            LazyCommand("logout", "login:logout", "Remove a saved login."),
            LazyCommand("whoami", "login:whoami", "Show the current server and user."),
            LazyCommand("completion", "complete:completion", "Print a shell completion script."),
        ),
    ),
    Panel(
        "Runs",
        (
            LazyCommand("submit", "submit:submit", "Submit a run or a grid of runs."),
            LazyCommand("runs", "runs:runs", "Search, filter and sort runs."),
            LazyCommand("show", "show:show", "Show one run: state, results, config, history."),
            LazyCommand("watch", "watch:watch", "Watch runs live until they end."),
            LazyCommand("logs", "logs:logs", "Print a run's log."),
            LazyCommand("clone", "fork:clone", "Submit a run with another's config."),
            LazyCommand("fork", "fork:fork", "Submit a run from another's checkpoint."),
            LazyCommand("import", "import_run:import_run", "Import a run trained without a server."),
        ),
    ),
    Panel(
        "Steer",
        (
            LazyCommand("start", "life:start", "Queue drafts."),
            LazyCommand("stop", "life:stop", "Stop runs for good, after a checkpoint."),
            LazyCommand("pause", "life:pause", "Pause runs and free their machines."),
            LazyCommand("resume", "life:resume", "Resume paused runs."),
            LazyCommand("retry", "life:retry", "Queue failed runs again."),
            LazyCommand("steer", "steer:steer", "Change parameters of a run while it trains."),
        ),
    ),
    Panel(
        "Organize",
        (
            LazyCommand("star", "marks:star", "Star runs."),
            LazyCommand("unstar", "marks:unstar", "Remove stars from runs."),
            LazyCommand("tag", "marks:tag", "Add or remove tags."),
            LazyCommand("note", "marks:note", "Read or write a run's notes."),
            LazyCommand("rename", "marks:rename", "Rename a run."),
            LazyCommand("archive", "marks:archive", "Archive runs."),
            LazyCommand("unarchive", "marks:unarchive", "Restore archived runs."),
            LazyCommand("delete", "marks:delete", "Move runs to the trash."),
            LazyCommand("trash", "trash:app", "List, restore or delete runs in the trash."),
        ),
    ),
    Panel(
        "Results",
        (
            LazyCommand("compare", "compare:compare", "Compare runs: results, costs, configs."),
            LazyCommand("boards", "boards:app", "Make, share and export boards of charts."),
            LazyCommand("findings", "findings:findings", "Show what is wrong with a run's data."),
            LazyCommand("prompts", "prompts:app", "Prompts over all runs, and lists that runs leave out or weigh."),
            LazyCommand("walk", "walk:walk_command", "Walk through a step of a run, line by line."),
            LazyCommand("what-if", "what_if:what_if_command", "Replay a run's batches under other settings."),
            LazyCommand("checkpoints", "fork:checkpoints", "List a run's checkpoints."),
            LazyCommand("artifacts", "artifacts:app", "Download checkpoints, journals, reports, logs."),
            LazyCommand("export", "export:app", "Export metrics, records or the run list."),
        ),
    ),
    Panel(
        "Machines",
        (
            LazyCommand("workers", "workers:workers", "List workers and their runs."),
            LazyCommand("prices", "prices:app", "Show and set prices of compute hours."),
            LazyCommand("storage", "storage:storage", "Show disk space and retention."),
            LazyCommand("queue", "queue:app", "Show and reorder waiting runs."),
            LazyCommand("drain", "workers:drain", "Give a worker no new runs."),
            LazyCommand("forget-worker", "workers:forget_worker", "Remove a worker that is gone."),
        ),
    ),
    Panel(
        "Users and projects",
        (
            LazyCommand("projects", "projects:app", "Manage projects and their members."),
            LazyCommand("users", "users:app", "Manage users; for administrators."),
            LazyCommand("tokens", "tokens:app", "Manage API tokens."),
            LazyCommand("audit", "users:audit", "Show the audit trail; for administrators."),
        ),
    ),
    Panel(
        "Alerts",
        (
            LazyCommand("alerts", "alerts:app", "Read alerts and manage their rules."),
            LazyCommand("webhooks", "webhooks:app", "Send messages to other services."),
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
    "Exit codes: 0 done, 1 refused or failed, 2 wrong input, 3 server unavailable, 4 not logged in; "
    "watch: 5 run failed, 6 cancelled, 7 paused, 8 timed out."
)
def main(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Train language models by off-policy RLVR (BAPO, arXiv:2602.20722) and see what the data is doing."""
