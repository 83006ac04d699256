"""Prompts on several pages: the filter of their list in an address, and the form that puts them on a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import dash_mantine_components as dmc
from dash import ALL, Dash, State
from pydantic import BaseModel, ValidationError

from bapo.analysis.number_format import counted
from bapo.api.prompt_lists import PromptEntry, PromptListChange, PromptListCreate, PromptListInfo
from bapo.api.prompts import ProjectPromptFilter, PromptFilter
from bapo.client import AsyncClient
from bapo.config.prompt_weights import LARGEST, LEFT_OUT, MOST_ENTRIES, parse_weight
from frontend.components.actions import FormError, go_to, tell, when_submitted
from frontend.components.dialogs import form_dialog
from frontend.components.elements import Store, attributes
from frontend.request.session import Api

DEFAULT_SORT = "visits"
T = TypeVar("T", bound=BaseModel)


def filter_of(query: Mapping[str, str]) -> PromptFilter:
    """Return the filter of an address, under the names of the API; unknown keys are ignored."""
    given = {key: value for key, value in query.items() if value != ""}
    given.setdefault("sort", DEFAULT_SORT)
    if "sort" not in query:
        given["descending"] = "true"
    return legal(PromptFilter, given)


def legal(model: type[T], given: Mapping[str, str]) -> T:
    """Return the filter with these values; empty ones are left out, as are keys and values that it does not have."""
    known = {key: value for key, value in given.items() if key in model.model_fields and value != ""}
    try:
        return model.model_validate(known)
    except ValidationError as error:
        wrong = {str(finding["loc"][0]) for finding in error.errors()}
        return model.model_validate({key: value for key, value in known.items() if key not in wrong})


NAME, PICK = "mark", "mark-pick"
QUARANTINE, WEIGHT = "quarantine", "weight"
_AT_ONCE = 1_000


def marks(prompt_ids: Sequence[str] = (), **more: Any) -> Store:
    """Return what the form is about: these prompts, and with `filter` or `finding` what the server finds for it."""
    return Store(id="mark-what", data={"ids": list(prompt_ids), **more})


def pick(prompt_id: str, name: str = PICK) -> dmc.Checkbox:
    """Return the checkbox of a prompt in a list; `name` is that of the list's checkboxes."""
    return dmc.Checkbox(
        id={"type": name, "id": prompt_id},
        size="xs",
        radius="sm",
        **attributes(aria_label=f"Choose {prompt_id}"),
    )


def picks(name: str) -> list[State]:
    """Return the states of a list's checkboxes, as `picked_of` takes them."""
    return [State({"type": name, "id": ALL}, part) for part in ("checked", "id")]


