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
from bapo.deploy.doctor import checks
from bapo.deploy.doctor.check_result import CheckResult, Grade, exit_status, failure

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
    findings: list[CheckResult]


@with_option_sets
def doctor(
    at: Server,
    data: Annotated[Path, typer.Option(help="Data folder of `bapo up`.")] = Path("bapo-data"),
    only_local: Annotated[bool, typer.Option("--local", help="Check only this machine.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Check this machine and a server, and suggest remedies. Exits with status 1 if a check fails."""
    results = list(checks.local(data))
    if not only_local:
        try:
            login = at.login()
            results += checks.server(login.url, login.token)
        except RefusedError as error:
            if at.server is None:
                results.append(CheckResult(check="server", grade=Grade.SKIPPED, message=str(error)))
            else:
                results += _without_login(at.server)
    status = exit_status(results)
    if as_json:
        print_json(Report(healthy=status == 0, findings=results))
    else:
        _print(results)
    raise SystemExit(status)


def _without_login(server: str) -> Iterable[CheckResult]:
    try:
        return checks.server(normal_address(server), None)
    except AddressError as error:
        return [failure("server", str(error), "give its address with --server")]


def _print(results: list[CheckResult]) -> None:
    width = max(len(result.check) for result in results)
    for result in results:
        style = _STYLES[result.grade]
        console().print(f"{result.grade.value:8} {result.check:{width}}  {result.message}", style=style)
        if result.remedy is not None:
            console().print(f"{'':8} {'':{width}}  → {result.remedy}")
    wrong = sum(result.grade is Grade.FAILURE for result in results)
    warnings = sum(result.grade is Grade.WARNING for result in results)
    console().print(f"{wrong} failures, {warnings} warnings, {len(results)} checks")
