"""`bapo clone`: submit a run with another's config."""

from __future__ import annotations

from bapo.api.runs import RunCreate
from bapo.cli.connection import online
from bapo.cli.drafts import label_of
from bapo.cli.naming import RunArgument, find_run
from bapo.cli.submit import DraftOption, Labels, SetOption, Submission
from bapo.client import Client
from bapo.config import parse_assignments


@online
def clone(
    client: Client,
    run: RunArgument,
    assignments: SetOption = None,
    *,
    labels: Labels,
    draft: DraftOption = False,
    submission: Submission,
) -> None:
    """Submit a run with another's config and changes to it. Prints its id.

    Tags, group and priority default to the parent's. Training starts from the beginning.

    [bold]bapo clone kzx3 --set training.seed=2[/bold]
    """
    parent = find_run(client, run)
    changes = parse_assignments(assignments or ())
    name = f"{parent.name} {label_of(changes) or 'again'}"
    body = RunCreate.model_validate({**labels.of_child(parent, name), "changes": changes, "start": not draft})
    submission.tell(client, client.clone(parent.id, body, idempotency_key=submission.key))
