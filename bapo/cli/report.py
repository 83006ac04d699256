"""`bapo report`: the paper's figures and tables of runs in one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bapo.analysis.number_format import counted
from bapo.cli.failures import RefusedError, plain_errors


def report(
    run_folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Run folders of `bapo train`.")],
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("report.html"),
    group: Annotated[
        str, typer.Option(help="Group by config, method, run, or a config field such as method.c1.")
    ] = "config",
    title: Annotated[str | None, typer.Option(help="Heading of the report.")] = None,
) -> None:
    """Write the paper's figures and tables of the runs into one HTML file that opens without a server or network."""
    from bapo.figures.recorded import load_run  # noqa: PLC0415  (Plotly takes a second to import)
    from bapo.report.contents import selection_of  # noqa: PLC0415
    from bapo.report.document import TITLE  # noqa: PLC0415
    from bapo.report.document import report as document  # noqa: PLC0415
    from bapo.report.findings import findings_of  # noqa: PLC0415

    with plain_errors():
        runs = [load_run(folder) for folder in run_folders]
        findings = {run.name: findings_of(folder) for run, folder in zip(runs, run_folders, strict=True)}
        try:
            selection = selection_of(runs, group)
        except ValueError as error:
            raise RefusedError(str(error)) from None
    content = document(selection, title=title or TITLE, findings=findings)
    out.write_bytes(content)
    print(f"{out}: {counted(len(runs), 'run')}, {len(content) / 1e6:.1f} MB")
