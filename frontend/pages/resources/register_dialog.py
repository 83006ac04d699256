"""The dialog that registers a file or folder under a name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import dash_mantine_components as dmc

from bapo.api.resources import ResourceFile, ResourceKind
from frontend.components.choices import choices, project_select
from frontend.components.dialogs import form_dialog


class KindText(NamedTuple):
    """Label of a kind, and the rule for its path."""

    title: str
    plural: str
    path_hint: str
    explanation: str


NO_ROOTS = (
    "This deployment permits no folder yet: an administrator sets BAPO_RESOURCE_ROOTS to the folders with data and "
    "models."
)

KINDS: Mapping[ResourceKind, KindText] = {
    "dataset": KindText(
        "Data set",
        "Data sets",
        "A .parquet or .jsonl file in a permitted folder",
        "Problems to train or test on: the columns prompt and answer (task.type file), or nums and target (countdown).",
    ),
    "model": KindText(
        "Model",
        "Models",
        "A folder in Hugging Face format in a permitted folder",
        "Base models: config.json, safetensors and tokenizer.",
    ),
    "verifier": KindText(
        "Verifier",
        "Verifiers",
        "A .py file in a permitted folder; only administrators can register one, because workers run it",
        "Your own reward: a Python function of the problem and the response that returns 1 or 0.",
    ),
}


def register_dialog(roots: Sequence[str], projects: Sequence[str]) -> dmc.Modal:
    """Return the dialog: kind, file, name and description, which the server checks."""
    permitted = f"Permitted folders: {', '.join(roots)}" if roots else NO_ROOTS
    fields = (
        dmc.SegmentedControl(
            id="resource-kind",
            value="dataset",
            data=choices((kind, text.title) for kind, text in KINDS.items()),
            fullWidth=True,
        ),
        dmc.Autocomplete(
            id="resource-path",
            label="File or folder",
            description=KINDS["dataset"].path_hint,
            placeholder="Choose one, or type an absolute path",
            data=[],
            limit=50,
            withAsterisk=True,
        ),
        dmc.TextInput(
            id="resource-function",
            label="Function",
            description="Takes the problem and the response, returns 1 or 0",
            value="reward",
            style={"display": "none"},
        ),
        dmc.TextInput(
            id="resource-name",
            label="Name",
            description="Letters, digits, dots, hyphens and underscores; configs refer to it as @name",
            withAsterisk=True,
        ),
        project_select("resource-project", projects, description="Whose runs may refer to it"),
        dmc.Textarea(id="resource-description", label="Description", autosize=True, minRows=2, maxRows=6),
        dmc.Text(permitted, size="xs", c="dimmed", className="wrap-anywhere"),
    )
    return form_dialog("resource", "Register under a name", fields, "Register", size="lg")


def file_options(files: Sequence[ResourceFile]) -> list[Any]:
    """Return the paths to choose from, those without a name first."""
    return [file.path for file in sorted(files, key=lambda file: (file.registered_as is not None, file.path))]
