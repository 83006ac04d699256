"""`bapo runs`: the run history, searched, filtered and sorted."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bapo.api.runs import RunPage, RunStatus, RunSummary
from bapo.cli.complete import complete_columns
from bapo.cli.connection import online
from bapo.cli.output import JsonOption, print_json, print_table, say
from bapo.cli.run_table import COLUMNS, TEXTS, default_columns, run_table
from bapo.client import Client

PAGE = 500

SearchArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[WORD…]",
        help="Words, or parts of words, of name, id, notes, tags, group, owner or config, such as method.c1=0.25.",
    ),
]
StatusOption = Annotated[list[RunStatus] | None, typer.Option("--status", help="In this state; repeatable.")]
MethodOption = Annotated[list[str] | None, typer.Option("--method", help="bapo, grpo, …; repeatable.")]
TagOption = Annotated[list[str] | None, typer.Option("--tag", help="With this tag; repeated: with all of them.")]
OwnerOption = Annotated[list[str] | None, typer.Option("--owner", help="Submitted by; repeatable.")]
GroupOption = Annotated[list[str] | None, typer.Option("--group", help="Of this group; repeatable.")]
ProjectOption = Annotated[list[str] | None, typer.Option("--project", help="Of this project; repeatable.")]
StarredOption = Annotated[bool, typer.Option("--starred", help="Only those that you have starred.")]
ArchivedOption = Annotated[bool, typer.Option("--archived", help="Also those in the archive.")]
AfterOption = Annotated[
    str | None, typer.Option("--after", metavar="TIME", help="Submitted at that time or later, as 2026-05-01T00:00Z.")
]
BeforeOption = Annotated[str | None, typer.Option("--before", metavar="TIME", help="Submitted before that time.")]
MinBestOption = Annotated[
    float | None, typer.Option("--min-best", min=0, max=1, help="Best evaluation at least this, as a share.")
]
SortOption = Annotated[
    str,
    typer.Option(
        "--sort", help="A column such as created_at, name, step, eval_best, duration; with - before it: descending."
    ),
]


@online
def runs(
    client: Client,
    search: SearchArgument = None,
    status: StatusOption = None,
    method: MethodOption = None,
    tag: TagOption = None,
    owner: OwnerOption = None,
    group: GroupOption = None,
    project: ProjectOption = None,
    starred: StarredOption = False,
    archived: ArchivedOption = False,
    after: AfterOption = None,
    before: BeforeOption = None,
    min_best: MinBestOption = None,
    sort: SortOption = "-created_at",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many.")] = 30,
    columns: Annotated[
        str | None,
        typer.Option(help=f"Names, separated by commas: {', '.join(COLUMNS)}.", autocompletion=complete_columns),
    ] = None,
    ids: Annotated[bool, typer.Option("--ids", "-q", help="Print ids only, one a line, for other commands.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List runs, the newest first.

    [bold]bapo runs --status running[/bold]

    [bold]bapo runs countdown method.c1=0.25 --sort -eval_best --columns id,name,best,hours[/bold]

    [bold]bapo stop $(bapo runs --ids --tag sweep --status running)[/bold]
    """
    chosen = default_columns() if columns is None else tuple(name.strip() for name in columns.split(","))
    for name in chosen:
        if name not in COLUMNS:
            raise typer.BadParameter(f"{name!r} is none of {', '.join(COLUMNS)}", param_hint="--columns")
    page = first_runs(
        client,
        limit,
        search=" ".join(search or ()) or None,
        status=status,
        method=method,
        tag=tag,
        owner=owner,
        group=group,
        project=project,
        starred=starred or None,
        archived="shown" if archived else None,
        created_after=after,
        created_before=before,
        min_best=min_best,
        sort=sort,
    )
    if as_json:
        print_json(page)
    elif ids:
        for run in page.items:
            print(run.id)
    elif not page.items:
        say("no run matches" if page.total == 0 else "nothing to show")
    else:
        print_table(run_table(page.items, chosen), cut=TEXTS)
        if page.total > len(page.items):
            say(f"{len(page.items):,} of {page.total:,} runs: give --limit for more, or words to search for")


def first_runs(client: Client, limit: int, **filters: Any) -> RunPage:
    """So many runs of a list, over as many pages as it takes."""
    found: list[RunSummary] = []
    total, cursor = 0, None
    for page in client.pages(client.runs, limit=min(limit, PAGE), **filters):
        found += page.items
        total, cursor = page.total, page.next_cursor
        if len(found) >= limit:
            break
    return RunPage(items=found[:limit], total=total, next_cursor=cursor)
