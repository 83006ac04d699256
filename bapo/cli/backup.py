"""`bapo backup` and `bapo restore`: a server's database and runs in one file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import psycopg
import typer

from bapo.analysis.number_format import counted
from bapo.cli.failures import Exit
from bapo.cli.output import JsonOption, print_answer
from bapo.deploy.backup.archive import BackupError, Manifest
from bapo.deploy.backup.embedded import Deployment, back_up, back_up_folder, restore_folder
from bapo.deploy.backup.embedded import restore as restore_deployment
from bapo.deploy.settings import with_password
from bapo.deploy.up.folder import StartError

DATABASE_VARIABLE = "BAPO_DATABASE_URL"
PASSWORD_VARIABLE = "BAPO_DATABASE_PASSWORD_FILE"  # noqa: S105 - its name
RUNS_VARIABLE = "BAPO_RUNS_DIR"
SECRET_VARIABLES = ("BAPO_ADMIN_TOKEN_FILE", "BAPO_WORKER_TOKEN_FILE")

FileArgument = Annotated[Path, typer.Argument(help="The backup file.")]
DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        help=f"Data folder of `bapo up`. Default: the server of ${DATABASE_VARIABLE} and ${RUNS_VARIABLE} if they "
        "are set, else bapo-data.",
    ),
]


@contextmanager
def _plain_errors() -> Iterator[None]:
    try:
        yield
    except (BackupError, StartError, OSError, psycopg.Error) as error:
        print(f"bapo: {str(error).strip()}", file=sys.stderr)
        raise SystemExit(Exit.FAILED) from None


def _services() -> Deployment | None:
    url, runs_dir = os.environ.get(DATABASE_VARIABLE), os.environ.get(RUNS_VARIABLE)
    if not url or not runs_dir:
        return None
    secret = os.environ.get(PASSWORD_VARIABLE)
    try:
        url = with_password(url, Path(secret) if secret else None)
    except ValueError as error:
        raise BackupError(f"{DATABASE_VARIABLE}: {error}") from None
    secrets = tuple(Path(os.environ[name]) for name in SECRET_VARIABLES if os.environ.get(name))
    return Deployment(url, Path(runs_dir), secrets)


def backup(file: FileArgument, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Write the database, runs and tokens of a running server into one file. Protect it: it holds the tokens."""
    _tell(_manifest(back_up, back_up_folder, file, data), file, "wrote", as_json=as_json)


def restore(file: FileArgument, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Restore a backup into an empty server. Runs that were training resume from their last checkpoint."""
    _tell(_manifest(restore_deployment, restore_folder, file, data), file, "restored", as_json=as_json)


def _manifest(
    of_services: Callable[[Deployment, Path], Manifest],
    of_folder: Callable[[Path, Path], Manifest],
    file: Path,
    data: Path | None,
) -> Manifest:
    """Run the action on the selected server: that of the environment, or that of a data folder."""
    place = file.expanduser().resolve()
    with _plain_errors():
        services = None if data is not None else _services()
        if services is not None:
            return of_services(services, place)
        return of_folder(data or Path("bapo-data"), place)


def _tell(manifest: Manifest, file: Path, done: str, *, as_json: bool) -> None:
    size = sum(member.size for member in manifest.members)
    facts = {
        "file": str(file),
        "done": done,
        "num_runs": manifest.num_runs,
        "num_files": len(manifest.members),
        "num_bytes": size,
        "revision": manifest.revision,
        "created_at": manifest.created_at,
    }
    line = (
        f"bapo: {done} {file}: {counted(manifest.num_runs, 'run')}, {counted(len(manifest.members), 'file')}, "
        f"{size / 1e6:.1f} MB, schema {manifest.revision}, of {manifest.created_at:%Y-%m-%d %H:%M} UTC"
    )
    print_answer(facts, line, as_json=as_json)
