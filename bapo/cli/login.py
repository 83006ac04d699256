"""`bapo login`, `logout` and `whoami`: saved servers."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Annotated

import typer

from bapo.api.accounts import Login, TokenCreate
from bapo.cli.complete import complete_servers
from bapo.cli.connection import Server
from bapo.cli.failures import RefusedError, plain_errors
from bapo.cli.option_sets import with_option_sets
from bapo.cli.output import JsonOption, print_answer, print_json, print_table, say, table, user_text
from bapo.cli.tokens import ScopeName
from bapo.client import Client
from bapo.client.servers import (
    SavedServers,
    ServerLogin,
    is_open_to_eavesdroppers,
    local_server,
    normal_address,
    read_servers,
    servers_file,
    write_servers,
)


def login(
    server: Annotated[
        str | None,
        typer.Argument(
            metavar="[SERVER]", help="Address or saved name of the server. Default: `bapo up` of this folder."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Name to save it under, for `--server NAME`. Default: its host.")
    ] = None,
    user: Annotated[str | None, typer.Option("--user", help="User name to log in with; creates a token.")] = None,
    password_file: Annotated[
        Path | None,
        typer.Option("--password-file", metavar="FILE", help="File with the password; - reads standard input."),
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", metavar="FILE", help="File with a token; - reads standard input.")
    ] = None,
    scopes: Annotated[
        list[ScopeName] | None,
        typer.Option(
            "--scope", help="Scope of the created token: read, write or admin; repeatable. Default: read and write."
        ),
    ] = None,
    days: Annotated[int, typer.Option(min=0, help="Days until the created token expires; 0: never.")] = 90,
    as_json: JsonOption = False,
) -> None:
    """Log in to a server, which later commands then use.

    Asks for your name and password to create a token, or takes a token. The token is saved in your config folder, in a
    file that only you can read; the password is not saved.

    [bold]bapo login https://bapo.example.org --name team[/bold]

    [bold]bapo login team[/bold]   (log in again, or switch to this server)
    """
    with plain_errors():
        saved = read_saved()
        known = None if server is None else saved.named(server)
        url = known[1].url if known else normal_address(server or local_server())
        if is_open_to_eavesdroppers(url):
            say(f"warning: {url} is not encrypted: others on the network can read your credentials")
        if token_file is None and user is None and sys.stdin.isatty():
            user = str(typer.prompt("Name (empty: log in with a token)", default="", show_default=False, err=True))
        if user and token_file is None:
            password = _secret("password", f"Password of {user}", password_file)
            token = _made_token(url, user, password, [each.value for each in scopes or DEFAULT_SCOPES], days)
        else:
            token = _secret("token", f"API token for {url}", token_file)
        with Client(url, token=token) as client:
            me = client.me()
        label = name or (known[0] if known else url.partition("://")[2])
        write_servers(saved.with_login(label, ServerLogin(url, token, me.name)))
    line = f"logged in to {url} as {me.name} ({me.role}), saved as {label!r}"
    print_answer({"server": url, "name": label, "user": me.model_dump(mode="json")}, line, as_json=as_json)


DEFAULT_SCOPES = (ScopeName.READ, ScopeName.WRITE)


def _secret(what: str, question: str, path: Path | None) -> str:
    if path is None:
        if not sys.stdin.isatty():
            raise RefusedError(f"no terminal to ask for a {what}: give --{what}-file FILE, or - for standard input")
        return str(typer.prompt(question, hide_input=True, err=True)).strip()
    try:
        return (sys.stdin.read() if str(path) == "-" else path.read_text()).strip()
    except OSError as error:
        raise RefusedError(f"--{what}-file: {error}") from None


def _made_token(url: str, user: str, password: str, scopes: list[str], days: int) -> str:
    with Client(url) as stranger:
        _, session = stranger.login(Login(name=user, password=password))
    # The session serves to make the token, and ends.
    with Client(url, cookie=session) as client:
        name = f"bapo on {socket.gethostname()}"[:100]
        body = {"name": name, "scopes": scopes, "expires_in_days": days or None}
        made = client.create_token(TokenCreate.model_validate(body))
        client.logout()
    return made.secret


def read_saved() -> SavedServers:
    """Read the saved servers. Raises RefusedError if the file is damaged."""
    try:
        return read_servers()
    except ValueError as error:
        raise RefusedError(str(error)) from None


def logout(
    server: Annotated[
        str | None,
        typer.Argument(
            metavar="[SERVER]", help="Name or address. Default: the one in use.", autocompletion=complete_servers
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Remove a saved login from this machine. Its token stays valid."""
    with plain_errors():
        saved = read_saved()
        wanted = server or saved.default
        known = None if wanted is None else saved.named(wanted)
        if known is None:
            raise RefusedError(f"no server is saved{f' as {server!r}' if server else ''}: nothing to forget")
        write_servers(saved.without(known[0]))
    line = f"forgot {known[0]!r} ({known[1].url})"
    print_answer({"server": known[1].url, "name": known[0], "done": "forgotten"}, line, as_json=as_json)


@with_option_sets
def whoami(
    server: Server,
    all_servers: Annotated[bool, typer.Option("--all", help="List the saved servers without contacting them.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show which server and user the commands use."""
    with plain_errors():
        saved = read_saved()
        if all_servers:
            _list(saved, as_json=as_json)
            return
        found = server.login()
        with Client(found.url, token=found.token) as client:
            user = client.me()
        body = {"server": found.url, "user": user.model_dump(mode="json")}
        print_answer(body, f"{user.name} ({user.role}) at {found.url}", as_json=as_json)


def _list(saved: SavedServers, *, as_json: bool) -> None:
    rows = [
        {"name": name, "server": login.url, "user": login.user, "is_default": name == saved.default}
        for name, login in saved.servers.items()
    ]
    if as_json:
        print_json({"items": rows})
    elif not rows:
        say(f"no server is saved in {servers_file()}: run `bapo login ADDRESS`")
    else:
        made = table("", "name", "server", "user")
        for row in rows:
            made.add_row(
                "*" if row["is_default"] else "",
                *(user_text(str(row[key] or "")) for key in ("name", "server", "user")),
            )
        print_table(made)
