"""`bapo data`: convert published data sets to the files that tasks read, and upload your own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bapo.analysis.findings.finding import Evidence
from bapo.analysis.number_format import counted, percent
from bapo.api.resources import DataProbe, ResourceVersion
from bapo.cli.connection import Answer, answering, online
from bapo.cli.failures import Exit, RefusedError, plain_errors
from bapo.cli.lazy import group
from bapo.cli.listing import Listing
from bapo.cli.output import JsonOption, clean, print_json, print_table, say, table
from bapo.cli.upload import Wishes, upload
from bapo.client import Client
from bapo.datasets.catalogue import PUBLISHED, PublishedData
from bapo.datasets.preparation import MANIFEST_FILE, Preparation, PreparationError, prepare
from bapo.files.hub import HubError, download

HUB = "hub"
MOST_SHOWN = 20
"""Bad rows that are listed; the manifest has all."""

app = group("Prepare the data sets of the paper for training and testing, and upload your own.")


def complete_datasets(incomplete: str) -> list[str]:
    """Complete names of data sets."""
    return [name for name in PUBLISHED if name.startswith(incomplete)]


@app.command("list")
def list_datasets(as_json: JsonOption = False) -> None:
    """List the data sets, where their authors publish them, their size and their licence."""
    if as_json:
        fields = ("name", "repository", "num_problems", "licence", "about")
        print_json({"items": [{field: getattr(each, field) for field in fields} for each in _all()]})
        return
    made = table("name", "published as", "problems", "licence", "description")
    for each in _all():
        sizes = " + ".join(f"{size:,}" for size in each.num_problems.values())
        made.add_row(each.name, each.repository, sizes, each.licence or "not stated", each.about)
    print_table(made, cut=("description",))


@app.command("prepare")
def prepare_dataset(
    name: Annotated[
        str, typer.Argument(help="Name of the data set; see `bapo data list`.", autocompletion=complete_datasets)
    ],
    source: Annotated[
        str,
        typer.Option(
            "--from", metavar="FOLDER|hub", help="Folder with the published files, or `hub` to download them."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder to write to. Default: data/NAME.", file_okay=False)
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first bad row instead of skipping it.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Convert the published files of a data set. Running it again changes nothing."""
    with plain_errors():
        data = PUBLISHED.get(name)
        if data is None:
            raise RefusedError(f"NAME = {name!r}: no such data set: take one of {', '.join(PUBLISHED)}")
        folder = out or Path("data") / name
        try:
            files = download(data.repository, "dataset", data.patterns) if source == HUB else Path(source)
            preparation, is_new = prepare(
                data, files, folder, is_strict=strict, progress=lambda file, row: say(f"{file}: {row:,} rows")
            )
        except HubError as error:
            remedy = "download the data set on a machine that reaches it, copy the folder here, and give it with --from"
            raise RefusedError(f"{error}: {remedy} FOLDER", Exit.SERVER_AWAY) from None
        except PreparationError as error:
            raise RefusedError(str(error)) from None
        except OSError as error:
            raise RefusedError(f"{folder} cannot be written ({error})", Exit.FAILED) from None
    if as_json:
        print_json(preparation)
        return
    _report(preparation, folder, is_new=is_new)


def _all() -> list[PublishedData]:
    return list(PUBLISHED.values())


def _report(preparation: Preparation, folder: Path, *, is_new: bool) -> None:
    made = table(
        "file", "rows read", "rows written", "bad rows", "SHA-256", right=("rows read", "rows written", "bad rows")
    )
    for each in preparation.files:
        bad = each.num_read - each.num_written
        made.add_row(
            str(folder / each.file), f"{each.num_read:,}", f"{each.num_written:,}", f"{bad:,}", each.sha256[:16]
        )
    print_table(made)
    if not is_new:
        say("up to date: written earlier from the same published files")
    for bad_row in preparation.bad_rows[:MOST_SHOWN]:
        say(f"skipped: {clean(bad_row.file)}, row {bad_row.row}: {clean(bad_row.reason)}")
    rest = len(preparation.bad_rows) - MOST_SHOWN
    if rest > 0:
        say(f"and {rest:,} more, listed in {folder / MANIFEST_FILE}")


