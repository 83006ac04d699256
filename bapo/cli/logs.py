"""`bapo logs`: the output of a run's trainer."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator
from typing import Annotated

import typer

from bapo.api.runs import TERMINAL_STATUSES
from bapo.cli.connection import online
from bapo.cli.output import clean
from bapo.cli.run_lookup import RunArgument, find_run
from bapo.cli.streams import data_output
from bapo.client import Client

POLL_SECONDS = 1.0


@online
def logs(
    client: Client,
    run: RunArgument,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print new lines until the run ends.")] = False,
    tail: Annotated[
        int | None, typer.Option("--tail", "-n", min=0, help="Only this many last lines. Default: all.")
    ] = None,
    grep: Annotated[
        str | None, typer.Option("--grep", metavar="PATTERN", help="Only lines that match this regular expression.")
    ] = None,
    ignore_case: Annotated[bool, typer.Option("--ignore-case", "-i", help="Ignore case in --grep.")] = False,
    attempt: Annotated[
        int | None, typer.Option("--attempt", min=1, help="Only the log of this attempt. Default: all.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help='Print each line as JSON: {"line": …}.')] = False,
) -> None:
    """Print a run's log.

    [bold]bapo logs kzx3 --follow[/bold]

    [bold]bapo logs kzx3 --grep "warning|error" -i[/bold]

    [bold]bapo logs kzx3 --attempt 1 --tail 50[/bold]   (how the first attempt ended)
    """
    try:
        pattern = None if grep is None else re.compile(grep, re.IGNORECASE if ignore_case else 0)
    except re.error as error:
        raise typer.BadParameter(f"not a regular expression: {error}", param_hint="--grep") from None
    run_id = find_run(client, run).id
    present = _Lines(client, run_id, attempt)
    lines = [line for line in present if pattern is None or pattern.search(line)]
    for line in lines if tail is None else lines[len(lines) - min(tail, len(lines)) :]:
        _print(line, as_json=as_json)
    while follow:
        # Asked before the log: what was printed until then is read below.
        is_over = client.run(run_id).status in TERMINAL_STATUSES
        for line in present:
            if pattern is None or pattern.search(line):
                _print(line, as_json=as_json)
        if is_over:
            follow = False
        else:
            time.sleep(POLL_SECONDS)
    if present.rest:
        _print(present.rest, as_json=as_json)


def _print(line: str, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"line": line}), flush=True)
    else:
        # A terminal obeys some characters, a file keeps all.
        is_terminal = sys.stdout.isatty()
        print(clean(line) if is_terminal else line, file=sys.stdout if is_terminal else data_output(), flush=True)


class _Lines:
    """Complete lines that were added since the last iteration."""

    def __init__(self, client: Client, run_id: str, attempt: int | None) -> None:
        self._client = client
        self._run_id = run_id
        self._attempt = attempt
        self._offset = 0
        self.rest = ""
        """The beginning of an incomplete line."""

    def __iter__(self) -> Iterator[str]:
        while True:
            chunk = self._client.log(self._run_id, offset=self._offset, attempt=self._attempt)
            if not chunk.text:
                return
            self._offset = chunk.next_offset
            *lines, self.rest = (self.rest + chunk.text).split("\n")
            yield from lines
