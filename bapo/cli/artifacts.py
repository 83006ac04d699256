"""`bapo artifacts`: download files of a run, which the machine that trained it packs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from bapo.api.artifacts import ArtifactCreate, ArtifactInfo, ArtifactPage
from bapo.cli.connection import Answer, answering, online
from bapo.cli.failures import Exit, RefusedError
from bapo.cli.lazy import group
from bapo.cli.listing import Listing, listed
from bapo.cli.output import NOTHING, JsonOption, clean, notes, print_json
from bapo.cli.run_lookup import RunArgument, find_run
from bapo.client import Client
from bapo.client.downloads import DownloadError, download, wait_until_ready

KINDS = ("checkpoint", "journal", "report", "config", "log", "samples")

app = group("Download checkpoints (as Hugging Face folders), journals, reports, logs and samples of runs.")


def size_text(num_bytes: int | None) -> str:
    """Format a size, such as 5.5 MB."""
    if num_bytes is None:
        return NOTHING
    size = float(num_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


ARTIFACTS = Listing[ArtifactInfo](
    {
        "id": lambda artifact: artifact.id,
        "file": lambda artifact: artifact.file_name,
        "state": lambda artifact: artifact.state,
        "size": lambda artifact: size_text(artifact.num_bytes),
        "user": lambda artifact: artifact.author,
        "requested": lambda artifact: artifact.requested_at,
        "reason": lambda artifact: artifact.reason or "",
    },
    cut=("file", "reason"),
    right=("size",),
    empty="no files requested yet: request one with `bapo artifacts get RUN KIND`",
)


@app.command("list")
@listed(ARTIFACTS)
def list_artifacts(client: Client, run: RunArgument) -> ArtifactPage:
    """List the files of a run that were requested."""
    return client.artifacts(find_run(client, run).id)


@app.command("get")
@online
def get(
    client: Client,
    run: RunArgument,
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help=f"{', '.join(KINDS)}.", autocompletion=lambda: list(KINDS))
    ],
    step: Annotated[
        int | None, typer.Option("--step", min=0, help="Step of the checkpoint. Default: the newest.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="File to write. Default: its own name, in this folder."),
    ] = None,
    timeout: Annotated[float, typer.Option(min=0, help="Seconds to wait for the machine that packs it.")] = 600.0,
    as_json: JsonOption = False,
) -> None:
    """Request a file, wait until it is packed, and download it. Run the command again to resume a broken download.

    [bold]bapo artifacts get kzx3 checkpoint --step 100[/bold]

    [bold]bapo artifacts get kzx3 journal -o run.zip[/bold]
    """
    if kind not in get_args(ArtifactCreate.model_fields["kind"].annotation):
        raise typer.BadParameter(f"{kind!r} is none of {', '.join(KINDS)}", param_hint="KIND")
    run_id = find_run(client, run).id
    if kind == "checkpoint" and step is None:
        kept = client.checkpoints(run_id).items
        if not kept:
            raise RefusedError(f"run {run_id} keeps no checkpoint", Exit.FAILED)
        step = kept[0].step
    wanted = ArtifactCreate.model_validate({"kind": kind} | ({} if step is None else {"step": step}))
    try:
        found = _fetched(client, client.request_artifact(run_id, wanted), out, timeout)
    except DownloadError as error:
        raise RefusedError(str(error), Exit.FAILED) from None
    if as_json:
        print_json(found)


def _fetched(client: Client, artifact: ArtifactInfo, out: Path | None, timeout: float) -> ArtifactInfo:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=notes(), disable=not notes().is_terminal, transient=True) as progress:
        task = progress.add_task("packing", total=None)

        def show(now: ArtifactInfo, num_bytes: int) -> None:
            what = "downloading" if num_bytes else now.state
            progress.update(task, description=what, total=now.num_bytes, completed=num_bytes)

        artifact = wait_until_ready(client, artifact, timeout, show)
        # A name from elsewhere never leads out of this folder.
        target = out or Path(Path(clean(artifact.file_name)).name)
        download(client, artifact, target, show)
    print(target)
    return artifact


@app.command("delete")
@answering
def delete(
    client: Client,
    run: RunArgument,
    artifact: Annotated[str, typer.Argument(metavar="ARTIFACT", help="File id; see `bapo artifacts list`.")],
) -> Answer:
    """Delete a packed file; it can be requested again."""
    client.delete_artifact(find_run(client, run).id, artifact)
    return {"id": artifact, "done": "deleted"}, f"{artifact}: deleted"
