"""Prompt lists over REST: changed version by version, named by runs, and written into their configs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

import pytest

from bapo.api.prompt_lists import PromptEntry, PromptListChange, PromptListCreate, PromptListInfo
from bapo.api.runs import RunCreate
from bapo.client import ApiError, Client
from bapo.config.prompt_weights import MOST_ENTRIES
from tests.support.refusals import refuses
from tests.support.services import BackendServer, add_person

LEFT_OUT, TWICE = PromptEntry(prompt_id="sums:1f", note="label is 41"), PromptEntry(prompt_id="sums:2e", weight=2)


@pytest.fixture
def made(admin: Client) -> Iterator[PromptListInfo]:
    """A list with one prompt left out and one of weight 2."""
    made = admin.create_prompt_list(PromptListCreate(name="doubtful", description="to be checked"))
    yield admin.change_prompt_list(made.id, PromptListChange(set=[LEFT_OUT, TWICE]))
    admin.remove_prompt_list(made.id)


def held(client: Client, list_id: str, version: int | None = None) -> dict[str, float]:
    return {each.prompt_id: each.weight for each in client.prompt_list_entries(list_id, version).items}


def test_a_change_is_a_version_and_the_same_again_is_none(admin: Client, made: PromptListInfo) -> None:
    first = made.version
    assert (made.num_quarantined, made.num_weighted, made.may_remove) == (1, 1, True)
    assert admin.change_prompt_list(made.id, PromptListChange(set=[LEFT_OUT, TWICE])).version == first
    changed = admin.change_prompt_list(
        made.id,
        PromptListChange(set=[TWICE.model_copy(update={"weight": 0.25})], remove=["sums:1f", "sums:none"]),
    )
    assert (changed.version, changed.num_quarantined, changed.num_weighted) == (first + 1, 0, 1)
    assert held(admin, made.id) == {"sums:2e": 0.25}
    # An earlier version stays what it was.
    assert held(admin, made.id, first) == {"sums:1f": 0.0, "sums:2e": 2.0}
    newest = admin.prompt_list_versions(made.id).items[0]
    assert (newest.number, newest.num_set, newest.num_removed, newest.author) == (first + 1, 1, 1, "admin")
    replaced = admin.change_prompt_list(made.id, PromptListChange(set=[LEFT_OUT], replace=True))
    assert held(admin, replaced.id) == {"sums:1f": 0.0}


def test_entries_are_found_by_identity_note_and_action_page_by_page(admin: Client, made: PromptListInfo) -> None:
    (found,) = admin.prompt_list_entries(made.id, search="LABEL").items
    assert (found.prompt_id, found.note, found.author) == ("sums:1f", "label is 41", "admin")
    assert [each.prompt_id for each in admin.prompt_list_entries(made.id, action="weight").items] == ["sums:2e"]
    page = admin.prompt_list_entries(made.id, limit=1, offset=1)
    assert ([each.prompt_id for each in page.items], page.total) == (["sums:2e"], 2)
    with refuses(404, "not_found", field="version"):
        admin.prompt_list_entries(made.id, made.version + 1)


def test_a_list_is_exported_for_spreadsheets_and_scripts(admin: Client, made: PromptListInfo) -> None:
    rows = list(csv.DictReader(io.StringIO(admin.prompt_list_csv(made.id))))
    assert [(row["prompt_id"], row["action"], row["weight"], row["note"]) for row in rows] == [
        ("sums:1f", "quarantine", "", "label is 41"),
        ("sums:2e", "weight", "2", ""),
    ]
    lines = [json.loads(line) for line in admin.prompt_list_jsonl(made.id).splitlines()]
    assert [(line["prompt_id"], line["weight"]) for line in lines] == [("sums:1f", 0.0), ("sums:2e", 2.0)]


def test_what_cannot_be_listed_is_refused_and_changes_nothing(admin: Client, made: PromptListInfo) -> None:
    twice = {"prompt_id": "sums:1f"}
    for change, field in (
        ({"set": [twice, twice]}, "set"),
        ({"set": [twice], "remove": ["sums:1f"]}, "remove"),
        ({"set": [{"prompt_id": "a:1", "weight": 0.0001}]}, "set.0.weight"),
        ({"set": [{"prompt_id": "a:1", "weight": 1_001}]}, "set.0.weight"),
        ({"set": [{"prompt_id": ""}]}, "set.0.prompt_id"),
    ):
        answer = admin.http.post(f"/prompt-lists/{made.id}/entries", json=change)
        assert (answer.status_code, answer.json()["field"]) == (422, field)
    full = [PromptEntry(prompt_id=f"sums:{number}") for number in range(MOST_ENTRIES - 1)]
    with refuses(422, "too_many_prompts", field="set"):
        admin.change_prompt_list(made.id, PromptListChange(set=full))
    assert held(admin, made.id) == {"sums:1f": 0.0, "sums:2e": 2.0}
    with refuses(409, "name_taken", field="name"):
        admin.create_prompt_list(PromptListCreate(name="doubtful"))


# ---------------------------------------------------------------- runs


def submitted(admin: Client, **changes: object) -> RunCreate:
    return RunCreate(name="with a list", recipe="countdown-demo", changes=changes, start=False)


def test_a_run_names_a_version_and_its_config_holds_the_entries(admin: Client, made: PromptListInfo) -> None:
    own = {"task.exclude_prompts": ["sums:9a"], "task.prompt_weights": ["sums:2e=3", "sums:7c=0.5"]}
    body = submitted(admin, **{"task.prompt_list": "@doubtful", **own})
    run = admin.create_run(body)
    task = run.config["task"]
    assert task["prompt_list"] == f"@doubtful:{made.version}"
    # What the run says itself comes before what the list says.
    assert task["prompt_weights"] == ["sums:1f=0", "sums:2e=3", "sums:7c=0.5"]
    assert task["exclude_prompts"] == ["sums:9a"]
    # What differs from the recipe names the list; its entries are not repeated there.
    assert run.diff["task.prompt_list"][1] == f"@doubtful:{made.version}"
    assert run.diff["task.prompt_weights"][1] == ["sums:2e=3", "sums:7c=0.5"]
    (used,) = [each for each in admin.prompt_list_runs(made.id).items if each.id == run.id]
    assert (used.name, used.version) == ("with a list", made.version)

    # The list goes on, and a clone keeps the version of its parent unless it names the list again.
    admin.change_prompt_list(made.id, PromptListChange(remove=["sums:1f"]))
    clone = admin.clone(run.id, RunCreate(name="again", start=False))
    assert clone.config["task"] == task
    newer = admin.clone(run.id, RunCreate(name="newer", changes={"task.prompt_list": "@doubtful"}, start=False))
    assert newer.config["task"]["prompt_list"] == f"@doubtful:{made.version + 1}"
    assert newer.config["task"]["prompt_weights"] == ["sums:2e=3", "sums:7c=0.5"]
    without = admin.clone(run.id, RunCreate(name="without", changes={"task.prompt_list": None}, start=False))
    assert without.config["task"]["prompt_weights"] == ["sums:2e=3", "sums:7c=0.5"]


def test_a_list_that_cannot_be_named_is_refused_with_those_that_can(admin: Client, made: PromptListInfo) -> None:
    for value, said in (("@nowhere", "use one of @doubtful"), (f"@doubtful:{made.version + 1}", "no such version")):
        with pytest.raises(ApiError, match=said):
            admin.create_run(submitted(admin, **{"task.prompt_list": value}))
    with refuses(422, "invalid_config", field="task.prompt_list"):
        admin.create_run(submitted(admin, **{"task.prompt_list": "doubtful"}))
    with refuses(422, "invalid_config", field="task.prompt_weights"):
        admin.create_run(submitted(admin, **{"task.prompt_list": "@doubtful", "method.type": "mopps"}))


def test_a_removed_list_stays_for_clones_and_comes_back_empty(admin: Client) -> None:
    made = admin.create_prompt_list(PromptListCreate(name="passing"))
    with refuses(422, "invalid_config", field="task.prompt_list"):
        admin.create_run(submitted(admin, **{"task.prompt_list": "@passing"}))
    admin.change_prompt_list(made.id, PromptListChange(set=[LEFT_OUT]))
    run = admin.create_run(submitted(admin, **{"task.prompt_list": "@passing"}))
    admin.remove_prompt_list(made.id)
    assert "passing" not in [each.name for each in admin.prompt_lists().items]
    with refuses(422, "invalid_config", field="task.prompt_list"):
        admin.create_run(submitted(admin, **{"task.prompt_list": "@passing"}))
    clone = admin.clone(run.id, RunCreate(name="again", start=False))
    assert clone.config["task"]["prompt_weights"] == ["sums:1f=0"]
    again = admin.create_prompt_list(PromptListCreate(name="passing"))
    assert (again.id, again.num_quarantined) == (made.id, 0)
    admin.remove_prompt_list(again.id)


def test_a_list_of_20_000_prompts_is_no_problem(admin: Client) -> None:
    made = admin.create_prompt_list(PromptListCreate(name="long"))
    entries = [PromptEntry(prompt_id=f"GSM8K:{number:016x}", weight=number % 3) for number in range(MOST_ENTRIES)]
    changed = admin.change_prompt_list(made.id, PromptListChange(set=entries))
    # 0, 1, 2, 0, …: every third is left out, 6,667 of 20,000.
    assert (changed.num_quarantined, changed.num_weighted) == (6_667, 13_333)
    run = admin.create_run(submitted(admin, **{"task.prompt_list": "@long"}))
    assert len(run.config["task"]["prompt_weights"]) == MOST_ENTRIES
    assert len(json.dumps(run.diff)) < 1_000
    admin.remove_prompt_list(made.id)


# ---------------------------------------------------------------- who may


def test_others_projects_lists_do_not_exist_and_viewers_only_look(
    admin: Client, backend_server: BackendServer, made: PromptListInfo
) -> None:
    token = add_person(backend_server, "outsider", projects={"elsewhere": "member"})
    with backend_server.client(token) as outsider:
        assert outsider.prompt_lists().items == []
        calls = (
            outsider.prompt_list,
            outsider.prompt_list_entries,
            outsider.prompt_list_csv,
            outsider.prompt_list_runs,
        )
        for call in (*calls, outsider.remove_prompt_list):
            with refuses(404, "not_found"):
                call(made.id)
        with refuses(404, "not_found"):
            outsider.change_prompt_list(made.id, PromptListChange(set=[LEFT_OUT]))
        # The name of a list is looked for in the run's own project.
        with refuses(422, "invalid_config", field="task.prompt_list"):
            outsider.create_run(submitted(outsider, **{"task.prompt_list": "@doubtful"}))
    with backend_server.client(add_person(backend_server, "viewer", projects={"default": "viewer"})) as viewer:
        assert held(viewer, made.id) == {"sums:1f": 0.0, "sums:2e": 2.0}
        with refuses(403, "forbidden"):
            viewer.change_prompt_list(made.id, PromptListChange(set=[LEFT_OUT]))
    with backend_server.client(add_person(backend_server, "mate", projects={"default": "member"})) as mate:
        # A member adds to another's list, and cannot take it away.
        assert mate.change_prompt_list(made.id, PromptListChange(remove=["sums:2e"])).num_weighted == 0
        assert not mate.prompt_list(made.id).may_remove
        with refuses(403, "forbidden"):
            mate.remove_prompt_list(made.id)