def picked_of(picked: Sequence[bool | None], ids: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the prompts whose checkboxes are ticked."""
    return [each["id"] for each, is_picked in zip(ids, picked, strict=True) if is_picked]


def marking_fields(lists: Sequence[PromptListInfo], *, total: int | None = None, note: str = "") -> list[Any]:
    """Return the form's inputs. `total`: prompts that match the list's filter, which can be taken together."""
    everything = dmc.Checkbox(
        id="mark-all",
        label=f"All {total or 0:,} prompts that match the filter",
        size="sm",
        style={} if total else {"display": "none"},
    )
    return [
        everything,
        dmc.Autocomplete(
            id="mark-list",
            label="List",
            description="A list of the project, or the name of a new one.",
            data=[each.name for each in lists],
            value=lists[0].name if len(lists) == 1 else "",
            size="sm",
        ),
        dmc.SegmentedControl(
            id="mark-action",
            data=[
                {"value": QUARANTINE, "label": "Quarantine"},
                {"value": WEIGHT, "label": "Weight"},
                {"value": "remove", "label": "Take off"},
            ],
            value=QUARANTINE,
            size="sm",
        ),
        dmc.TextInput(
            id="mark-weight",
            label="Weight",
            description=f"How often it comes up, where all others weigh 1: 0.001 to {LARGEST:,}. For “Weight” alone.",
            value="2",
            size="sm",
        ),
        dmc.TextInput(id="mark-note", label="Note", value=note, placeholder="optional", size="sm"),
    ]


def marking_dialog(lists: Sequence[PromptListInfo], *, total: int | None = None) -> dmc.Modal:
    """Return the form as a closed dialog `mark-dialog`."""
    return form_dialog(NAME, "Put prompts on a list", marking_fields(lists, total=total), "Save")


def entry_weight(action: str, weight: str) -> float:
    """Return the weight that the form asks for. Raises FormError."""
    if action != WEIGHT:
        return LEFT_OUT
    try:
        given = parse_weight(weight or "")
    except ValueError as error:
        raise FormError(weight=str(error)) from None
    if given == LEFT_OUT:
        raise FormError(weight="a weight of 0 is a quarantine: choose that")
    return given


def register(app: Dash, api: Api) -> None:
    """Register the form's button, which makes the list where there is none of that name."""

    @when_submitted(
        app,
        "mark-submit",
        fields={"name": "mark-list", "weight": "mark-weight"},
        problem="mark-problem",
        states=[
            State("mark-what", "data"),
            *picks(PICK),
            *(State(f"mark-{name}", "checked" if name == "all" else "value") for name in _INPUTS),
        ],
    )
    async def mark(
        what: Mapping[str, Any],
        picked: Sequence[bool | None],
        ids: Sequence[Mapping[str, str]],
        everything: bool | None,
        name: str,
        action: str,
        weight: str,
        note: str,
    ) -> None:
        client = api.client()
        chosen = [*what["ids"], *picked_of(picked, ids)]
        prompt_ids = await _prompts(client, what, chosen, is_all=bool(everything))
        if not prompt_ids:
            raise FormError(name="no prompt is chosen: tick some in the list first")
        given = entry_weight(action, weight)
        listed = await _list_named(client, (name or "").strip().removeprefix("@"), what.get("project"), action)
        before = listed.version
        change = (
            PromptListChange(remove=prompt_ids)
            if action == "remove"
            else PromptListChange(
                set=[PromptEntry(prompt_id=each, weight=given, note=(note or "")[:1_000]) for each in prompt_ids]
            )
        )
        changed = await client.change_prompt_list(listed.id, change)
        said = counted(len(prompt_ids), "prompt")
        if changed.version == before:
            tell(f"@{changed.name} says so of {said} already.", "Nothing to change", "gray")
        else:
            tell(f"{said}: @{changed.name} is version {changed.version} now.", "Saved")
        go_to(what.get("target") or f"/prompt-lists/{changed.id}")


_INPUTS = ("all", "list", "action", "weight", "note")


async def _prompts(client: AsyncClient, what: Mapping[str, Any], chosen: Sequence[str], *, is_all: bool) -> list[str]:
    if "finding" in what:
        return [each.prompt_id for each in (await client.finding_prompts(what["run"], what["finding"])).items]
    if not is_all:
        return list(dict.fromkeys(chosen))
    wanted = ProjectPromptFilter.model_validate(what["filter"])
    found: list[str] = []
    for offset in range(0, MOST_ENTRIES, _AT_ONCE):
        page = await client.project_prompts(wanted, offset=offset, limit=_AT_ONCE)
        found += [each.prompt_id for each in page.items]
        if len(found) >= page.total:
            break
    return found


async def _list_named(client: AsyncClient, name: str, project: str | None, action: str) -> PromptListInfo:
    if not name:
        raise FormError(name="name a list, or type the name of a new one")
    known = (await client.prompt_lists(project)).items
    found = next((each for each in known if each.name == name), None)
    if found is not None:
        return found
    if action == "remove":
        raise FormError(name=f"there is no list {name!r} to take prompts off")
    return await client.create_prompt_list(PromptListCreate(name=name, project=project))
