"""`bapo storage`: what takes up space on a server, and what goes by itself."""

from __future__ import annotations

from typing import Annotated

import typer

from bapo.cli.artifacts import size_text
from bapo.cli.connection import online
from bapo.cli.output import NOTHING, JsonOption, print_json, print_table, say, status_text, table, user_text
from bapo.client import Client


@online
def storage(
    client: Client,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=500, help="Runs shown.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """What takes up space: the largest runs, what retention would take now, and folders that wait to be deleted.

    For administrators.
    """
    state = client.storage(limit)
    if as_json:
        print_json(state)
        return
    runs = table("run", "name", "state", "all", "folder", "records", "downloads", right=("all", "folder", "records"))
    for run in state.runs:
        sizes = (run.num_bytes, run.folder_bytes, run.database_bytes, run.artifact_bytes)
        runs.add_row(run.run_id, user_text(run.name), status_text(run.status), *map(_size, sizes))
    print_table(runs, cut=("name",))
    say(
        f"{state.num_runs} runs: folders {size_text(state.folder_bytes)}, records {size_text(state.record_bytes)} "
        f"(database {size_text(state.database_bytes)}), downloads {size_text(state.artifact_bytes)} "
        f"of {size_text(state.artifact_quota_bytes)}"
    )
    for rule in state.retention:
        when = "never" if rule.days is None else f"after {rule.days:g} days, {rule.num_due} due now"
        say(f"{rule.part}: {when}")
    for each in state.deletions:
        say(f"being deleted: {each.part} of {each.run_id} on {each.host or 'any machine'}: {each.reason or 'waits'}")


def _size(num_bytes: int | None) -> str:
    return NOTHING if num_bytes is None else size_text(num_bytes)
