"""`bapo clone`: submit a run with another's config."""

from __future__ import annotations

from bapo.api.runs import RunCreate
from bapo.cli.connection import online
from bapo.cli.drafts import MAX_NAME, label_of
from bapo.cli.naming import RunArgument, find_run
from bapo.cli.output import JsonOption
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
def clone(
    client: Client,
    run: RunArgument,
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
    """Submit a run with another's config and changes to it. Prints its id.

    Tags, group and priority default to the parent's. Training starts from the beginning.

    [bold]bapo clone kzx3 --set training.seed=2[/bold]
    """
    parent = find_run(client, run)
    changes = parse_assignments(assignments or ())
    body = RunCreate(
        name=name or f"{parent.name} {label_of(changes) or 'again'}"[:MAX_NAME],
        tags=parent.tags if tags is None else tags,
        notes=notes or "",
        group=parent.group if group is None else group,
        priority=parent.priority if priority is None else priority,
        changes=changes,
        start=not draft,
    )
    made = client.clone(parent.id, body, idempotency_key=key)
    tell(client, [made], wait=wait, watch=watch, as_json=as_json)
