"""The connection to the server: the three options of every online command, and the client they give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec

import typer
from pydantic import BaseModel

from bapo.cli.failures import Exit, RefusedError, plain_errors
from bapo.cli.option_sets import option, parameters_of, with_option_sets, wrapper
from bapo.cli.output import JsonOption, print_answer
from bapo.client import SCRIPT_RETRIES, Client
from bapo.client.servers import SERVER_VARIABLE, TOKEN_VARIABLE, ServerLogin, find_server

P = ParamSpec("P")

PANEL = "Server"


@dataclass(frozen=True)
class Server:
    """Options that choose the server and the token."""

    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            metavar="SERVER",
            rich_help_panel=PANEL,
            help=f"Address or saved name of the server. Default: ${SERVER_VARIABLE}, else the last `bapo login`, else "
            "this machine.",
        ),
    ] = None
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            rich_help_panel=PANEL,
            help=f"API token. Default: ${TOKEN_VARIABLE}, else the saved one. Prefer the variable or a file: other "
            "users of this machine can read arguments.",
        ),
    ] = None
    token_file: Annotated[
        Path | None, typer.Option("--token-file", metavar="FILE", rich_help_panel=PANEL, help="File with the token.")
    ] = None

    def login(self) -> ServerLogin:
        """Return address and token of the server. Raises RefusedError without a token."""
        try:
            token = self.token if self.token_file is None else self.token_file.read_text().strip()
            return find_server(self.server, token)
        except (ValueError, OSError) as error:
            raise RefusedError(str(error), Exit.NOT_LOGGED_IN) from None

    @contextmanager
    def connected(self) -> Iterator[Client]:
        """Yield a client of the server."""
        found = self.login()
        with Client(found.url, token=found.token, retries=SCRIPT_RETRIES) as client:
            yield client


def online(command: Callable[Concatenate[Client, P], None]) -> Callable[..., None]:
    """Make a command of a function that takes a client first: it gains `--server`, `--token`, `--token-file`."""

    def connected_command(*, at: Server, **given: Any) -> None:
        with plain_errors(), at.connected() as client:
            command(client, **given)  # type: ignore[call-arg] # what was declared is what Typer gives

    shown = [*parameters_of(command)[1:], option("at", Server)]
    return with_option_sets(wrapper(connected_command, command, shown))


Answer = tuple[BaseModel | dict[str, Any], str]
"""The answer to a change: for programs, and as one line for people."""


def answering(command: Callable[Concatenate[Client, P], Answer]) -> Callable[..., None]:
    """Make a command of a function that changes something: it gains `--json` and the options of `online`."""

    def answering_command(client: Client, /, *, as_json: bool, **given: Any) -> None:
        print_answer(*command(client, **given), as_json=as_json)  # type: ignore[call-arg] # as above

    shown = [*parameters_of(command), option("as_json", JsonOption, default=False)]
    return online(wrapper(answering_command, command, shown))
