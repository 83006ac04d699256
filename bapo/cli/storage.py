"""`bapo storage`: disk space of runs, retention and pending deletions; for administrators."""

from __future__ import annotations

from bapo.analysis.number_format import counted
from bapo.api.storage import RunSpace
from bapo.cli.artifacts import size_text
from bapo.cli.connection import online
from bapo.cli.listing import LimitOption, Listing
from bapo.cli.output import JsonOption, print_json, say, status_text
from bapo.client import Client


@online
def storage(
    client: Client,
    limit: LimitOption = 20,
    as_json: JsonOption = False,
) -> None:
    """Show the largest runs, what retention would delete now, and pending deletions; for administrators."""
    state = client.storage(limit)
    if as_json:
        print_json(state)
        return
    SIZES.print(state.runs)
    say(
        f"{counted(state.num_runs, 'run')}: folders {size_text(state.folder_bytes)}, "
        f"records {size_text(state.record_bytes)} "
        f"(database {size_text(state.database_bytes)}), downloads {size_text(state.artifact_bytes)} "
        f"of {size_text(state.artifact_quota_bytes)}"
    )
    if state.num_trashed:
        say(f"of that the trash holds {counted(state.num_trashed, 'run')}, {size_text(state.trash_bytes)}")
    for rule in state.retention:
        when = "never" if rule.days is None else f"after {rule.days:g} days, {rule.num_due} due now"
        say(f"{rule.part}: {when}")
    for each in state.deletions:
        say(f"deleting {each.part} of {each.run_id} on {each.host or 'any machine'}: {each.reason or 'pending'}")


SIZES = Listing[RunSpace](
    {
        "run": lambda run: run.run_id,
        "name": lambda run: run.name,
        "status": lambda run: status_text(run.status),
        "total": lambda run: size_text(run.num_bytes),
        "folder": lambda run: size_text(run.folder_bytes),
        "records": lambda run: size_text(run.database_bytes),
        "downloads": lambda run: size_text(run.artifact_bytes),
    },
    cut=("name",),
    right=("total", "folder", "records", "downloads"),
)
