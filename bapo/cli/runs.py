"""`bapo runs`: search, filter and sort the run history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from bapo.api.runs import RunFilters, RunPage, RunStatus, RunSummary
from bapo.cli.complete import complete_columns
from bapo.cli.connection import online
from bapo.cli.output import JsonOption, print_json, say
from bapo.cli.run_table import RECORDED, RUNS, default_columns, group_table, with_columns
from bapo.client import Client

PAGE = 500


@dataclass(frozen=True)
class FilterOptions:
    """Options that filter the history."""

    search: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WORD…]",
            help="Words to find in name, id, notes, tags, group, owner or config, such as method.c1=0.25.",
        ),
    ] = None
    status: Annotated[list[RunStatus] | None, typer.Option("--status", help="In this state; repeatable.")] = None
    method: Annotated[list[str] | None, typer.Option("--method", help="bapo, grpo, …; repeatable.")] = None
    tag: Annotated[list[str] | None, typer.Option("--tag", help="With this tag; repeat for runs with all of them.")] = (
        None
    )
    owner: Annotated[list[str] | None, typer.Option("--owner", help="Submitted by this user; repeatable.")] = None
    group: Annotated[list[str] | None, typer.Option("--group", help="In this group; repeatable.")] = None
    project: Annotated[list[str] | None, typer.Option("--project", help="In this project; repeatable.")] = None
    starred: Annotated[bool, typer.Option("--starred", help="Only runs you starred.")] = False
    archived: Annotated[bool, typer.Option("--archived", help="Include archived runs.")] = False
    after: Annotated[
        str | None,
        typer.Option("--after", metavar="TIME", help="Submitted at or after this time, such as 2026-05-01T00:00Z."),
    ] = None
    before: Annotated[str | None, typer.Option("--before", metavar="TIME", help="Submitted before this time.")] = None
    min_best: Annotated[
        float | None, typer.Option("--min-best", min=0, max=1, help="Best evaluation at least this, from 0 to 1.")
    ] = None
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="CONDITION",
            help="On any column, such as 'config.method.c1>=0.25', 'metric.actor/entropy<1', 'name~wide' or "
            "'config.method.m is missing'; repeatable.",
        ),
    ] = None

    def given(self) -> dict[str, Any]:
        """Return the filters that are set, as the client takes them."""
        filters = {
            "search": " ".join(self.search or ()) or None,
            "starred": self.starred or None,
            "archived": "shown" if self.archived else None,
            "created_after": self.after,
            "created_before": self.before,
            "min_best": self.min_best,
        }
        names = ("status", "method", "tag", "owner", "group", "project", "where")
        filters |= {name: getattr(self, name) for name in names}
        return {name: value for name, value in filters.items() if value is not None}


SortOption = Annotated[
    str,
    typer.Option(
        "--sort",
        help="Column such as created_at, name, step, eval_best, duration, config.method.c1 or metric.actor/entropy; "
        "put - before it to sort descending.",
    ),
]


@online
def runs(
    client: Client,
    filters: FilterOptions,
    sort: SortOption = "-created_at",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Maximum number shown.")] = 30,
    columns: Annotated[
        str | None,
        typer.Option(
            help=f"Columns to show, separated by commas: {', '.join(RUNS.columns)}, config.FIELD or metric.KEY.",
            autocompletion=complete_columns,
        ),
    ] = None,
    group_by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Show groups instead, with mean and standard deviation of the config fields and metrics in --columns: "
            "by method, study, group, tag, config (all but the seed), config.FIELD, …",
        ),
    ] = None,
    ids: Annotated[bool, typer.Option("--ids", "-q", help="Print only ids, one per line, for other commands.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List runs, newest first.

    [bold]bapo runs --status running[/bold]

    [bold]bapo runs countdown method.c1=0.25 --sort -eval_best --columns id,name,best,hours[/bold]

    [bold]bapo runs --where 'config.method.c1>=0.25' --columns id,name,config.method.c1 --sort config.method.c1[/bold]

    [bold]bapo runs --tag ablation --group-by config --columns metric.actor/entropy[/bold]

    [bold]bapo stop $(bapo runs --ids --tag sweep --status running)[/bold]
    """
    chosen = default_columns() if columns is None else tuple(name.strip() for name in columns.split(","))
    recorded = tuple(name for name in chosen if name.startswith(RECORDED))
    for name in chosen:
        if name not in RUNS.columns and name not in recorded:
            remedy = f"{name!r}: choose from {', '.join(RUNS.columns)}, config.FIELD and metric.KEY"
            raise typer.BadParameter(remedy, param_hint="--columns")
    if group_by is not None:
        groups = client.run_groups(group_by, ("eval_best", *recorded), RunFilters.model_validate(filters.given()))
        if as_json:
            print_json(groups)
        else:
            group_table(("eval_best", *recorded)).print(groups.items)
        return
    page = first_runs(client, limit, sort=sort, columns=recorded, **filters.given())
    if as_json:
        print_json(page)
    elif ids:
        for run in page.items:
            print(run.id)
    elif not page.items:
        say("no runs match")
    else:
        with_columns(recorded).print(page.items, chosen)
        if page.num_sets is not None:
            say(
                f"the runs were evaluated on {page.num_sets} different held-out sets: their order by "
                f"{sort.removeprefix('-')} compares different measurements"
            )
        if page.total > len(page.items):
            say(f"{len(page.items):,} of {page.total:,} runs: use --limit to show more, or search")


def first_runs(client: Client, limit: int, **filters: Any) -> RunPage:
    """Return the first runs of a list, from as many pages as needed."""
    found: list[RunSummary] = []
    total, cursor, num_sets = 0, None, None
    for page in client.pages(client.runs, limit=min(limit, PAGE), **filters):
        found += page.items
        total, cursor, num_sets = page.total, page.next_cursor, page.num_sets
        if len(found) >= limit:
            break
    return RunPage(items=found[:limit], total=total, next_cursor=cursor, num_sets=num_sets)
