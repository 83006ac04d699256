"""`python -m bapo.report RUN_FOLDER OUT` writes one run's report."""

from __future__ import annotations

import sys
from pathlib import Path

from bapo.figures.recorded import load_run
from bapo.report.contents import selection_of
from bapo.report.document import TITLE, report
from bapo.report.findings import findings_of


def main() -> None:
    """Write the report of the run folder into the file; exits with the reason where the folder cannot be read."""
    run_folder, out = map(Path, sys.argv[1:])
    try:
        runs = [load_run(run_folder)]
        findings = {runs[0].name: findings_of(run_folder)}
    except (ValueError, OSError) as error:
        sys.exit(str(error))
    out.write_bytes(report(selection_of(runs, "config"), title=TITLE, findings=findings))


if __name__ == "__main__":
    main()
