"""Shell completion: runs from the server, recipes and fields from this installation.

Uses only the standard library and a short timeout: a shell that waits for a server is worse than one that completes
nothing.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterable, Sequence
from enum import StrEnum
from http.client import HTTPException
from typing import Annotated, Any
from urllib.parse import urlencode, urlsplit

import typer
from typer._completion_shared import get_completion_script

from bapo.client.servers import find_server, is_loopback, read_servers

PATIENCE_SECONDS = 1.0
MAX_WORDS = 50

Words = list[tuple[str, str]]
"""Each with its description."""


def complete_runs(incomplete: str) -> Words:
    """Complete ids of runs, or their names if these match; newest first."""
    found = _ask("/runs", search=incomplete, limit=MAX_WORDS)
    runs: Sequence[dict[str, Any]] = found.get("items", ())
    by_id = [(run["id"], f"{run['status']}: {run['name']}") for run in runs if run["id"].startswith(incomplete)]
    if by_id:
        return by_id
    # A shell cannot be given a name with blanks.
    return [(run["name"], run["status"]) for run in runs if incomplete and _is_one_word(run["name"], incomplete)]


def _is_one_word(name: str, beginning: str) -> bool:
    return name.startswith(beginning) and not any(letter.isspace() or not letter.isprintable() for letter in name)


def complete_recipes(incomplete: str) -> Words:
    """Complete names of recipes: the server's, or the installed ones."""
    items = _ask("/recipes").get("items")
    if items is not None:
        return _beginning(incomplete, ((each["name"], each["title"]) for each in items))
    from bapo.config.recipes import shipped_recipes  # noqa: PLC0415 - reads files

    return _beginning(incomplete, ((each.name, each.title) for each in shipped_recipes()))


def complete_methods(incomplete: str) -> Words:
    """Complete types of methods."""
    from bapo.config.documentation import method_types  # noqa: PLC0415 - imports pydantic

    return _beginning(incomplete, ((each, "") for each in method_types()))


def complete_fields(incomplete: str) -> Words:
    """Complete `FIELD=`, and after the equals sign the values of a field with few."""
    from bapo.config.documentation import documentation  # noqa: PLC0415 - imports pydantic

    field, separator, _ = incomplete.partition("=")
    fields = documentation()
    if not separator:
        return _beginning(incomplete, ((f"{each.path}=", each.description) for each in fields))
    choices = [choice for each in fields if each.path == field for choice in each.choices]
    return _beginning(incomplete, ((f"{field}={choice}", "") for choice in choices))


def complete_metrics(incomplete: str) -> Words:
    """Complete names of metrics of the newest run."""
    before, comma, last = incomplete.rpartition(",")
    newest = _ask("/runs", limit=1).get("items", [])
    keys = _ask(f"/runs/{newest[0]['id']}/metric-keys").get("items", []) if newest else []
    return _beginning(incomplete, ((f"{before}{comma}{key}", "") for key in keys if key.startswith(last)))


def complete_servers(incomplete: str) -> Words:
    """Complete names of saved servers."""
    return _beginning(incomplete, ((name, login.url) for name, login in read_servers().servers.items()))


def complete_columns(incomplete: str) -> Words:
    """Complete columns of the run list, separated by commas."""
    from bapo.cli.run_table import RUNS  # noqa: PLC0415

    before, comma, last = incomplete.rpartition(",")
    return [(f"{before}{comma}{name}", "") for name in RUNS.columns if name.startswith(last)]


def _beginning(incomplete: str, words: Iterable[tuple[str, str]]) -> Words:
    return [(word, what) for word, what in words if word.startswith(incomplete)][:MAX_WORDS]


def _ask(path: str, **query: Any) -> dict[str, Any]:
    try:
        login = find_server()
        address = f"{login.url}/api/v1{path}" + (f"?{urlencode(query)}" if query else "")
        if not address.startswith(("http://", "https://")):
            return {}
        request = urllib.request.Request(address, headers={"Authorization": f"Bearer {login.token}"})  # noqa: S310
        # No proxy of the environment concerns a server on this machine.
        proxies: dict[str, str] | None = {} if is_loopback(urlsplit(address).hostname or "") else None
        opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies))
        with opener.open(request, timeout=PATIENCE_SECONDS) as answer:
            content: dict[str, Any] = json.load(answer)
            return content
    except (OSError, ValueError, HTTPException):
        # Nothing is completed; the command itself reports the error.
        return {}


VARIABLE = "_BAPO_COMPLETE"


class Shell(StrEnum):
    """Supported shells."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="The shell.")]) -> None:
    """Print a shell's completion script.

    bash: [bold]echo 'eval "$(bapo completion bash)"' >> ~/.bashrc[/bold]

    zsh: [bold]echo 'eval "$(bapo completion zsh)"' >> ~/.zshrc[/bold]

    fish: [bold]bapo completion fish > ~/.config/fish/completions/bapo.fish[/bold]
    """
    print(get_completion_script(prog_name="bapo", complete_var=VARIABLE, shell=shell))
