"""`bapo import`: import a run that was trained without a server, or the rollouts that another trainer left in files."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import track

from bapo.cli.connection import Server
from bapo.cli.failures import Exit, RefusedError, plain_errors
from bapo.cli.import_dump import DumpOptions, describe_import, folder_for, opened, show, written
from bapo.cli.option_sets import with_option_sets
from bapo.cli.output import notes
from bapo.client import Client
from bapo.config import ConfigError, ConfigProblem
from bapo.files.archive import ArchiveError, unpack
from bapo.files.safe_paths import OutsideError
from bapo.observe.dumps.columns import FIELDS
from bapo.observe.dumps.dump_import import Settings
from bapo.observe.dumps.formats import Format
from bapo.observe.rank_merge import merge_left_over
from bapo.observe.upload import describe_folder, files_of, refuse_other_copy

DUMPS = "Files of another trainer"


@with_option_sets
def import_run(
    run_folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="Folder of `bapo train --out DIR` or of an observed run, a downloaded journal.zip, or, with --from, "
            "the folder of another trainer's rollouts.",
        ),
    ],
    name: Annotated[str | None, typer.Option(help="Name in the run history. Default: the folder's.")] = None,
    group: Annotated[str | None, typer.Option(help="Group that the run belongs to.")] = None,
    kind: Annotated[Format | None, typer.Option("--from", rich_help_panel=DUMPS, help="Format of the files.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN_FOLDER",
            rich_help_panel=DUMPS,
            help="Write the run to this folder and do not send it. Default: a folder in observed-runs, which is sent.",
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=COLUMN",
            rich_help_panel=DUMPS,
            help=f"Column of a field, such as reward=score; may be repeated. Fields: {', '.join(FIELDS)}.",
        ),
    ] = None,
    validation: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", rich_help_panel=DUMPS, help="Answers to held-out sets, in files of the same kind."
        ),
    ] = None,
    reward_threshold: Annotated[
        float, typer.Option(rich_help_panel=DUMPS, help="A response counts as correct if its reward is above it.")
    ] = 0.0,
    source: Annotated[str | None, typer.Option(rich_help_panel=DUMPS, help="Data source for rows without one.")] = None,
    trainer: Annotated[str | None, typer.Option(rich_help_panel=DUMPS, help="Name of the trainer.")] = None,
    samples_per_step: Annotated[
        int, typer.Option(min=0, rich_help_panel=DUMPS, help="Groups of a step whose responses are kept as text.")
    ] = 4,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", rich_help_panel=DUMPS, help="Show how the files are read, and write nothing.")
    ] = False,
    *,
    server: Server,
) -> None:
    """Import a run that was trained without a server. Importing the folder again sends only what is new.

    With --from, import the rollouts that another trainer left in files:

    [bold]bapo import --from verl-dumps rollouts/ --validation validation/ --dry-run[/bold]

    [bold]bapo import --from jsonl log.jsonl --column prompt=question --column reward=score --out runs/mine[/bold]

    The last line of standard output is a JSON summary.
    """
    with plain_errors():
        if kind is None:
            _refuse_dump_options(out=out, column=column, validation=validation, source=source, dry_run=dry_run)
            _send(run_folder, name, group, server)
            return
        try:
            settings = Settings(reward_threshold, source, samples_per_step, trainer or "")
            _import_dump(run_folder, DumpOptions(kind, column or (), validation, settings), out, dry_run=dry_run)
        except OutsideError:
            raise
        except OSError as error:
            raise RefusedError(str(error), Exit.FAILED) from None
        if out is None and not dry_run:
            _send(folder_for(run_folder), name or run_folder.resolve().stem, group, server)


def _refuse_dump_options(**given: object) -> None:
    for option, value in given.items():
        if value:
            remedy = "it describes the files of another trainer: say whose, by --from"
            raise ConfigError([ConfigProblem(f"--{option.replace('_', '-')}", value, remedy)])


def _import_dump(path: Path, options: DumpOptions, out: Path | None, *, dry_run: bool) -> None:
    dump = opened(path, options)
    if dry_run:
        show(dump, options.settings)
        return
    place = out or folder_for(path)
    result = written(dump, place, options.settings)
    describe_import(result)
    if out is not None:
        print(
            json.dumps(
                {
                    "folder": str(place),
                    "steps": result.last_step,
                    "new_steps": result.num_steps,
                    "new_evaluations": result.num_evaluations,
                    "understood": dict(result.understood),
                    "left_out": dict(result.left_out),
                }
            )
        )


def _send(run_folder: Path, name: str | None, group: str | None, server: Server) -> None:
    login = server.login()
    with _opened(run_folder) as folder:
        merge_left_over(folder)
        body = describe_folder(folder, name=name, group=group)
        with Client(login.url, token=login.token) as client:
            info = client.create_import(body)
            refuse_other_copy(client, info, folder)
            files = files_of(folder)
            is_hidden = not notes().is_terminal
            for file in track(files, description="sending", console=notes(), transient=True, disable=is_hidden):
                while file.send_next(client, info):
                    pass
            run = client.finish_import(info.run_id)
    print(json.dumps({"run_id": run.id, "status": run.status, "steps": run.step, "is_new": info.is_new}))


@contextmanager
def _opened(path: Path) -> Iterator[Path]:
    """Yield the run folder; an archive is unpacked temporarily."""
    if not path.is_file():
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            unpack(path, Path(folder))
        except ArchiveError as error:
            raise ConfigError([ConfigProblem("run folder", str(path), str(error))]) from None
        inside = list(Path(folder).iterdir())
        # The journal of a run lies in one folder with the run's name.
        yield inside[0] if len(inside) == 1 and inside[0].is_dir() else Path(folder)
