"""The connection to the server: the three options of every online command, and the client they give."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec

import typer

from bapo.cli.failures import Exit, RefusedError, plain_errors
from bapo.client import SCRIPT_RETRIES, Client
from bapo.client.servers import SERVER_VARIABLE, TOKEN_VARIABLE, ServerLogin, find_server

P = ParamSpec("P")

PANEL = "Server"
ServerOption = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="SERVER",
        rich_help_panel=PANEL,
        help=f"Address or saved name of the server. Default: ${SERVER_VARIABLE}, else the last `bapo login`, else "
        "this machine.",
    ),
]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token",
        rich_help_panel=PANEL,
        help=f"API token. Default: ${TOKEN_VARIABLE}, else the saved one. Prefer the variable or a file: other users "
        "of this machine can read arguments.",
    ),
]
TokenFileOption = Annotated[
    Path | None, typer.Option("--token-file", metavar="FILE", rich_help_panel=PANEL, help="File with the token.")
]


def login_of(server: str | None, token: str | None, token_file: Path | None) -> ServerLogin:
    """Address and token of the server. Raises RefusedError where there is no token."""
    try:
        if token_file is not None:
            token = token_file.read_text().strip()
        return find_server(server, token)
    except (ValueError, OSError) as error:
        raise RefusedError(str(error), Exit.NOT_LOGGED_IN) from None


@contextmanager
def connected(server: str | None, token: str | None, token_file: Path | None) -> Iterator[Client]:
    """A client of the server that the options name."""
    found = login_of(server, token, token_file)
    with Client(found.url, token=found.token, retries=SCRIPT_RETRIES) as client:
        yield client


def _options(server: ServerOption = None, token: TokenOption = None, token_file: TokenFileOption = None) -> None:
    """Carries the three options' declarations."""


def online(command: Callable[Concatenate[Client, P], None]) -> Callable[..., None]:
    """Make a command of a function that takes a client first: it gains `--server`, `--token`, `--token-file`."""
    parameters = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    options = inspect.signature(_options, eval_str=True).parameters.values()

    @functools.wraps(command)
    def connected_command(*, server: str | None, token: str | None, token_file: Path | None, **given: Any) -> None:
        with plain_errors(), connected(server, token, token_file) as client:
            command(client, **given)  # type: ignore[call-arg] # what was declared is what Typer gives

    shown = inspect.Signature([each.replace(kind=each.KEYWORD_ONLY) for each in (*parameters, *options)])
    connected_command.__signature__ = shown  # type: ignore[attr-defined]
    connected_command.__annotations__ = {each.name: each.annotation for each in shown.parameters.values()}
    return connected_command
