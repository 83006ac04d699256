"""The columns of the run list: content, order on the server, and the window width from which they are shown."""

from __future__ import annotations

from typing import Any, NamedTuple


class Column(NamedTuple):
    """One column; its name is the server's sort key where it can be sorted by."""

    name: str
    title: str
    width: int
    cell: str | None = None
    """The cell's renderer in assets/runs_cells.js; else the row's `<name>_text` is shown."""
    is_number: bool = False
    is_sortable: bool = True
    needed_width: int | None = 0
    """Least width of the window, in pixels, where the column is shown unasked; None: only when chosen."""
    explanation: str | None = None


COLUMNS: tuple[Column, ...] = (
    Column("starred", "Starred", 44, "StarCell", is_sortable=False, needed_width=600),
    Column("status", "Status", 112, "StatusCell"),
    Column("name", "Name", 220, "NameCell"),
    Column("tags", "Tags", 130, "TagsCell", is_sortable=False, needed_width=1860),
    Column("method", "Method", 114, needed_width=810),
    Column("progress", "Progress", 110, "ProgressCell", needed_width=700),
    Column(
        "reward_mean",
        "Reward",
        84,
        is_number=True,
        needed_width=1090,
        explanation="Training reward: mean over the fresh rollouts of the last ten steps",
    ),
    Column(
        "eval_latest",
        "Test accuracy",
        172,
        "EvaluationCell",
        needed_width=600,
        explanation="First evaluation → latest, with the change in percentage points",
    ),
    Column(
        "eval_best", "Best", 84, is_number=True, needed_width=1280, explanation="Best evaluation of the same test set"
    ),
    Column(
        "findings",
        "Findings",
        92,
        "FindingsCell",
        is_number=True,
        is_sortable=False,
        needed_width=1380,
        explanation="Problems with the data, in the colour of the most severe: problem, warning or note",
    ),
    Column(
        "trend",
        "Trend",
        104,
        "TrendCell",
        is_sortable=False,
        needed_width=1530,
        explanation="Training reward over the steps so far, each run on its own scale",
    ),
    Column("num_rollouts", "Rollouts", 98, is_number=True, needed_width=None),
    Column("owner", "Owner", 88, needed_width=1950),
    Column("started_at", "Started", 136, "TimeCell", needed_width=1200),
    Column("duration", "Duration", 96, is_number=True, needed_width=1620),
    Column(
        "compute_hours",
        "Compute",
        108,
        is_number=True,
        needed_width=1730,
        explanation="Time of all attempts times their GPUs, in GPU-hours; without a GPU, slot-hours",
    ),
    Column(
        "cost",
        "Cost",
        104,
        is_number=True,
        is_sortable=False,
        needed_width=None,
        explanation="Compute hours at the deployment's prices",
    ),
    Column(
        "storage_bytes",
        "Size",
        92,
        is_number=True,
        is_sortable=False,
        needed_width=None,
        explanation="Folder with checkpoints, and records, when last measured",
    ),
    Column("group", "Group", 130, needed_width=None),
    Column("project", "Project", 120, needed_width=None),
    Column("notes", "Notes", 220, "NotesCell", is_sortable=False, needed_width=None),
    Column("recipe", "Recipe", 140, needed_width=None),
    Column("created_at", "Created", 128, "TimeCell", needed_width=None),
    Column("finished_at", "Finished", 128, "TimeCell", needed_width=None),
    Column("trashed_at", "Deleted", 128, "TimeCell", needed_width=None, explanation="Moved to the trash"),
    Column("trashed_by", "Deleted by", 110, is_sortable=False, needed_width=None),
    Column("attempt", "Attempts", 92, is_number=True, needed_width=None),
    Column("id", "Identifier", 120, needed_width=None),
)


def definition(column: Column) -> dict[str, Any]:
    """Return the column as AG Grid takes it; hidden until the browser has measured the window."""
    content: dict[str, Any] = {
        "colId": column.name,
        "headerName": column.title,
        "headerTooltip": column.explanation or column.title,
        "width": column.width,
        "minWidth": min(column.width, 60),
        "sortable": column.is_sortable,
        # Each that is shown is drawn once.
        "hide": column.name != "name",
        # Only what changed is redrawn.
        "valueGetter": {"function": f"params.data && params.data.{column.name}_text"},
    }
    if column.name == "name":
        content |= {"flex": 1, "minWidth": 120}
    if column.name == "starred":
        content |= {"headerClass": "icon-head", "resizable": False, "cellClass": "runs-star-cell"}
    if column.is_number:
        content["type"] = "rightAligned"
    if column.cell is not None:
        content["cellRenderer"] = column.cell
    return content


NEEDED_WIDTHS: dict[str, int | None] = {column.name: column.needed_width for column in COLUMNS}
TITLES: dict[str, str] = {column.name: column.title for column in COLUMNS}
SORTABLE: list[str] = [column.name for column in COLUMNS if column.is_sortable]
