"""`bapo star`, `tag`, `note`, `rename`, `archive`, `delete` and their opposites."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from bapo.analysis.number_format import counted
from bapo.api.runs import RunSummary, RunUpdate
from bapo.api.storage import DeletionItem, DeletionPreview, DeletionRequest
from bapo.cli.artifacts import size_text
from bapo.cli.connection import Answer, answering, online
from bapo.cli.failures import RefusedError
from bapo.cli.life import bulk
from bapo.cli.output import JsonOption, clean, print_json, say
from bapo.cli.run_lookup import RunArgument, RunsArgument, find_run, find_runs
from bapo.cli.streams import data_output
from bapo.client import Client

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


@online
def star(client: Client, runs: RunsArgument, as_json: JsonOption = False) -> None:
    """Star runs; `bapo runs --starred` lists yours."""
    bulk(client, find_runs(client, runs), "star", "starred", as_json=as_json)


@online
def unstar(client: Client, runs: RunsArgument, as_json: JsonOption = False) -> None:
    """Remove your stars from runs."""
    bulk(client, find_runs(client, runs), "unstar", "no longer starred", as_json=as_json)


@online
def tag(
    client: Client,
    name: Annotated[str, typer.Argument(metavar="TAG", help="The tag.")],
    runs: RunsArgument,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the tag.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Add a tag to runs, or remove it.

    [bold]bapo tag ablation kzx3 m2v8[/bold]
    """
    done = f"no longer tagged {name}" if remove else f"tagged {name}"
    bulk(client, find_runs(client, runs), "untag" if remove else "tag", done, tag=name, as_json=as_json)


@online
def note(
    client: Client,
    run: RunArgument,
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="[TEXT]", help="Notes in Markdown; - reads standard input. Without it, print the notes."
        ),
    ] = None,
    append: Annotated[bool, typer.Option("--append", help="Add below the existing notes.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Read or write a run's notes.

    [bold]bapo note kzx3 --append "loss spike at step 300: the learning rate"[/bold]
    """
    found = find_run(client, run)
    if text is not None:
        given = sys.stdin.read() if text == "-" else text
        notes = f"{found.notes}\n\n{given}" if append and found.notes else given
        found = client.update_run(found.id, RunUpdate(notes=notes))
    if as_json:
        print_json(found)
    elif text is None:
        print(clean(found.notes), file=data_output())
    else:
        print(f"{found.id} {clean(found.name)}: notes saved")


@answering
def rename(
    client: Client, run: RunArgument, name: Annotated[str, typer.Argument(metavar="NAME", help="The new name.")]
) -> Answer:
    """Rename a run."""
    found = client.update_run(find_run(client, run).id, RunUpdate(name=name))
    return found, f"{found.id} {found.name}: renamed"


@online
def archive(client: Client, runs: RunsArgument, as_json: JsonOption = False) -> None:
    """Archive runs: lists leave them out, nothing is deleted."""
    bulk(client, find_runs(client, runs), "archive", "archived", as_json=as_json)


@online
def unarchive(client: Client, runs: RunsArgument, as_json: JsonOption = False) -> None:
    """Restore archived runs."""
    bulk(client, find_runs(client, runs), "unarchive", "restored", as_json=as_json)


@online
def delete(
    client: Client,
    runs: RunsArgument,
    now: Annotated[bool, typer.Option("--now", help="Delete permanently, which cannot be undone.")] = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Move drafts or ended runs to the trash, from where `bapo trash restore` takes them back."""
    found = find_runs(client, runs)
    preview = client.preview_deletion(DeletionRequest(run_ids=[run.id for run in found]))
    if not now and preview.trash_days:
        bulk(client, found, "delete", f"in the trash for {preview.trash_days:g} days", as_json=as_json)
    else:
        delete_for_good(client, found, preview, yes=yes, as_json=as_json)


def delete_for_good(
    client: Client, found: Sequence[RunSummary], preview: DeletionPreview, *, yes: bool, as_json: bool
) -> None:
    """Delete these runs after the user has confirmed the server's preview."""
    if not yes:
        for each in preview.items:
            say(_consequence(each))
        listed = ", ".join(f"{run.id} {clean(run.name)!r}" for run in found)
        if not sys.stdin.isatty():
            raise RefusedError(f"give --yes to confirm: this would permanently delete {listed}")
        if not typer.confirm(f"Permanently delete {listed} with all records?", err=True):
            raise RefusedError("nothing was deleted")
    bulk(client, found, "purge", "deleted", as_json=as_json)


def _consequence(item: DeletionItem) -> str:
    if item.refusal is not None:
        return f"{item.run_id} {item.name}: {item.refusal}"
    parts = [counted(item.num_steps, "step"), counted(item.num_checkpoints, "checkpoint"), size_text(item.num_bytes)]
    stay = f"; its {len(item.children)} clones and forks stay" if item.children else ""
    return f"{item.run_id} {item.name}: {', '.join(parts)}{stay}"
