"""`bapo login`, `logout`, `whoami`: which server, and as whom."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from bapo.cli.complete import complete_servers
from bapo.cli.connection import ServerOption, TokenFileOption, TokenOption, login_of
from bapo.cli.failures import RefusedError, plain_errors
from bapo.cli.output import JsonOption, print_json, print_table, say, table, user_text
from bapo.client import Client
from bapo.servers import (
    LOCAL_SERVER,
    SavedServers,
    ServerLogin,
    is_open_to_eavesdroppers,
    normal_address,
    read_servers,
    servers_file,
    write_servers,
)


def login(
    server: Annotated[
        str | None,
        typer.Argument(metavar="[SERVER]", help=f"Address, or the name of a saved server. Default: {LOCAL_SERVER}."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="What to call it: `--server NAME` then means it. Default: its host.")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", metavar="FILE", help="File with a token; - reads standard input.")
    ] = None,
) -> None:
    """Log in to a server; the commands that follow use it.

    Asks for an API token. It is kept in your own config folder, in a file that only you can read.

    [bold]bapo login https://bapo.example.org --name team[/bold]

    [bold]bapo login team[/bold]   (again, also to make it the one that is used)
    """
    with plain_errors():
        saved = read_saved()
        known = None if server is None else saved.named(server)
        url = known[1].url if known else normal_address(server or LOCAL_SERVER)
        if is_open_to_eavesdroppers(url):
            say(f"warning: {url} is not encrypted: whoever is on the way can read the token")
        token = _token(url, token_file)
        with Client(url, token=token) as client:
            user = client.me()
        label = name or (known[0] if known else urlsplit(url).netloc)
        write_servers(saved.with_login(label, ServerLogin(url, token, user.name)))
    print(f"logged in to {url} as {user.name} ({user.role}), saved as {label!r}")


def _token(url: str, token_file: Path | None) -> str:
    if token_file is None:
        if not sys.stdin.isatty():
            raise RefusedError("nobody can be asked for a token here: give --token-file FILE, or - for standard input")
        token = typer.prompt(f"API token for {url}", hide_input=True, err=True)
        return str(token).strip()
    try:
        return (sys.stdin.read() if str(token_file) == "-" else token_file.read_text()).strip()
    except OSError as error:
        raise RefusedError(f"--token-file: {error}") from None


def read_saved() -> SavedServers:
    """What is saved. Raises RefusedError where the file is damaged."""
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
) -> None:
    """Forget a server and its token on this machine. The token itself stays valid."""
    with plain_errors():
        saved = read_saved()
        wanted = server or saved.default
        known = None if wanted is None else saved.named(wanted)
        if known is None:
            raise RefusedError(f"no server is saved{f' as {server!r}' if server else ''}: nothing to forget")
        write_servers(saved.without(known[0]))
    print(f"forgot {known[0]!r} ({known[1].url})")


def whoami(
    server: ServerOption = None,
    token: TokenOption = None,
    token_file: TokenFileOption = None,
    all_servers: Annotated[bool, typer.Option("--all", help="List the saved servers; asks none of them.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Say which server the commands use, and as whom."""
    with plain_errors():
        saved = read_saved()
        if all_servers:
            _list(saved, as_json=as_json)
            return
        found = login_of(server, token, token_file)
        with Client(found.url, token=found.token) as client:
            user = client.me()
        if as_json:
            print_json({"server": found.url, "user": user.model_dump(mode="json")})
        else:
            print(f"{user.name} ({user.role}) at {found.url}")


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
