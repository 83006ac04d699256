"""Any config field and metric as a column of the run list: shown, sorted, filtered and grouped by, and remembered."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bapo.api.runs import RunCreate, RunDetail, RunFilters, RunStatus
from bapo.api.views import LayoutColumn, RunListLayout, RunListLayouts
from bapo.client import ApiError, Client
from tests.support.fake_worker import FakeWorker
from tests.support.journals import evaluation, step
from tests.support.refusals import refuses

GROUP = "columns"
ALL = RunFilters(group=[GROUP])


def draft(admin: Client, name: str, tags: tuple[str, ...] = (), **fields: Any) -> RunDetail:
    """A draft of the group; `method_c1=0.25` sets method.c1."""
    overrides = {field.replace("_", ".", 1): value for field, value in fields.items()}
    return admin.create_run(
        RunCreate(name=name, recipe="countdown-demo", changes=overrides, tags=tags, group=GROUP, start=False)
    )


@pytest.fixture(scope="module")
def runs(admin: Client) -> dict[str, str]:
    """Ids by name: four drafts that differ in G and seed; one has a tag with a comma."""
    made = [
        draft(admin, "a", rollout_group_size=4, training_seed=1),
        draft(admin, "b", rollout_group_size=8, training_seed=1),
        draft(admin, "c", rollout_group_size=8, training_seed=2, tags=("x, y", "z")),
        draft(admin, "d", rollout_group_size=16, training_seed=1, tags=("z",)),
    ]
    return {run.name: run.id for run in made}


def names(admin: Client, *where: str, **query: Any) -> list[str]:
    return [run.name for run in admin.runs(group=GROUP, where=where, **{"sort": "name", **query}).items]


def test_a_row_has_the_fields_and_metrics_that_are_asked_for(admin: Client, runs: dict[str, str]) -> None:
    asked = ["config.rollout.group_size", "config.no.such_field", "metric.actor/entropy"]
    page = admin.runs(group=GROUP, sort="name", columns=asked)
    assert [dict(run.values) for run in page.items] == [{"config.rollout.group_size": size} for size in (4, 8, 8, 16)]
    assert not admin.runs(group=GROUP, limit=1).items[0].values
    with refuses(422, field="columns"):
        admin.runs(columns="eval_best")
    table = admin.runs_csv(ALL, sort="name", columns=["config.rollout.group_size"]).splitlines()
    assert (table[0].split(",")[-1], table[4].split(",")[-1]) == ("config.rollout.group_size", "16")


def test_a_field_orders_numbers_as_numbers_in_stable_pages(admin: Client, runs: dict[str, str]) -> None:
    assert names(admin, sort="-config.rollout.group_size")[:1] == ["d"]
    found: list[str] = []
    cursor = None
    while True:
        page = admin.runs(group=GROUP, sort="config.rollout.group_size", limit=1, cursor=cursor)
        found += [run.name for run in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert (found[0], sorted(found[1:3]), found[3]) == ("a", ["b", "c"], "d")
    with refuses(422, field="sort"):
        admin.runs(sort="-no_such_column")


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (["config.rollout.group_size>=8"], "bcd"),
        (["config.rollout.group_size > 4", "config.rollout.group_size<16"], "bc"),
        (["config.rollout.group_size = 4, 16"], "ad"),
        (["config.rollout.group_size != 8"], "ad"),
        (["config.method.type ~ BAP", "config.training.seed=2"], "c"),
        (["config.method.type = bapo"], "abcd"),
        (["config.no.field is missing"], "abcd"),
        (["config.training.seed is present"], "abcd"),
        (["config.method.type >= 1"], ""),
        (['name = ["a", "d"]'], "ad"),
        (["tags ~ x, y"], "c"),
        (["step >= 0", "created_at >= 2020-01-01"], "abcd"),
        (["eval_best is missing"], "abcd"),
        (["eval_best <= 1"], ""),
        (["study is missing"], "abcd"),
    ],
)
def test_a_condition_holds_on_any_column(admin: Client, runs: dict[str, str], where: list[str], found: str) -> None:
    assert "".join(names(admin, *where)) == found


@pytest.mark.parametrize(
    ("where", "remedy"),
    [
        ("", "write COLUMN"),
        ("group_size", "write COLUMN"),
        ("no_such >= 1", "there is no such column"),
        ("eval_best >= many", "'many' is no number"),
        ("config.method.c1 >=", "nothing follows"),
        ("config.method.c1 >= nan", "is no number"),
        ("name >= 1", "is a text"),
        ("name = ,", "no value between"),
        ("name = [a", "no JSON list"),
        ("created_at >= spring", "is no time"),
        ("name is odd", "is missing"),
    ],
)
def test_what_is_no_condition_is_refused_with_its_remedy(admin: Client, where: str, remedy: str) -> None:
    with pytest.raises(ApiError, match=re.escape(remedy)) as refusal:
        admin.runs(where=where)
    assert (refusal.value.status, refusal.value.body.field) == (422, "where")
    assert str(refusal.value.body.value) in where


def test_fields_and_metrics_to_choose_from_begin_with_those_that_vary(admin: Client, runs: dict[str, str]) -> None:
    found = {column.name: column for column in admin.run_columns().items}
    assert found["config.rollout.group_size"].varies
    assert not found["config.method.type"].varies
    order = [column.varies for column in admin.run_columns().items]
    assert order == sorted(order, reverse=True)
    assert admin.run_columns(project="nowhere").items == []


def test_a_metric_is_the_newest_value(admin: Client, worker: FakeWorker) -> None:
    run = admin.create_run(RunCreate(name="measured", recipe="countdown-demo", group="measured"))
    claim = worker.begin(run)
    worker.upload(claim, [evaluation(0, 0.25), *map(step, (1, 2))])
    key = "metric.val-core/CD-34/acc/mean@8"
    assert key in {column.name for column in admin.run_columns().items}
    assert admin.runs(group="measured", columns=key).items[0].values == {key: 0.25}
    worker.upload(claim, [step(3), evaluation(3, 0.5)])
    page = admin.runs(group="measured", columns=key, where=f"{key}>=0.5", sort=f"-{key}")
    assert page.items[0].values == {key: 0.5}


def test_groups_have_counts_states_mean_and_spread(admin: Client, runs: dict[str, str]) -> None:
    by_size = admin.run_groups("config.rollout.group_size", ["config.training.seed", "step"], ALL)
    assert [(each.value, each.num_runs) for each in by_size.items] == [(8, 2), (4, 1), (16, 1)]
    assert (by_size.total, by_size.items[0].states) == (3, {RunStatus.DRAFT: 2})
    # Seeds 1 and 2: mean 1.5, standard deviation √(2 · 0.5²) = 0.7071.
    seeds = by_size.items[0].aggregates["config.training.seed"]
    assert (seeds.num_runs, seeds.mean, seeds.min, seeds.max) == (2, 1.5, 1, 2)
    assert seeds.std == pytest.approx(0.70711, abs=1e-5)
    assert by_size.items[1].aggregates["config.training.seed"].std is None
    # What a group says of itself finds its runs.
    assert names(admin, by_size.items[0].where or "") == ["b", "c"]


def test_groups_of_methods_have_the_names_of_methods(admin: Client, runs: dict[str, str]) -> None:
    (group,) = admin.run_groups("method", filters=ALL).items
    # Filters and configs take the type.
    assert (group.value, group.label, group.where) == ("bapo", "BAPO", 'method = ["bapo"]')


def test_groups_by_tag_and_by_everything_but_the_seed(admin: Client, runs: dict[str, str]) -> None:
    by_tag = {each.value: each for each in admin.run_groups("tag", filters=ALL).items}
    assert {value: each.num_runs for value, each in by_tag.items()} == {"z": 2, None: 2, "x, y": 1}
    assert (by_tag["z"].tag, by_tag["z"].where, by_tag[None].where) == ("z", None, "tags is missing")
    assert names(admin, by_tag[None].where or "") == ["a", "b"]
    by_config = admin.run_groups("config", filters=ALL).items
    # b and c differ in nothing but the seed.
    assert sorted((each.num_runs, each.label) for each in by_config) == [
        (1, "rollout.group_size = 16"),
        (1, "rollout.group_size = 4"),
        (2, "rollout.group_size = 8"),
    ]
    for by, metrics, field in (("created_at", [], "by"), ("nonsense", [], "by"), ("method", ["name"], "metrics")):
        with refuses(422, field=field):
            admin.run_groups(by, metrics)


def test_each_person_has_a_look_of_their_own(admin: Client, member: Client) -> None:
    assert admin.run_list_layouts() == RunListLayouts()
    wide = RunListLayout(
        columns=[LayoutColumn(name="name", width=300), LayoutColumn(name="config.method.c1")], sort="-config.method.c1"
    )
    admin.set_run_list_layouts(RunListLayouts(wide=wide))
    assert admin.run_list_layouts() == RunListLayouts(wide=wide)
    assert member.run_list_layouts() == RunListLayouts()
    with refuses(422, field="sort"):
        admin.set_run_list_layouts(RunListLayouts(narrow=RunListLayout(sort="nonsense")))
