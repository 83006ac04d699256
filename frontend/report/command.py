"""`python -m frontend report`: run folders as one HTML file, without any server."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from bapo.cli.failures import Exit, plain_errors
from frontend.figures.recorded import load_run
from frontend.report.contents import selection_of
from frontend.report.document import TITLE, report


def write_report(folders: Sequence[Path], out: Path, *, by: str, title: str | None) -> None:
    """Write the file and say how large it is; what is wrong with a folder ends the program with a message."""
    with plain_errors():
        runs = [load_run(folder) for folder in folders]
    try:
        selection = selection_of(runs, by)
    except ValueError as error:
        print(error, file=sys.stderr)
        raise SystemExit(Exit.BAD_INPUT) from None
    content = report(selection, title=title or TITLE)
    out.write_bytes(content)
    print(f"{out}: {len(runs)} runs, {len(content) / 1e6:.1f} MB")
