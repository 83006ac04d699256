"""`bapo doctor`: checks a deployment and suggests remedies."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel

from bapo.cli.connection import Server
from bapo.cli.failures import RefusedError
from bapo.cli.option_sets import with_option_sets
from bapo.cli.output import JsonOption, console, print_json
from bapo.client.servers import AddressError, normal_address
from bapo.deploy.doctor import probes
from bapo.deploy.doctor.findings import Finding, Grade, exit_status, failure

_STYLES = {
    Grade.OK: "green",
    Grade.NOTE: "dim",
    Grade.WARNING: "yellow",
    Grade.FAILURE: "red",
    Grade.SKIPPED: "dim",
}


class Report(BaseModel):
    """The output of `--json`."""

    healthy: bool
    findings: list[Finding]


@with_option_sets
def doctor(
    at: Server,
    data: Annotated[Path, typer.Option(help="Data folder of `bapo up`.")] = Path("bapo-data"),
    only_local: Annotated[bool, typer.Option("--local", help="Check only this machine.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Check this machine and a server, and suggest remedies. Exits with status 1 if a check fails."""
    findings = list(probes.local(data))
    if not only_local:
        try:
            login = at.login()
            findings += probes.server(login.url, login.token)
        except RefusedError as error:
            if at.server is None:
                findings.append(Finding(check="server", grade=Grade.SKIPPED, message=str(error)))
            else:
                findings += _without_login(at.server)
    status = exit_status(findings)
    if as_json:
        print_json(Report(healthy=status == 0, findings=findings))
    else:
        _print(findings)
    raise SystemExit(status)


def _without_login(server: str) -> Iterable[Finding]:
    try:
        return probes.server(normal_address(server), None)
    except AddressError as error:
        return [failure("server", str(error), "give its address with --server")]


def _print(findings: list[Finding]) -> None:
    width = max(len(finding.check) for finding in findings)
    for finding in findings:
        style = _STYLES[finding.grade]
        console().print(f"{finding.grade.value:8} {finding.check:{width}}  {finding.message}", style=style)
        if finding.remedy is not None:
            console().print(f"{'':8} {'':{width}}  → {finding.remedy}")
    wrong = sum(finding.grade is Grade.FAILURE for finding in findings)
    warnings = sum(finding.grade is Grade.WARNING for finding in findings)
    console().print(f"{wrong} failures, {warnings} warnings, {len(findings)} checks")
