"""`bapo prompts`: prompts over all runs of a project, and the lists that leave them out or weigh them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

import typer

from bapo.analysis.number_format import bounds_text, counted
from bapo.api.prompt_lists import (
    PromptEntry,
    PromptListChange,
    PromptListCreate,
    PromptListEntryInfo,
    PromptListEntryPage,
    PromptListInfo,
    PromptListPage,
)
from bapo.api.prompts import (
    Accuracy,
    ProjectPromptFilter,
    ProjectPromptPage,
    PromptAcrossOrder,
    PromptInRun,
    PromptInRuns,
    PromptShow,
    PromptTotalsAcross,
)
from bapo.cli.connection import Answer, answering, online
from bapo.cli.failures import RefusedError
from bapo.cli.lazy import group
from bapo.cli.listing import LimitOption, Listing, listed
from bapo.cli.output import percent
from bapo.cli.prompt_files import entries_of
from bapo.cli.run_lookup import find_run
from bapo.cli.streams import data_output
from bapo.client import Client
from bapo.config.method import method_name
from bapo.config.prompt_weights import LEFT_OUT, parse_weight, weight_text

app = group("Prompts over all runs of a project, and lists that leave them out or weigh them.")

ListArgument = Annotated[str, typer.Argument(metavar="LIST", help="Name of a prompt list.")]
PromptArgument = Annotated[str, typer.Argument(metavar="PROMPT", help="Identity of a prompt, such as GSM8K:1f0c….")]
ProjectOption = Annotated[str | None, typer.Option("--project", help="Project. Default: your only or first one.")]
VersionOption = Annotated[int | None, typer.Option("--version", min=1, help="Version. Default: the newest.")]
LinesOption = Annotated[bool, typer.Option("--jsonl", help="JSON lines in place of CSV.")]


def _share(found: Accuracy) -> str:
    return "" if found.value is None else percent(found.value)


def _interval(found: Accuracy) -> str:
    return bounds_text(found.low, found.high, percent)


PROMPTS = Listing[PromptTotalsAcross](
    {
        "prompt": lambda each: each.prompt_id,
        "accuracy": lambda each: _share(each.accuracy),
        "95 % interval": lambda each: _interval(each.accuracy),
        "responses": lambda each: each.accuracy.num_responses,
        "runs": lambda each: each.num_runs,
        "never": lambda each: each.num_never_solved,
        "always": lambda each: each.num_always_solved,
        "suspected": lambda each: each.num_suspected,
        "lists": lambda each: ", ".join(f"@{listed_in.name}" for listed_in in each.lists),
        "text": lambda each: (each.text or "").partition("\n")[0],
    },
    cut=("text",),
    right=("accuracy",),
    empty="no prompt matches",
)
IN_RUNS = Listing[PromptInRun](
    {
        "run": lambda each: each.run_id,
        "name": lambda each: each.run_name,
        "method": lambda each: method_name(each.method),
        "model": lambda each: each.model,
        "visits": lambda each: each.num_visits,
        "inherited": lambda each: each.num_inherited_visits,
        "accuracy": lambda each: _share(each.accuracy),
        "first": lambda each: f"{each.first_correct}/{each.group_size}",
        "last": lambda each: f"{each.last_correct}/{each.group_size}",
        "last step": lambda each: each.last_step,
        "started": lambda each: each.created_at,
    },
    raw={"method": lambda each: each.method},
    cut=("name",),
    right=("accuracy", "first", "last"),
    empty="no counted run has visited it",
)
LISTS = Listing[PromptListInfo](
    {
        "name": lambda each: f"@{each.name}",
        "project": lambda each: each.project,
        "quarantined": lambda each: each.num_quarantined,
        "weighed": lambda each: each.num_weighted,
        "version": lambda each: each.version,
        "runs": lambda each: each.num_runs,
        "changed": lambda each: each.changed_at,
        "description": lambda each: each.description,
    },
    cut=("description",),
    empty="no prompt list: `bapo prompts put LIST PROMPT …` makes one",
)
ENTRIES = Listing[PromptListEntryInfo](
    {
        "prompt": lambda each: each.prompt_id,
        "weight": lambda each: "quarantined" if each.weight == LEFT_OUT else weight_text(each.weight),
        "note": lambda each: each.note,
        "by": lambda each: each.author,
        "added": lambda each: each.added_at,
    },
    cut=("note",),
    right=("weight",),
    empty="nothing is on this version",
)


@app.command("list")
@listed(PROMPTS)
def list_prompts(
    client: Client,
    show: Annotated[str, typer.Option(help=f"Prompts to list: {', '.join(get_args(PromptShow))}.")] = "all",
    search: Annotated[str | None, typer.Option(help="Part of the identity or of the text.")] = None,
    min_runs: Annotated[
        int, typer.Option("--min-runs", min=1, help="Minimum number of runs that answered the prompt.")
    ] = 1,
    sort: Annotated[str, typer.Option(help=f"Order: {', '.join(get_args(PromptAcrossOrder))}.")] = "accuracy",
    descending: Annotated[bool, typer.Option("--descending", help="Largest first.")] = False,
    project: ProjectOption = None,
    limit: LimitOption = 50,
) -> ProjectPromptPage:
    """List a project's prompts with their outcomes in all runs, hardest first.

    [bold]bapo prompts list --show suspected --csv > suspected.csv[/bold]
    """
    if show not in get_args(PromptShow):
        raise typer.BadParameter(f"take one of {', '.join(get_args(PromptShow))}", param_hint="--show")
    if sort not in get_args(PromptAcrossOrder):
        raise typer.BadParameter(f"take one of {', '.join(get_args(PromptAcrossOrder))}", param_hint="--sort")
    given = {"show": show, "search": search, "min_runs": min_runs, "sort": sort, "descending": descending}
    return client.project_prompts(ProjectPromptFilter.model_validate({**given, "project": project}), limit=limit)


@app.command("show")
@listed(IN_RUNS)
def show_prompt(
    client: Client, prompt: PromptArgument, project: ProjectOption = None, limit: LimitOption = 50
) -> PromptInRuns:
    """Show a prompt in the runs that visited it, the newest first.

    Inherited visits, such as those of a fork's parent, are part of a run's row; over all runs they count once.
    """
    return client.prompt_in_runs(prompt, project, limit=min(limit, 200))


@app.command("history")
@online
def history(client: Client, prompt: PromptArgument, project: ProjectOption = None, lines: LinesOption = False) -> None:
    """Print every visit of a prompt in every run of a project as CSV; inherited ones once, in the oldest run.

    [bold]bapo prompts history GSM8K:1f0c2b7e9d1a4c6f > history.csv[/bold]
    """
    fetch = client.prompt_history_jsonl if lines else client.prompt_history_csv
    _print_as_it_is(fetch(prompt, project))


def _print_as_it_is(text: str) -> None:
    """Print what the server made, whose line ends are those of the format."""
    data_output().write(text.replace("\r\n", "\n"))


@app.command("lists")
@listed(LISTS)
def list_lists(client: Client, project: Annotated[str | None, typer.Option(help="Project.")] = None) -> PromptListPage:
    """List the prompt lists; a run takes one with `--set task.prompt_list=@NAME`."""
    return client.prompt_lists(project)


@app.command("entries")
@listed(ENTRIES)
def list_entries(
    client: Client,
    name: ListArgument,
    version: VersionOption = None,
    project: ProjectOption = None,
    limit: LimitOption = 100,
) -> PromptListEntryPage:
    """List the entries of a prompt list."""
    return client.prompt_list_entries(_find(client, name, project).id, version, limit=limit)


@app.command("put")
@answering
def put(
    client: Client,
    name: ListArgument,
    prompts: Annotated[
        list[str] | None, typer.Argument(metavar="PROMPT…", help="Identities; add more by a file or a finding.")
    ] = None,
    weight: Annotated[
        str | None, typer.Option("--weight", help="Sampling weight; unlisted prompts weigh 1. Default: quarantine.")
    ] = None,
    note: Annotated[str, typer.Option("--note", help="Reason.")] = "",
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help="CSV file with prompt_id, and action, weight and note if given."),
    ] = None,
    run: Annotated[str | None, typer.Option("--run", metavar="RUN", help="Run of the --finding.")] = None,
    finding: Annotated[
        str | None, typer.Option("--finding", metavar="KIND", help="Finding of the run, such as label-suspected.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Remove all other entries.")] = False,
    project: ProjectOption = None,
) -> Answer:
    """Put prompts on a list, which is made if it is missing: quarantined, or with a weight.

    [bold]bapo prompts put doubtful --run kzx3 --finding label-suspected[/bold]

    [bold]bapo prompts put focus --file hard.csv --weight 2[/bold]
    """
    entries = {each: PromptEntry(prompt_id=each, note=note) for each in prompts or ()}
    if file is not None:
        entries |= {each.prompt_id: each for each in entries_of(file)}
    if (run is None) != (finding is None):
        raise RefusedError("give --run and --finding together: they name the prompts of a finding of a run")
    if run is not None and finding is not None:
        found = client.finding_prompts(find_run(client, run).id, finding.replace("-", "_")).items
        entries |= {
            each.prompt_id: PromptEntry(prompt_id=each.prompt_id, note=note or each.detail[:1_000]) for each in found
        }
    if not entries:
        raise RefusedError("no prompt is named: give identities, --file FILE, or --run RUN --finding KIND")
    if weight is not None:
        try:
            given = parse_weight(weight)
        except ValueError as error:
            raise RefusedError(f"--weight: {error}") from None
        entries = {key: each.model_copy(update={"weight": given}) for key, each in entries.items()}
    known = _known(client, name, project)
    if known is None:
        known = client.create_prompt_list(PromptListCreate.model_construct(name=_bare(name), project=project))
    changed = client.change_prompt_list(known.id, PromptListChange(set=list(entries.values()), replace=replace))
    line = f"@{changed.name}: {counted(len(entries), 'prompt')}, version {changed.version}"
    return changed, line if changed.version != known.version else f"{line} as before: nothing changed"


@app.command("drop")
@answering
def drop(
    client: Client,
    name: ListArgument,
    prompts: Annotated[list[str], typer.Argument(metavar="PROMPT…", help="Identities.")],
    project: ProjectOption = None,
) -> Answer:
    """Take prompts off a list."""
    changed = client.change_prompt_list(_find(client, name, project).id, PromptListChange(remove=prompts))
    return changed, f"@{changed.name}: version {changed.version}"


@app.command("export")
@online
def export(
    client: Client,
    name: ListArgument,
    version: VersionOption = None,
    lines: LinesOption = False,
    project: ProjectOption = None,
) -> None:
    """Print a list as CSV, which `bapo train --prompt-list` and `bapo prompts put --file` read."""
    fetch = client.prompt_list_jsonl if lines else client.prompt_list_csv
    _print_as_it_is(fetch(_find(client, name, project).id, version))


@app.command("remove")
@answering
def remove(client: Client, name: ListArgument, project: ProjectOption = None) -> Answer:
    """Remove a list; runs that were submitted with it keep its entries."""
    found = _find(client, name, project)
    client.remove_prompt_list(found.id)
    return {"id": found.id, "removed": True}, f"@{found.name}: removed"


def _bare(name: str) -> str:
    return name.removeprefix("@")


def _known(client: Client, name: str, project: str | None) -> PromptListInfo | None:
    found = [each for each in client.prompt_lists(project).items if _bare(name) in (each.name, each.id)]
    if len(found) > 1:
        raise RefusedError(f"several projects have a list {_bare(name)!r}: say which with --project")
    return found[0] if found else None


def _find(client: Client, name: str, project: str | None) -> PromptListInfo:
    found = _known(client, name, project)
    if found is None:
        raise RefusedError(f"no prompt list is called {_bare(name)!r}: `bapo prompts lists` shows them")
    return found
