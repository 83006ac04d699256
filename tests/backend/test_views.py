"""Saved views of the run list."""

from __future__ import annotations

from bapo.api.runs import RunFilters, RunStatus
from bapo.api.views import ViewWrite
from bapo.client import Client
from tests.support.refusals import refuses


def view(name: str) -> ViewWrite:
    filters = RunFilters(search="c1=0.25", status=[RunStatus.FAILED], min_best=0.3)
    return ViewWrite(name=name, filters=filters, sort="-eval_best", columns=["name", "eval_best"])


def test_a_view_keeps_filters_order_and_columns(admin: Client) -> None:
    made = admin.create_view(view("kept"))
    found = admin.view(made.id)
    kept = (found.filters.search, list(found.filters.status), found.filters.min_best)
    assert kept == ("c1=0.25", [RunStatus.FAILED], 0.3)
    assert (found.sort, list(found.columns)) == ("-eval_best", ["name", "eval_best"])
    assert (found.owner, found.is_own) == ("admin", True)
    changed = admin.replace_view(made.id, ViewWrite(name="renamed", filters=RunFilters(starred=True)))
    assert (changed.name, changed.filters.starred, changed.filters.search, changed.sort) == (
        "renamed",
        True,
        None,
        "-created_at",
    )
    assert changed.updated_at >= made.updated_at
    admin.delete_view(made.id)
    with refuses(404):
        admin.view(made.id)


def test_everybody_opens_a_view_and_its_author_changes_it(admin: Client, member: Client) -> None:
    made = admin.create_view(view("shared"))
    seen = member.view(made.id)
    assert (seen.owner, seen.is_own) == ("admin", False)
    for change in (lambda: member.replace_view(made.id, view("stolen")), lambda: member.delete_view(made.id)):
        with refuses(403, "not_your_view"):
            change()
    # The same name, of somebody else.
    assert member.create_view(view("shared")).owner == "mel"
    assert [(each.name, each.owner) for each in admin.views().items if each.name == "shared"] == [
        ("shared", "admin"),
        ("shared", "mel"),
    ]


def test_one_person_has_a_name_once(admin: Client) -> None:
    admin.create_view(view("once"))
    other = admin.create_view(view("twice"))
    for change in (lambda: admin.create_view(view("once")), lambda: admin.replace_view(other.id, view("once"))):
        with refuses(409, field="name"):
            change()
    assert admin.view(other.id).name == "twice"


def test_an_order_that_is_none_is_refused(admin: Client) -> None:
    with refuses(422, field="sort"):
        admin.create_view(ViewWrite(name="x", sort="-nonsense"))
