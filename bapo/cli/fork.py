"""`bapo checkpoints` and `bapo fork`: what a run keeps, and runs that go on from it."""

from __future__ import annotations

from typing import Annotated

import typer

from bapo.api.runs import RunFork
from bapo.cli.artifacts import size_text
from bapo.cli.connection import online
from bapo.cli.drafts import MAX_NAME, label_of
from bapo.cli.failures import Exit, RefusedError
from bapo.cli.naming import RunArgument, find_run
from bapo.cli.output import NOTHING, JsonOption, ago, percent, print_json, print_table, say, table
from bapo.cli.submit import (
    DraftOption,
    GroupOption,
    KeyOption,
    NameOption,
    NotesOption,
    PriorityOption,
    SetOption,
    TagsOption,
    WaitOption,
    WatchOption,
    tell,
)
from bapo.client import Client
from bapo.config import parse_assignments


@online
def checkpoints(client: Client, run: RunArgument, as_json: JsonOption = False) -> None:
    """List the checkpoints that a run keeps: what it can be forked and downloaded from."""
    page = client.checkpoints(find_run(client, run).id)
    if as_json:
        print_json(page)
        return
    if not page.items:
        say("the run keeps no checkpoint")
        return
    names = sorted({name for each in page.items for name in each.evaluations})
    made = table("step", "written", "size", *names, right=("step", "written", "size", *names))
    for each in page.items:
        results = [percent(each.evaluations.get(name)) for name in names]
        size = NOTHING if each.num_bytes is None else size_text(each.num_bytes)
        made.add_row(f"{each.step:,}", ago(each.written_at), size, *results)
    print_table(made)


@online
def fork(
    client: Client,
    run: RunArgument,
    step: Annotated[
        int | None, typer.Option("--step", min=1, help="Checkpoint to go on from. Default: the newest.")
    ] = None,
    assignments: SetOption = None,
    name: NameOption = None,
    tags: TagsOption = None,
    notes: NotesOption = None,
    group: GroupOption = None,
    priority: PriorityOption = None,
    draft: DraftOption = False,
    key: KeyOption = None,
    wait: WaitOption = False,
    watch: WatchOption = False,
    as_json: JsonOption = False,
) -> None:
    """Submit a run that goes on from a checkpoint of another, with changes. Prints its id.

    [bold]bapo checkpoints kzx3[/bold]

    [bold]bapo fork kzx3 --step 100 --set method.c1=1/4[/bold]
    """
    parent = find_run(client, run)
    if step is None:
        kept = client.checkpoints(parent.id).items
        if not kept:
            raise RefusedError(f"run {parent.id} keeps no checkpoint: `bapo clone` starts from its config", Exit.FAILED)
        step = kept[0].step
    changes = parse_assignments(assignments or ())
    body = RunFork(
        step=step,
        name=name or f"{parent.name} from step {step} {label_of(changes)}".strip()[:MAX_NAME],
        changes=changes,
        tags=parent.tags if tags is None else tags,
        notes=notes or "",
        group=parent.group if group is None else group,
        priority=parent.priority if priority is None else priority,
        start=not draft,
    )
    made = client.fork(parent.id, body, idempotency_key=key)
    tell(client, [made], wait=wait, watch=watch, as_json=as_json)
