"""Draws a run's report in a separate process, so that a drawing that hangs or dies takes nothing else with it."""

from __future__ import annotations

from pathlib import Path

from bapo.isolation.function import CallFailedError, IsolatedFunction
from bapo.isolation.limits import Limits
from bapo.run.artifacts import ArtifactError

REPORT_SECONDS = 600.0


def draw_report(run_folder: Path, out: Path) -> None:
    """Write the report of the run in the folder. Raises ArtifactError with the reason where it cannot be drawn."""
    try:
        with IsolatedFunction(write_report, Limits(), seconds=REPORT_SECONDS) as draw:
            draw(run_folder, out)
    except CallFailedError as error:
        raise ArtifactError(f"the report cannot be drawn: {error}") from None


def write_report(run_folder: Path, out: Path) -> None:
    """Write the report of the run in the folder. Raises ValueError or OSError where the folder cannot be read."""
    # Only its own process draws: a worker does without Plotly and pandas.
    from bapo.figures.recorded import load_run  # noqa: PLC0415
    from bapo.report.contents import selection_of  # noqa: PLC0415
    from bapo.report.document import TITLE, report  # noqa: PLC0415
    from bapo.report.findings import findings_of  # noqa: PLC0415

    runs = [load_run(run_folder)]
    findings = {runs[0].name: findings_of(run_folder)}
    out.write_bytes(report(selection_of(runs, "config"), title=TITLE, findings=findings))
