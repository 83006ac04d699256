"""The dialog that gives a file or folder a name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import dash_mantine_components as dmc

from bapo.api.resources import ResourceFile, ResourceKind
from frontend.projects import first_choice


class KindText(NamedTuple):
    """What a kind is called, and what its path must be."""

    title: str
    plural: str
    path_hint: str
    explanation: str


KINDS: Mapping[ResourceKind, KindText] = {
    "dataset": KindText(
        "Data set",
        "Data sets",
        "A .parquet or .jsonl file beneath a permitted folder",
        "Problems to train or test on: the columns prompt and answer (task.type file), or nums and target (countdown).",
    ),
    "model": KindText(
        "Model",
        "Models",
        "A folder in Hugging Face format beneath a permitted folder",
        "Base models: config.json, safetensors and tokenizer.",
    ),
    "verifier": KindText(
        "Verifier",
        "Verifiers",
        "A .py file beneath a permitted folder; only administrators register one, as workers run it",
        "Your own reward: a Python function of the problem and the response that answers 1 or 0.",
    ),
}


def register_dialog(roots: Sequence[str], projects: Sequence[str]) -> dmc.Modal:
    """Kind, file, name and description; the server checks them."""
    permitted = (
        f"Permitted folders: {', '.join(roots)}"
        if roots
        else "This deployment permits no folder yet: its administrator sets BAPO_RESOURCE_ROOTS."
    )
    return dmc.Modal(
        dmc.Stack(
            [
                dmc.SegmentedControl(
                    id="resource-kind",
                    value="dataset",
                    data=[{"value": kind, "label": text.title} for kind, text in KINDS.items()],
                    fullWidth=True,
                ),
                dmc.Autocomplete(
                    id="resource-path",
                    label="File or folder",
                    description=KINDS["dataset"].path_hint,
                    placeholder="Choose, or type an absolute path",
                    data=[],
                    limit=50,
                    withAsterisk=True,
                    comboboxProps={"withinPortal": True},
                ),
                dmc.TextInput(
                    id="resource-function",
                    label="Function",
                    description="Takes the problem and the response, answers 1 or 0",
                    value="reward",
                    style={"display": "none"},
                ),
                dmc.TextInput(
                    id="resource-name",
                    label="Name",
                    description="Letters, digits, dots, hyphens and underscores; configs say @name",
                    withAsterisk=True,
                ),
                dmc.Select(
                    id="resource-project",
                    label="Project",
                    description="Whose runs may refer to it",
                    data=list(projects),
                    value=first_choice(projects, None),
                    allowDeselect=False,
                    placeholder="choose one",
                    # Where there is only one, nobody has to choose.
                    style={} if len(projects) != 1 else {"display": "none"},
                    comboboxProps={"withinPortal": True},
                ),
                dmc.Textarea(id="resource-description", label="Description", autosize=True, minRows=2, maxRows=6),
                dmc.Text(permitted, size="xs", c="dimmed", className="wrap-anywhere"),
                dmc.Box(id="resource-problem"),
                dmc.Group([dmc.Button("Register", id="resource-submit")], justify="flex-end"),
            ],
            gap="sm",
        ),
        id="resource-dialog",
        title="Register under a name",
        centered=True,
        size="lg",
    )


def file_options(files: Sequence[ResourceFile]) -> list[Any]:
    """Paths to choose from: those without a name first."""
    return [file.path for file in sorted(files, key=lambda file: (file.registered_as is not None, file.path))]
