"""`bapo boards`: charts and texts of a project that follow its runs; as files in and out, by link, as one HTML file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from bapo.analysis.number_format import counted
from bapo.api.boards import (
    AS_THE_PAPER,
    BoardChange,
    BoardCreate,
    BoardInfo,
    BoardLinkCreate,
    BoardLinkInfo,
    BoardLinkPage,
    BoardPage,
    BoardSummary,
    BoardWrite,
    PanelData,
    Template,
)
from bapo.cli.connection import Answer, answering, online
from bapo.cli.drafts import checked, object_in_file
from bapo.cli.lazy import group
from bapo.cli.listing import Listing, listed
from bapo.cli.output import JsonOption, print_json, say
from bapo.cli.streams import data_output
from bapo.client import Client

app = group("Charts and texts that follow runs; share and export them.")

T = TypeVar("T", bound=BoardWrite)

BoardArgument = Annotated[str, typer.Argument(metavar="BOARD", help="ID of the board.")]

BOARDS = Listing[BoardSummary](
    {
        "id": lambda board: board.id,
        "name": lambda board: board.name,
        "project": lambda board: board.project,
        "panels": lambda board: board.num_panels,
        "links": lambda board: board.num_links,
        "changed": lambda board: board.updated_at,
        "by": lambda board: board.updated_by,
    },
    cut=("name",),
    empty="no board yet: make one with `bapo boards make`",
)
LINKS = Listing[BoardLinkInfo](
    {
        "id": lambda link: link.id,
        "link": lambda link: f"{link.prefix}…",
        "by": lambda link: link.author,
        "expires": lambda link: f"{link.expires_at:%Y-%m-%d %H:%M} UTC",
        "revoked": lambda link: link.revoked_at,
        "opened": lambda link: link.last_opened_at,
    },
    empty="no link yet: make one with `bapo boards share`",
)


@app.command("list")
@listed(BOARDS)
def list_boards(client: Client) -> BoardPage:
    """List the boards of your projects by name."""
    return client.boards()


@app.command("show")
@online
def show(
    client: Client,
    board: BoardArgument,
    definition: Annotated[
        bool, typer.Option("--definition", help="Print what `bapo boards make` reads, as JSON.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a board: its panels, and its texts with their numbers.

    [bold]bapo boards show BOARD --definition > board.json[/bold]
    """
    found = client.board(board)
    if as_json:
        print_json(found)
    elif definition:
        print(json.dumps(_definition(found), indent=2, ensure_ascii=False), file=data_output())
    else:
        say(f"{found.name} ({found.project}), version {found.version} by {found.updated_by}")
        for panel in found.panels:
            print(_line(panel.id, panel.kind, client.board_panel(board, panel.id)))


def _definition(board: BoardInfo) -> dict[str, Any]:
    content = {"name": board.name, "filters": board.filters, "panels": board.panels}
    written = BoardWrite.model_validate(content).model_dump(mode="json", exclude_defaults=True)
    kinds = [{"kind": panel.kind} for panel in board.panels]
    return {**written, "panels": [kind | panel for kind, panel in zip(kinds, written.get("panels", []), strict=True)]}


def _line(panel_id: str, kind: str, data: PanelData) -> str:
    if data.text is not None:
        return "\n".join([data.text.text, *(f"! {problem}" for problem in data.text.problems)])
    if data.problem is not None:
        return f"[{panel_id}] {kind}: {data.problem}"
    shown = data.chart or data.paper
    if shown is None:
        return f"[{panel_id}] {kind}"
    what = counted(len(data.chart.curves), "curve") if data.chart is not None else "the paper's figures"
    return f"[{panel_id}] {kind}: {what} of {shown.num_shown} of {counted(shown.num_matching, 'run')}"


@app.command("make")
@answering
def make(
    client: Client,
    source: Annotated[
        Path | None, typer.Argument(help="A .toml or .json file: `name`, `filters`, `panels`.", show_default=False)
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the board; before that in the file.")] = None,
    project: Annotated[str | None, typer.Option(help="Project whose runs it shows.")] = None,
    as_the_paper: Annotated[
        bool, typer.Option("--as-the-paper", help="Begin with the paper's figures of these runs.")
    ] = False,
    where: Annotated[
        list[str] | None, typer.Option(help="Condition on the board's runs, such as 'method = bapo'; repeatable.")
    ] = None,
    replace: Annotated[
        str | None, typer.Option(metavar="BOARD", help="Save it as the next version of this board instead.")
    ] = None,
) -> Answer:
    """Make a board from a file, or begin an empty one.

    [bold]bapo boards make --name "Paper" --as-the-paper --where "group = sweep-3"[/bold]
    """
    content = {} if source is None else object_in_file(source, "name and panels")
    if name is not None:
        content["name"] = name
    if replace is not None:
        version = client.board(replace).version
        saved = client.replace_board(replace, _board(BoardChange, {**content, "version": version}, where))
        return saved, f"board {saved.id}: version {saved.version}"
    template: Template | None = AS_THE_PAPER if as_the_paper else None
    made = client.create_board(_board(BoardCreate, {**content, "project": project, "template": template}, where))
    return made, f"board {made.id}: {counted(made.num_panels, 'panel')}"


def _board(model: type[T], content: dict[str, Any], where: Sequence[str] | None) -> T:
    board = checked(model, content)
    if where:
        board.filters = board.filters.model_copy(update={"where": [*board.filters.where, *where]})
    return board


@app.command("delete")
@answering
def delete(client: Client, board: BoardArgument) -> Answer:
    """Delete a board and its links permanently. Its runs are not affected."""
    found = client.board(board)
    client.delete_board(board)
    return found, f"{found.name}: deleted"


@app.command("share")
@answering
def share(
    client: Client,
    board: BoardArgument,
    days: Annotated[int, typer.Option(min=1, max=365, help="Days until the link expires.")] = 30,
) -> Answer:
    """Make a read-only link, which opens the board without a login. It is printed only now."""
    made = client.share_board(board, BoardLinkCreate(expires_in_days=days))
    return (
        made,
        f"{made.address}\nexpires {made.expires_at:%Y-%m-%d %H:%M} UTC; revoke: bapo boards revoke {board} {made.id}",
    )


@app.command("links")
@listed(LINKS)
def links(client: Client, board: BoardArgument) -> BoardLinkPage:
    """List the read-only links of a board."""
    return client.board_links(board)


@app.command("revoke")
@answering
def revoke(
    client: Client, board: BoardArgument, link: Annotated[str, typer.Argument(help="ID of the link.")]
) -> Answer:
    """End a read-only link at once."""
    ended = client.revoke_board_link(board, link)
    return ended, f"link {ended.prefix}…: revoked"


@app.command("export")
@online
def export(
    client: Client,
    board: BoardArgument,
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("board.html"),
) -> None:
    """Write a board as one HTML file, which opens anywhere without a network."""
    # Plotly and SciPy take seconds to load.
    from bapo.report.board import Shown, board_document, needs_both  # noqa: PLC0415

    found = client.board(board)
    shown = {}
    for panel in found.panels:
        light = client.board_panel(board, panel.id, scheme="light")
        shown[panel.id] = Shown(
            light, client.board_panel(board, panel.id, scheme="dark") if needs_both(panel) else light
        )
    out.write_bytes(board_document(found.name, found.panels, shown))
    say(f"{out}: {counted(len(found.panels), 'panel')}, {out.stat().st_size / 1e6:.1f} MB")