@app.command("upload")
@answering
def upload_dataset(
    client: Client,
    file: Annotated[
        str,
        typer.Argument(
            help="A .jsonl, .csv or .parquet file, or a model as .zip; or its https:// address, or its name on the hub "
            "such as hf://OWNER/MODEL or hf://datasets/OWNER/NAME, or catalogue:NAME for a model of `bapo model list`, "
            "which the server fetches."
        ),
    ],
    name: Annotated[str, typer.Option("--name", help="Name to register it under; configs refer to it as @name.")],
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="OURS=THEIRS",
            help="Column of a field, such as prompt=question. Default: by the columns' names.",
        ),
    ] = None,
    verifier: Annotated[
        str | None, typer.Option("--verifier", help="Verifier of the responses. Default: chosen by the answers.")
    ] = None,
    licence: Annotated[str, typer.Option("--licence", help="Licence of the data or the model.")] = "",
    description: Annotated[str, typer.Option("--description", help="Notes for its users.")] = "",
    project: Annotated[str | None, typer.Option("--project", help="Project whose runs may use it.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Register it despite warnings of the check.")] = False,
) -> Answer:
    """Upload a data set or a model, or have it fetched and checked, and register it. Run it again to resume."""
    wishes = Wishes(name, tuple(column or ()), verifier, licence, description, project, accepts_warnings=yes)
    made = upload(client, file, wishes)
    return made, f"@{made.name} is version {made.version}{'' if made.is_new else ', which it was before'}"


VERSIONS = Listing[ResourceVersion](
    {
        "version": lambda version: str(version.number),
        "rows": lambda version: f"{version.details['num_rows']:,}" if "num_rows" in version.details else None,
        "uploaded file": lambda version: version.file_name,
        "licence": lambda version: version.licence or None,
        "by": lambda version: version.author,
        "SHA-256": lambda version: version.sha256[:16],
    },
    cut=("uploaded file",),
    right=("version", "rows"),
)


def _share(figure: Evidence | None) -> str | None:
    return None if figure is None else percent(figure.value, space=" ")


PROBES = Listing[DataProbe](
    {
        "run": lambda probe: probe.run_id,
        "model": lambda probe: probe.model,
        "version": lambda probe: None if probe.version is None else str(probe.version),
        "no gradient": lambda probe: _share(probe.figures.dead if probe.figures else None),
        "right": lambda probe: _share(probe.figures.accuracy if probe.figures else None),
        "hours": lambda probe: None if probe.compute_hours is None else f"{probe.compute_hours:,.2f}",
        "cost": lambda probe: None if probe.cost is None else f"{probe.cost:,.2f} {probe.currency}",
        "by": lambda probe: probe.author,
        "made": lambda probe: probe.created_at,
    },
    cut=("model",),
    right=("no gradient", "right", "hours", "cost"),
)


@app.command("show")
@online
def show_dataset(
    client: Client,
    name: Annotated[str, typer.Argument(help="A registered data set, as @name or name.")],
    as_json: JsonOption = False,
) -> None:
    """Show a registered data set: its versions, and its difficulty and a run's cost, from probes."""
    wanted = name.removeprefix("@")
    known = client.resources("dataset").items
    info = next((each for each in known if each.name == wanted), None)
    if info is None:
        names = ", ".join(each.name for each in known) or "none yet"
        raise RefusedError(f"NAME = {name!r}: no data set is registered under this name; there are {names}")
    probes = client.data_probes(info.id).items
    if as_json:
        print_json(
            {"dataset": info.model_dump(mode="json"), "probes": [each.model_dump(mode="json") for each in probes]}
        )
        return
    say(f"@{info.name}: {counted(info.details.get('num_rows', 0), 'row')}, {clean(info.path)}")
    if info.description:
        say(clean(info.description))
    if info.versions:
        VERSIONS.print(info.versions)
    if not probes:
        say("no probe was made on it: a run with method.type = probe lets a base model answer it first")
        return
    PROBES.print(probes)
    for reason in dict.fromkeys(each.unpriced for each in probes if each.unpriced and each.figures):
        say(f"without a cost: {clean(reason)}")
