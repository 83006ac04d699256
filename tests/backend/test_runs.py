"""Submit, list, read and steer runs that no worker has taken."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from bapo.api.runs import ParameterChange, RunCreate, RunDetail, RunStatus, RunUpdate
from bapo.client import ApiError, Client
from tests.support.services import BackendServer


def new_run(client: Client, name: str = "r", **fields: Any) -> RunDetail:
    return client.create_run(RunCreate(name=name, **{"recipe": "countdown-demo", **fields}))


def refused(call: Any, *arguments: Any) -> ApiError:
    with pytest.raises(ApiError) as refusal:
        call(*arguments)
    return refusal.value


# ---------------------------------------------------------------- submit and read


def test_a_submitted_run_is_queued_with_its_whole_config(admin: Client) -> None:
    run = new_run(admin, "first", changes={"method.c1": 0.25}, tags=["a", "b"], notes="why", group="g", priority=70)
    assert run.status is RunStatus.QUEUED
    assert (run.method, run.recipe, run.num_steps, run.step, run.attempt) == ("bapo", "countdown-demo", 150, 0, 0)
    assert run.config["method"]["c1"] == 0.25
    assert run.explicit["method"]["c1"] == 0.25
    assert run.diff == {"method.c1": (0.125, 0.25)}
    assert (run.tags, run.notes, run.group, run.priority, run.owner) == (["a", "b"], "why", "g", 70, "admin")
    assert abs((datetime.now(UTC) - run.created_at).total_seconds()) < 60
    assert admin.run(run.id).config == run.config


def test_the_config_keeps_the_order_of_its_fields(admin: Client) -> None:
    assert list(new_run(admin).config)[:4] == ["model", "task", "method", "rollout"]


def test_without_a_recipe_a_run_has_the_defaults(admin: Client) -> None:
    assert new_run(admin, recipe=None).config["training"]["steps"] == 150


def test_with_epochs_the_number_of_steps_is_not_known_yet(admin: Client) -> None:
    run = new_run(admin, changes={"training.steps": None, "training.epochs": 2})
    assert run.num_steps == 0


def test_a_draft_waits_to_be_started(admin: Client) -> None:
    run = new_run(admin, start=False)
    assert run.status is RunStatus.DRAFT
    assert set(run.allowed_actions) == {"start", "clone", "delete"}
    assert admin.start(run.id).status is RunStatus.QUEUED
    assert refused(admin.start, run.id).status == 409


def test_an_unknown_run_is_not_found(admin: Client) -> None:
    for call in (admin.run, admin.history, admin.metric_keys, admin.stop, admin.histograms, admin.records, admin.log):
        error = refused(call, "nothing")
        assert (error.status, error.body.code) == (404, "not_found")
        assert "nothing" in error.body.remedy


def test_a_nul_in_an_address_is_refused(admin: Client) -> None:
    assert refused(admin.run, "a\x00b").status == 422


@pytest.mark.parametrize(
    ("field", "value"), [("name", ""), ("name", "x" * 201), ("priority", 101), ("priority", -1), ("tags", ["x"] * 51)]
)
def test_fields_have_limits(admin: Client, field: str, value: Any) -> None:
    body = RunCreate.model_construct(**{"name": "x", "recipe": "countdown-demo", field: value})
    error = refused(admin.create_run, body)
    assert (error.status, error.body.field) == (422, field)


# ---------------------------------------------------------------- idempotency


def test_the_same_key_answers_the_same_run(admin: Client) -> None:
    body = RunCreate(name="once", recipe="countdown-demo")
    first = admin.create_run(body, "key-1")
    assert admin.create_run(body, "key-1").id == first.id
    assert admin.create_run(body, "key-2").id != first.id


def test_a_key_belongs_to_one_body(admin: Client) -> None:
    admin.create_run(RunCreate(name="once"), "key-3")
    error = refused(admin.create_run, RunCreate(name="another"), "key-3")
    assert (error.status, error.body.code) == (409, "idempotency_key_reused")


def test_requests_at_once_with_one_key_make_one_run(backend_server: BackendServer) -> None:
    def create(_: int) -> str:
        with backend_server.client() as client:
            return client.create_run(RunCreate(name="at once"), "key-4").id

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(create, range(8)))) == 1


# ---------------------------------------------------------------- list


@pytest.fixture(scope="module")
def listed(admin: Client) -> list[RunDetail]:
    """25 drafts of group `list`, c, b, a, c, … with tags and methods in turn."""
    return [
        new_run(
            admin,
            "cba"[i % 3],
            group="list",
            start=False,
            priority=i,
            tags=["even"] if i % 2 == 0 else ["odd", "even odd"],
            changes={"method.type": "grpo" if i % 5 == 0 else "bapo"},
            notes="100% under_score" if i == 7 else "",
        )
        for i in range(25)
    ]


def walk(client: Client, **filters: Any) -> list[str]:
    found: list[str] = []
    cursor = None
    while True:
        page = client.runs(group="list", cursor=cursor, **filters)
        found += [run.id for run in page.items]
        cursor = page.next_cursor
        if cursor is None:
            return found


def test_the_newest_run_comes_first(admin: Client, listed: list[RunDetail]) -> None:
    page = admin.runs(group="list")
    assert [run.id for run in page.items] == [run.id for run in reversed(listed)]
    assert (page.total, page.next_cursor) == (25, None)


@pytest.mark.parametrize(
    ("sort", "limit"),
    [
        ("-name", 1),
        ("name", 7),
        ("created_at", 7),
        ("-created_at", 24),
        ("-priority", 25),
        ("reward_mean", 7),
        ("-started_at", 7),
        ("-created_at", 26),
    ],
)
def test_pages_hold_each_run_once(admin: Client, listed: list[RunDetail], sort: str, limit: int) -> None:
    found = walk(admin, sort=sort, limit=limit)
    assert sorted(found) == sorted(run.id for run in listed)


def test_runs_are_sorted(admin: Client, listed: list[RunDetail]) -> None:
    names = [run.name for run in admin.runs(group="list", sort="name").items]
    assert names == sorted(names)
    assert walk(admin, sort="-priority", limit=10) == [run.id for run in reversed(listed)]


def test_filters_combine(admin: Client, listed: list[RunDetail]) -> None:
    # i % 5 == 0 and even: 0, 10, 20.
    found = walk(admin, method="grpo", tag="even")
    assert sorted(found) == sorted(listed[i].id for i in (0, 10, 20))
    assert len(walk(admin, method=["grpo", "bapo"])) == 25
    assert walk(admin, tag=["odd", "even"]) == []
    assert walk(admin, status="running") == []
    assert len(walk(admin, status=["running", "draft"])) == 25


def test_search_takes_words_as_they_are(admin: Client, listed: list[RunDetail]) -> None:
    assert walk(admin, search="100%") == [listed[7].id]
    assert walk(admin, search="DER_sc") == [listed[7].id]
    assert walk(admin, search=listed[3].id) == [listed[3].id]
    assert walk(admin, search="under_sco_e") == []
    assert walk(admin, search="1%0") == []
    # Both words: named c (i % 3 == 0) and odd (i % 2 == 1): 3, 9, 15, 21.
    assert sorted(walk(admin, search="c odd", method="bapo", sort="name")) != []
    assert walk(admin, search="'; DROP TABLE runs; --") == []


@pytest.mark.parametrize(
    ("filters", "field"),
    [
        ({"sort": "secret"}, "sort"),
        ({"sort": "--name"}, "sort"),
        ({"cursor": "x"}, "cursor"),
        ({"cursor": "WyJuYW1lIiwgImEiXQ=="}, "cursor"),
        ({"status": "unknown"}, "status"),
        ({"limit": 0}, "limit"),
        ({"limit": 501}, "limit"),
    ],
)
def test_a_bad_filter_is_refused(admin: Client, filters: dict[str, Any], field: str) -> None:
    with pytest.raises(ApiError) as refusal:
        admin.runs(**filters)
    assert refusal.value.status == 422
    assert field in (refusal.value.body.field or "")


def test_a_cursor_is_for_its_own_order(admin: Client, listed: list[RunDetail]) -> None:
    cursor = admin.runs(group="list", sort="name", limit=2).next_cursor
    with pytest.raises(ApiError, match="same order"):
        admin.runs(group="list", sort="-name", cursor=cursor)


# ---------------------------------------------------------------- change, clone, stop, delete


def test_name_tags_and_notes_change_alone(admin: Client) -> None:
    run = new_run(admin, tags=["a"], notes="n", start=False)
    changed = admin.update_run(run.id, RunUpdate(name="new"))
    assert (changed.name, changed.tags, changed.notes) == ("new", ["a"], "n")
    changed = admin.update_run(run.id, RunUpdate(tags=[], notes=""))
    assert (changed.name, changed.tags, changed.notes) == ("new", [], "")
    edits = [entry.detail for entry in admin.history(run.id).audit if entry.action == "edited"]
    assert edits[0] == {"before": {"name": "r"}}


def test_a_clone_starts_from_its_parents_config(admin: Client) -> None:
    parent = new_run(admin, changes={"method.c1": 0.25})
    clone = admin.clone(parent.id, RunCreate(name="child", changes={"method.v": 3}))
    assert clone.parent_id == parent.id
    assert (clone.config["method"]["c1"], clone.config["method"]["v"]) == (0.25, 3)
    assert clone.diff == {"method.v": (5, 3)}
    assert clone.recipe == "countdown-demo"


def test_a_clone_names_no_other_parent(admin: Client) -> None:
    parent = new_run(admin)
    assert refused(admin.clone, parent.id, RunCreate(name="x", parent_id="other")).body.field == "parent_id"
    assert refused(admin.clone, "nothing", RunCreate(name="x")).status == 404


def test_a_queued_run_is_cancelled_at_once(admin: Client) -> None:
    run = admin.stop(new_run(admin).id)
    assert run.status is RunStatus.CANCELLED
    assert run.finished_at is not None
    assert set(run.allowed_actions) == {"clone", "delete"}


def test_what_a_state_does_not_allow_is_refused(admin: Client) -> None:
    run = admin.stop(new_run(admin).id)
    for call in (admin.start, admin.stop, admin.pause, admin.resume):
        error = refused(call, run.id)
        assert (error.status, error.body.code, error.body.value) == (409, "illegal_transition", "cancelled")
        assert "clone, fork, delete" in error.body.remedy


def test_only_drafts_and_ended_runs_are_deleted(admin: Client) -> None:
    run = new_run(admin)
    assert refused(admin.delete_run, run.id).status == 409
    admin.stop(run.id)
    child = admin.clone(run.id, RunCreate(name="child", start=False))
    admin.delete_run(run.id, permanently=True)
    assert refused(admin.run, run.id).status == 404
    assert admin.run(child.id).parent_id is None


def test_the_history_says_who_did_what(admin: Client) -> None:
    run = admin.stop(new_run(admin).id)
    history = admin.history(run.id)
    assert [(entry.author, entry.action, entry.detail.get("to")) for entry in history.audit][:2] == [
        ("admin", "created", None),
        ("admin", "status", "queued"),
    ]
    assert history.audit[-1].detail["to"] == "cancelled"
    assert [entry.at for entry in history.audit] == sorted(entry.at for entry in history.audit)


# ---------------------------------------------------------------- parameters


def test_a_change_is_kept_for_the_trainer(admin: Client) -> None:
    run = new_run(admin)
    control = admin.change_parameters(run.id, ParameterChange(set={"method.c1": 0.25}, at_step=10))
    assert (control.kind, control.state, control.author) == ("change", "pending", "admin")
    assert (control.set, control.at_step, control.applied_step) == ({"method.c1": 0.25}, 10, None)
    assert admin.history(run.id).controls == [control]


@pytest.mark.parametrize(
    ("values", "field", "remedy"),
    [
        ({"method.c9": 1}, "method.c9", "only method.c1"),
        ({"training.learning_rate": 1e-3}, "training.learning_rate", "only method.c1"),
        ({"method.c1": 1}, "method.c1", "less than 1"),
        ({"method.v": 0}, "method.v", "1"),
        ({"method.m": 0}, "method.m", "1"),
        ({"method.c2": [0.5, 0.6]}, "method.c2", "above c3"),
    ],
)
def test_an_illegal_change_is_refused_at_once(admin: Client, values: dict[str, Any], field: str, remedy: str) -> None:
    run = new_run(admin)
    error = refused(admin.change_parameters, run.id, ParameterChange(set=values))
    assert (error.status, error.body.field) == (422, field)
    assert remedy in error.body.remedy
    assert admin.history(run.id).controls == []


def test_changes_are_checked_together_with_earlier_ones(admin: Client) -> None:
    run = new_run(admin)
    # c3 up to (0.5, 0.75) makes room for c2 = (0.4, 0.6), which alone would be above c3 = 0.25 at r_tot = 0.
    admin.change_parameters(run.id, ParameterChange(set={"method.c3": [0.5, 0.75]}))
    admin.change_parameters(run.id, ParameterChange(set={"method.c2": [0.4, 0.6]}))
    error = refused(admin.change_parameters, run.id, ParameterChange(set={"method.c3": [0.25, 0.625]}))
    assert error.body.field == "method.c2"


@pytest.mark.parametrize(("at_step", "is_legal"), [(0, False), (1, True), (150, True), (151, False)])
def test_a_change_is_for_a_step_of_the_run(admin: Client, at_step: int, is_legal: bool) -> None:
    run = new_run(admin)
    body = ParameterChange.model_construct(set={"method.c1": 0.25}, at_step=at_step)
    if is_legal:
        assert admin.change_parameters(run.id, body).at_step == at_step
    else:
        assert refused(admin.change_parameters, run.id, body).body.field == "at_step"


def test_a_method_offers_only_its_own_fields(admin: Client) -> None:
    grpo = new_run(admin, changes={"method.type": "grpo"})
    assert "change" not in grpo.allowed_actions
    delayed = new_run(admin, changes={"method.type": "grpo_delayed"})
    assert admin.change_parameters(delayed.id, ParameterChange(set={"method.v": 2})).state == "pending"
    error = refused(admin.change_parameters, delayed.id, ParameterChange(set={"method.m": 2}))
    assert "only method.v can" in error.body.remedy


def test_a_draft_or_an_ended_run_takes_no_change(admin: Client) -> None:
    for run in (new_run(admin, start=False), admin.stop(new_run(admin).id)):
        assert refused(admin.change_parameters, run.id, ParameterChange(set={"method.c1": 0.25})).status == 409
