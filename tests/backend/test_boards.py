"""Boards: panels that follow the runs, changes by several people, and read-only links."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from backend.kit.database import Database
from backend.models import BoardLink
from bapo.api.boards import (
    BoardChange,
    BoardCreate,
    BoardInfo,
    BoardLinkCreate,
    ChartPanel,
    Panel,
    PaperPanel,
    TextPanel,
)
from bapo.api.runs import RunFilters, RunUpdate
from bapo.api.views import ViewWrite
from bapo.client import ApiError, Client
from tests.support.command_line import run_here
from tests.support.imports import imported
from tests.support.journals import evaluation, step
from tests.support.refusals import refuses
from tests.support.services import BackendServer, add_person

LOSS = "actor/pg_loss"


@pytest.fixture(scope="module")
def runs(admin: Client) -> list[str]:
    """Two seeds of one config, whose losses are 1, 2, …, 6 and twice that, and a run of GRPO with 10 at each step."""
    made = [
        imported(admin, f"bapo-{seed}", [step(n, loss=n * seed) for n in range(1, 7)], training={"seed": seed})
        for seed in (1, 2)
    ]
    made.append(imported(admin, "grpo-1", [step(n, loss=10) for n in range(1, 7)], method={"type": "grpo"}))
    return made


def made(client: Client, *panels: Panel, name: str = "board", **fields: Any) -> BoardInfo:
    return client.create_board(BoardCreate(name=name, panels=panels, **fields))


def changed(board: BoardInfo, *panels: Panel) -> BoardChange:
    return BoardChange(name=board.name, filters=board.filters, panels=panels, version=board.version)


def shown(client: Client, panel: Panel, **fields: Any) -> Any:
    found = client.board_panel(made(client, panel, **fields).id, panel.id)
    assert found.problem is None
    return found.chart or found.text or found.paper


BAPO = RunFilters(where=["name ~ bapo-"])


# ---------------------------------------------------------------- charts


def test_a_chart_is_the_mean_over_seeds_with_its_band(admin: Client, runs: list[str]) -> None:
    chart = shown(admin, ChartPanel(id="c", y=LOSS, filters=RunFilters(where=["name ~ -"])))
    assert {each.label: each.x for each in chart.curves} == {"bapo": [1, 2, 3, 4, 5, 6], "grpo": [1, 2, 3, 4, 5, 6]}
    bapo = next(each for each in chart.curves if each.label == "bapo")
    # At step 4 the runs have 4 and 8: mean 6, s = 2.828, 12.706 × 2.828 / √2 = 25.41.
    assert (bapo.mean[3], bapo.n[3]) == (6, 2)
    assert bapo.high[3] == pytest.approx(31.41, abs=0.01)
    assert (chart.num_shown, chart.num_matching) == (3, 3)


def test_a_chart_smooths_over_recorded_values(admin: Client, runs: list[str]) -> None:
    chart = shown(admin, ChartPanel(id="c", y=LOSS, smooth=3, filters=RunFilters(where=["name = bapo-1"])))
    # (1), (1 + 2) / 2, (1 + 2 + 3) / 3, (2 + 3 + 4) / 3, …
    assert chart.curves[0].mean == [1, 1.5, 2, 3, 4, 5]


def test_over_another_metric_a_group_is_a_mean_and_a_run_alone_goes_its_own_way(admin: Client, runs: list[str]) -> None:
    panel = ChartPanel(id="c", y=LOSS, x="metric.training/global_step", filters=BAPO)
    (bapo,) = shown(admin, panel).curves
    # 6 values a run: 3 stretches of 2. In the first the runs have 1.5 and 3 at step 1.5 on average: mean 2.25.
    assert (bapo.label, bapo.x, bapo.mean, bapo.n) == ("bapo", [1.5, 3.5, 5.5], [2.25, 5.25, 8.25], [2, 2, 2])
    # Of two runs s = 1.5/√2, so that the half width is 12.706 · 0.75.
    assert bapo.high[0] == pytest.approx(2.25 + 12.706 * 0.75, abs=0.01)
    alone = shown(admin, panel.model_copy(update={"group": "run"})).curves
    assert sorted((each.x[-1], each.mean[-1], each.n) for each in alone) == [(6, 6, []), (6, 12, [])]
    rollouts = shown(admin, ChartPanel(id="c", y=LOSS, x="rollouts", group="run", filters=BAPO))
    assert [each.x[0] for each in rollouts.curves] == [256, 256]


def test_a_chart_is_of_at_most_fifty_runs_and_a_thousand_points(admin: Client) -> None:
    long = imported(admin, "many-0", [step(n, loss=n % 7) for n in range(1, 2_001)])
    for number in range(1, 52):
        imported(admin, f"many-{number}", [step(1)], training={"seed": number})
    panel = ChartPanel(id="c", y=LOSS, group="run", filters=RunFilters(where=["name ~ many-"]))
    chart = shown(admin, panel)
    assert (len(chart.curves), chart.num_shown, chart.num_matching) == (50, 50, 52)
    alone = shown(admin, panel.model_copy(update={"filters": RunFilters(where=[f"id = {long}"])})).curves[0]
    assert 500 < len(alone.x) <= 1_002
    assert alone.num_positions == 2_000
    text = shown(admin, TextPanel(id="t", text="{{max metric.actor/pg_loss of name ~ many-}}"))
    assert "at most 50 runs" in text.problems[0]


def test_a_board_follows_its_runs(admin: Client, runs: list[str]) -> None:
    view = admin.create_view(ViewWrite(name="followed", filters=RunFilters(tag=["followed"])))
    panel = ChartPanel(id="c", y=LOSS, view=view.id, group="run")
    board = made(admin, panel, TextPanel(id="t", view=view.id, text="{{count}} runs"))
    assert "No run matches" in (admin.board_panel(board.id, "c").problem or "")
    admin.update_run(runs[0], RunUpdate(tags=["followed"]))
    chart = admin.board_panel(board.id, "c").chart
    assert chart is not None
    assert [each.label for each in chart.curves] == ["bapo-1"]
    assert admin.board_panel(board.id, "t").text.text == "1 runs"  # type: ignore[union-attr]
    # The view changes, and with it the board.
    admin.replace_view(view.id, ViewWrite(name="followed", filters=RunFilters(where=["name = grpo-1"])))
    chart = admin.board_panel(board.id, "c").chart
    assert chart is not None
    assert [each.label for each in chart.curves] == ["grpo-1"]
    admin.delete_view(view.id)
    assert "no such saved view" in (admin.board_panel(board.id, "c").problem or "")


def test_an_unknown_metric_is_named_with_what_is_near(admin: Client, runs: list[str]) -> None:
    board = made(admin, ChartPanel(id="c", y="actor/pg_los", filters=BAPO), ChartPanel(id="d", y="zzz", filters=BAPO))
    assert "No run here has recorded actor/pg_los; did you mean actor/pg_loss" in (
        admin.board_panel(board.id, "c").problem or ""
    )
    assert admin.board_panel(board.id, "d").problem == "No run here has recorded zzz yet."
    unknown = made(admin, ChartPanel(id="c", y=LOSS, group="method.c9", filters=BAPO))
    assert "no run has the config field 'method.c9'" in (admin.board_panel(unknown.id, "c").problem or "")


# ---------------------------------------------------------------- texts


def test_a_text_has_live_numbers(admin: Client, runs: list[str]) -> None:
    text = (
        "{{last metric.actor/pg_loss of name ~ bapo-}}, {{max metric.actor/pg_loss of name = grpo-1}}, "
        "{{mean metric.actor/pg_loss of name = bapo-1}}, {{count of method = grpo; name = grpo-1}}, "
        "{{last step of name = nobody}}"
    )
    found = shown(admin, TextPanel(id="t", text=text))
    # The newest losses are 6 and 12: mean 9, 12.706 × 4.243 / √2 = 38.1. The mean of 1 to 6 is 3.5.
    assert found.text.replace("\\", "") == "9 ±\u202f38 (n = 2), 10 (n = 1), 3.5 (n = 1), 1, no run"
    assert found.problems == []


@pytest.mark.parametrize(
    ("placeholder", "remedy"),
    [
        ("{{lst step}}", "is no figure"),
        ("{{last nothing}}", "there is no such column"),
        ("{{last name}}", "holds no numbers"),
        ("{{last step of method}}", "write COLUMN, an operator"),
        ("{{last step of nothing = 1}}", "there is no such column"),
    ],
)
def test_a_wrong_placeholder_is_named(admin: Client, placeholder: str, remedy: str) -> None:
    with pytest.raises(ApiError) as caught:
        made(admin, TextPanel(id="fine", text="{{count}}"), TextPanel(id="t", text=f"Now: {placeholder}."))
    body = caught.value.body
    assert (caught.value.status, body.code, body.field) == (422, "invalid_placeholder", "panels.1.text")
    assert body.value == placeholder
    assert remedy in body.remedy


# ---------------------------------------------------------------- the paper


def test_a_board_begins_as_the_paper(admin: Client, runs: list[str]) -> None:
    board = made(admin, template="as-the-paper", filters=BAPO)
    assert [each.kind for each in board.panels] == ["text", "paper"]
    paper = admin.board_panel(board.id, "paper").paper
    assert paper is not None
    drawn = {each.name: each for each in paper.sections if each.figures}
    assert "figure-4" in {each.name for each in paper.sections}
    assert drawn
    assert all({"data", "layout"} <= set(figure) for each in drawn.values() for figure in each.figures)
    some = made(admin, PaperPanel(id="p", figures=["figure-4"], filters=BAPO))
    found = admin.board_panel(some.id, "p", scheme="dark").paper
    assert found is not None
    assert [each.name for each in found.sections] == ["figure-4"]
    wrong = made(admin, PaperPanel(id="p", figures=["figure-99"], filters=BAPO))
    assert "there is no such figure" in (admin.board_panel(wrong.id, "p").problem or "")


# ---------------------------------------------------------------- changes


def test_a_change_of_an_older_version_is_refused_and_loses_nothing(admin: Client, member: Client) -> None:
    first, second = TextPanel(id="a", text="first"), TextPanel(id="b", text="second")
    board = made(admin, first)
    theirs = member.replace_board(board.id, changed(board, first, second))
    assert (theirs.version, theirs.updated_by, theirs.author) == (2, "mel", "admin")
    with pytest.raises(ApiError) as caught:
        admin.replace_board(board.id, changed(board, second))
    assert (caught.value.status, caught.value.body.code, caught.value.body.field) == (409, "board_changed", "version")
    assert "mel has saved version 2" in caught.value.body.remedy
    assert [each.id for each in admin.board(board.id).panels] == ["a", "b"]


@pytest.mark.parametrize(
    ("panel", "field"),
    [
        (ChartPanel(id="c", y=LOSS, filters=RunFilters(where=["method >"])), "panels.0.filters.where"),
        (ChartPanel(id="c", y=LOSS, filters=RunFilters(starred=True)), "panels.0.filters.starred"),
        (ChartPanel(id="c", y=LOSS, filters=RunFilters(project=["other"])), "panels.0.filters.project"),
        (ChartPanel(id="c", y=LOSS, filters=RunFilters(trash="only")), "panels.0.filters.trash"),
        (ChartPanel(id="c", y=LOSS, view="nosuchview"), "panels.0.view"),
    ],
)
def test_filters_that_cannot_be_are_named(admin: Client, panel: Panel, field: str) -> None:
    with refuses(422, field=field):
        made(admin, panel)


def test_two_panels_have_two_ids(admin: Client) -> None:
    with refuses(422, field="panels.1.id"):
        made(admin, TextPanel(id="a", text=""), TextPanel(id="a", text=""))


def test_viewers_look_and_members_change(admin: Client, viewer: Client, member: Client, runs: list[str]) -> None:
    board = made(admin, ChartPanel(id="c", y=LOSS, filters=BAPO), name="for all")
    assert viewer.board(board.id).may_change is False
    assert member.board(board.id).may_change is True
    assert viewer.board_panel(board.id, "c").chart is not None
    for call in (
        lambda: made(viewer),
        lambda: viewer.replace_board(board.id, changed(board)),
        lambda: viewer.delete_board(board.id),
        lambda: viewer.share_board(board.id, BoardLinkCreate()),
        lambda: viewer.board_links(board.id),
    ):
        with refuses(403, "forbidden"):
            call()
    member.delete_board(board.id)
    with refuses(404):
        admin.board(board.id)
    with refuses(404):
        admin.board_panel(board.id, "c")


def test_who_only_looks_into_the_project_changes_nothing(admin: Client, backend_server: BackendServer) -> None:
    board = made(admin)
    token = add_person(backend_server, "board-looker", projects={"default": "viewer", "other": "member"})
    with backend_server.client(token) as looker:
        assert looker.board(board.id).may_change is False
        with refuses(403, "forbidden"):
            looker.replace_board(board.id, changed(board))


def test_a_board_made_twice_with_a_key_is_one(admin: Client) -> None:
    body = BoardCreate(name="once")
    assert admin.create_board(body, idempotency_key="k").id == admin.create_board(body, idempotency_key="k").id


# ---------------------------------------------------------------- links


def test_a_link_opens_the_board_until_it_is_revoked(
    admin: Client, member: Client, backend_server: BackendServer, runs: list[str]
) -> None:
    board = made(admin, ChartPanel(id="c", y=LOSS, filters=BAPO), name="shared")
    link = member.share_board(board.id, BoardLinkCreate(expires_in_days=7))
    assert link.address.endswith(f"/shared?key={link.secret}")
    assert link.expires_at - link.created_at == timedelta(days=7)
    with backend_server.http() as stranger:
        opened = stranger.get("/api/v1/shared-board", params={"key": link.secret})
        assert (opened.status_code, opened.json()["name"]) == (200, "shared")
        panel = stranger.get("/api/v1/shared-board/panel", params={"key": link.secret, "panel": "c"})
        assert panel.json()["chart"]["curves"][0]["mean"][3] == 6
        (listed,) = admin.board_links(board.id).items
        assert (listed.id, listed.author, listed.revoked_at) == (link.id, "mel", None)
        assert listed.last_opened_at is not None
        assert admin.board(board.id).num_links == 1
        revoked = admin.revoke_board_link(board.id, link.id)
        assert revoked.revoked_by == "admin"
        refused = stranger.get("/api/v1/shared-board", params={"key": link.secret})
        assert (refused.status_code, refused.json()["code"]) == (410, "link_revoked")
    assert admin.board(board.id).num_links == 0
    audited = {
        (each.author, each.action)
        for each in admin.audit_trail(limit=20).items
        if each.detail.get("link_id") == link.id
    }
    assert audited == {("mel", "board_shared"), ("admin", "board_link_revoked")}


def test_an_expired_link_says_so(admin: Client, backend_server: BackendServer, database: Database) -> None:
    board = made(admin)
    link = admin.share_board(board.id, BoardLinkCreate())
    with database.session() as session, session.begin():
        session.execute(update(BoardLink).values(expires_at=link.created_at).where(BoardLink.id == link.id))
    with backend_server.http() as stranger:
        refused = stranger.get("/api/v1/shared-board", params={"key": link.secret})
    assert (refused.status_code, refused.json()["code"]) == (410, "link_expired")
    assert f"expired on {link.created_at:%Y-%m-%d}" in refused.json()["remedy"]


def test_a_link_lasts_no_longer_than_the_deployment_allows(admin: Client) -> None:
    with refuses(422, field="expires_in_days"):
        admin.share_board(made(admin).id, BoardLinkCreate(expires_in_days=91))


def test_a_run_in_the_trash_is_on_no_board(admin: Client) -> None:
    run_id = imported(admin, "thrown-away", [step(1), evaluation(1, 0.5)])
    board = made(admin, TextPanel(id="t", text="{{count of name = thrown-away}}"))
    assert admin.board_panel(board.id, "t").text.text == "1"  # type: ignore[union-attr]
    admin.delete_run(run_id)
    assert admin.board_panel(board.id, "t").text.text == "0"  # type: ignore[union-attr]


# ---------------------------------------------------------------- the command line


def test_boards_come_and_go_as_files(
    backend_server: BackendServer, runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAPO_SERVER", backend_server.url)
    monkeypatch.setenv("BAPO_TOKEN", backend_server.admin_token)
    source = tmp_path / "board.toml"
    source.write_text(
        'name = "By file"\n[[panels]]\nkind = "text"\nid = "t"\ntext = "{{count of name = grpo-1}} run"\n'
        '[[panels]]\nkind = "chart"\nid = "c"\ny = "actor/pg_loss"\nfilters = { where = ["name ~ bapo-"] }\n'
    )
    made = run_here("boards", "make", source)
    assert made.returncode == 0, made.stderr
    board_id = re.search(r"board (\w+): 2 panels", made.stdout + made.stderr)[1]  # type: ignore[index]
    told = run_here("boards", "show", board_id).stdout
    assert "1 run" in told
    assert "[c] chart: 1 curve of 2 of 2 runs" in told
    definition = json.loads(run_here("boards", "show", board_id, "--definition").stdout)
    assert [panel["kind"] for panel in definition["panels"]] == ["text", "chart"]
    again = tmp_path / "board.json"
    again.write_text(json.dumps({**definition, "name": "By JSON"}))
    replaced = run_here("boards", "make", again, "--replace", board_id)
    assert "version 2" in replaced.stdout + replaced.stderr
    out = tmp_path / "out.html"
    assert run_here("boards", "export", board_id, "--out", out).returncode == 0
    assert b"<h1>By JSON</h1>" in out.read_bytes()
    shared = run_here("boards", "share", board_id, "--days", "3")
    assert "/shared?key=" in shared.stdout + shared.stderr
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"name": "", "panels": [{"kind": "chart", "id": "c", "smooth": 0, "z": 1}]}')
    refused = run_here("boards", "make", wrong)
    assert refused.returncode == 2
    # All of it at once, and in the same words over the API.
    with backend_server.http() as http:
        credentials = {"Authorization": f"Bearer {backend_server.admin_token}"}
        answer = http.post("/api/v1/boards", json=json.loads(wrong.read_text()), headers=credentials)
    over_api = {problem["field"]: problem["remedy"] for problem in answer.json()["problems"]}
    assert over_api == {
        "name": "is empty: fill it in",
        "panels.0.y": "is missing: add it",
        "panels.0.smooth": "must be at least 1",
        "panels.0.z": "no such field: remove it",
    }
    for field, remedy in over_api.items():
        assert field in refused.stderr
        assert remedy in refused.stderr
    # A panel's kind, and the condition of `--where`, too.
    wrong.write_text('{"name": "x", "filters": {"where": 5}, "panels": [{"kind": "bar"}, {"id": "c"}]}')
    refused = run_here("boards", "make", wrong, "--where", "method = bapo")
    assert refused.returncode == 2
    assert refused.stderr.splitlines() == [
        "filters.where = 5: must be a list",
        "panels.0.kind = 'bar': must be 'chart', 'text' or 'paper'",
        "panels.1.kind: is missing: add it",
    ]
    assert run_here("boards", "delete", board_id).returncode == 0
