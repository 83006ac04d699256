"""The run list: filters, search, order, pages, stars, archive, CSV, compute hours, best result."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from backend.kit.database import Database
from bapo.api.runs import RunCreate, RunDetail, RunFilters, RunUpdate
from bapo.client import ApiError, Client
from tests.support.fake_worker import FakeWorker
from tests.support.journals import evaluation
from tests.support.many_runs import invent_runs
from tests.support.refusals import refuses


def draft(client: Client, name: str, **fields: Any) -> RunDetail:
    return client.create_run(RunCreate(name=name, recipe="countdown-demo", start=False, **fields))


def ids(client: Client, **filters: Any) -> set[str]:
    return {run.id for run in client.runs(limit=500, **filters).items}


# ---------------------------------------------------------------- search


def test_search_reads_name_tags_notes_group_owner_and_what_the_config_sets(admin: Client) -> None:
    run = draft(
        admin, "Quokka", tags=["wombat"], notes="Saw a **Numbat**.", group="marsupials", changes={"method.c1": 0.25}
    )
    for word in ("quokka", "uokk", "WOMB", "numbat", "supial", run.id[2:8], "c1=0.25", "quokka numbat"):
        assert run.id in ids(admin, search=word), word
    # `admin` owns every run; of the defaults only method, task and model are found.
    assert run.id in ids(admin, search="quokka admin")
    assert run.id in ids(admin, search="quokka method.type=bapo")
    assert ids(admin, search="quokka loss.clip_low") == set()
    assert ids(admin, search="quokka echidna") == set()


def test_search_follows_what_people_change(admin: Client) -> None:
    run = draft(admin, "first name")
    admin.update_run(run.id, RunUpdate(name="bilby", tags=["dunnart"], notes="kultarr"))
    for word in ("bilby", "dunnart", "kultarr"):
        assert ids(admin, search=word) == {run.id}
    assert run.id not in ids(admin, search="first name")


# ---------------------------------------------------------------- filters


def test_ranges_include_their_lower_end(admin: Client, database: Database) -> None:
    run = draft(admin, "ranged", group="ranged")
    with database.session() as session, session.begin():
        session.execute(text("UPDATE runs SET step = 10, eval_best = 0.5 WHERE id = :id"), {"id": run.id})
    for filters, matches in (
        ({"min_step": 10}, True),
        ({"min_step": 11}, False),
        ({"max_step": 10}, True),
        ({"max_step": 9}, False),
        ({"min_best": 0.5}, True),
        ({"min_best": 0.51}, False),
        ({"max_best": 0.5}, True),
        ({"max_best": 0.49}, False),
        ({"created_after": run.created_at.isoformat()}, True),
        ({"created_after": (run.created_at + timedelta(microseconds=1)).isoformat()}, False),
        ({"created_before": run.created_at.isoformat()}, False),
        ({"created_before": (run.created_at + timedelta(microseconds=1)).isoformat()}, True),
        ({"owner": "admin"}, True),
        ({"owner": "nobody"}, False),
    ):
        assert (ids(admin, group="ranged", **filters) == {run.id}) is matches, filters


def test_stars_belong_to_their_user(admin: Client, run: RunDetail) -> None:
    admin.star(run.id)
    admin.star(run.id)
    assert admin.run(run.id).is_starred
    assert ids(admin, starred=True) == {run.id}
    admin.unstar(run.id)
    assert not admin.run(run.id).is_starred
    assert ids(admin, starred=True) == set()
    with refuses(404):
        admin.star("nothing")


def test_archived_runs_are_left_out_unless_asked_for(admin: Client) -> None:
    put_away, kept = draft(admin, "put away", group="archive"), draft(admin, "kept", group="archive")
    assert put_away.may_archive
    archived = admin.update_run(put_away.id, RunUpdate(archived=True))
    assert archived.archived_at is not None
    assert ids(admin, group="archive") == {kept.id}
    assert ids(admin, group="archive", archived="shown") == {kept.id, put_away.id}
    assert ids(admin, group="archive", archived="only") == {put_away.id}
    # Who starts it wants to see it.
    assert admin.start(put_away.id).archived_at is None
    assert [entry.action for entry in admin.history(put_away.id).audit if entry.action == "archived"] == ["archived"]


def test_a_run_that_waits_or_runs_is_not_archived(admin: Client, worker: FakeWorker) -> None:
    run = admin.create_run(RunCreate(name="busy", recipe="countdown-demo"))
    for _ in range(2):
        assert not admin.run(run.id).may_archive
        with refuses(409, "illegal_transition"):
            admin.update_run(run.id, RunUpdate(archived=True))
        if admin.run(run.id).status == "queued":
            worker.begin(run)


def test_facets_count_what_there_is(admin: Client) -> None:
    draft(admin, "faceted", tags=["facet", "facet two"], group="facets")
    draft(admin, "faceted", tags=["facet"])
    facets = admin.run_facets()
    tags = {each.name: each.count for each in facets.tags}
    assert (tags["facet"], tags["facet two"]) == (2, 1)
    assert {each.name: each.count for each in facets.groups}["facets"] == 1
    assert [each.name for each in facets.owners] == ["admin"]
    assert facets.methods[0].name == "bapo"


# ---------------------------------------------------------------- pages


def test_a_page_begins_at_its_offset(admin: Client) -> None:
    for number in range(5):
        draft(admin, f"place {number}", group="places")
    names = [
        [run.name for run in admin.runs(group="places", sort="name", offset=offset, limit=2).items]
        for offset in (0, 1, 4, 5)
    ]
    assert names == [["place 0", "place 1"], ["place 1", "place 2"], ["place 4"], []]
    assert admin.runs(group="places", offset=5).total == 5
    cursor = admin.runs(group="places", limit=2).next_cursor
    with pytest.raises(ApiError, match="either a cursor or an offset"):
        admin.runs(group="places", cursor=cursor, offset=2)


def test_a_cursor_meets_each_run_once_while_runs_come(admin: Client) -> None:
    expected = {draft(admin, f"stable {number}", group="stable").id for number in range(6)}
    found: list[str] = []
    cursor = None
    while True:
        page = admin.runs(group="stable", cursor=cursor, limit=2)
        found += [run.id for run in page.items]
        draft(admin, "newcomer", group="stable")
        cursor = page.next_cursor
        if cursor is None:
            break
    assert sorted(found) == sorted(expected)


# ---------------------------------------------------------------- compute hours and the best result


def test_compute_hours_are_those_of_all_attempts(admin: Client, database: Database) -> None:
    run = draft(admin, "computed")
    began = datetime(2026, 1, 1, tzinfo=UTC)
    with database.session() as session, session.begin():
        for number, hours, num_gpus in ((1, 2, 0), (2, 3, 4)):
            session.execute(
                text(
                    "INSERT INTO attempts (run_id, number, state, claimed_at, ended_at, num_gpus)"
                    " VALUES (:run, :number, 'ended', :began, :ended, :gpus)"
                ),
                {
                    "run": run.id,
                    "number": number,
                    "began": began,
                    "ended": began + timedelta(hours=hours),
                    "gpus": num_gpus,
                },
            )
    summary = admin.run(run.id)
    # Two hours of one slot and three hours of four GPUs.
    assert (summary.compute_hours, summary.num_gpus, summary.cost) == (2 + 3 * 4, 4, None)
    assert admin.runs(sort="-compute_hours", limit=1).items[0].id == run.id


def test_the_best_evaluation_is_the_first_of_the_highest(admin: Client, worker: FakeWorker) -> None:
    run = admin.create_run(RunCreate(name="evaluated", recipe="countdown-demo"))
    claim = worker.begin(run)
    worker.upload(claim, [evaluation(0, value=0.2), evaluation(50, value=0.5)])
    worker.upload(claim, [evaluation(100, value=0.5), evaluation(150, value=0.4)])
    found = admin.run(run.id)
    assert (found.eval_base, found.eval_latest, found.eval_best, found.eval_best_step) == (0.2, 0.4, 0.5, 50)


# ---------------------------------------------------------------- CSV


def test_csv_has_all_matches_and_no_formulas(admin: Client) -> None:
    for number in range(3):
        draft(admin, f"=1+{number}", group="csv", tags=["a", "b, c"])
    rows = list(csv.DictReader(io.StringIO(admin.runs_csv(RunFilters(group=["csv"]), sort="name"))))
    assert [row["name"] for row in rows] == ["'=1+0", "'=1+1", "'=1+2"]
    assert (rows[0]["tags"], rows[0]["status"], rows[0]["eval_best"], rows[0]["is_starred"]) == (
        "a, b, c",
        "draft",
        "",
        "no",
    )


# ---------------------------------------------------------------- ten thousand


def test_ten_thousand_runs_are_searched_and_sorted(admin: Client, database: Database) -> None:
    invent_runs(database, 10_000)
    questions: dict[str, dict[str, Any]] = {
        "first page": {},
        "far page": {"offset": 9_000},
        "search": {"search": "paper seed 77"},
        "by best": {"sort": "-eval_best", "min_best": 0.5},
        "by compute hours": {"sort": "-compute_hours"},
    }
    for name, filters in questions.items():
        assert admin.runs(limit=100, **filters).items, name
    # Named `paper` are the numbers 3 modulo 4, so tagged those 0 modulo 7; those 0 modulo 20 are archived.
    numbers = [n for n in range(1, 10_001) if "77" in str(n) and (n % 4 == 3 or n % 7 == 0) and n % 20]
    assert admin.runs(search="paper seed 77", limit=1).total == len(numbers)
