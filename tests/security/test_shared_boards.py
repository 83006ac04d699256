"""A read-only link shows its board, and is good for nothing else."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import select, text

from backend.app import create_app
from backend.kit.database import Database
from backend.kit.errors import Problem
from backend.kit.permissions import Permission, declared_routes
from backend.kit.request_rate import RequestRate
from backend.models import BoardLink
from bapo.api.boards import BoardCreate, BoardInfo, BoardLinkCreate, ChartPanel, NewBoardLink, TextPanel
from bapo.api.runs import RunCreate, RunFilters
from bapo.client import SESSION_COOKIE, Client
from frontend.app import create_app as create_dashboard
from frontend.server.settings import FrontendSettings
from tests.support.imports import imported
from tests.support.journals import step
from tests.support.refusals import refuses
from tests.support.services import BackendServer
from tests.support.serving import serving

SECRET_CONDITION = "name ~ project-x"


@pytest.fixture(scope="module")
def board(admin: Client) -> BoardInfo:
    """A board about one of two runs of its project."""
    imported(admin, "project-x-1", [step(n, loss=n) for n in range(1, 4)])
    imported(admin, "project-y-1", [step(1, loss=987654)])
    panels = (
        ChartPanel(id="loss", y="actor/pg_loss", filters=RunFilters(where=[SECRET_CONDITION])),
        TextPanel(id="text", text="Newest: {{last metric.actor/pg_loss of name ~ project-x}}"),
        ChartPanel(id="wrong", y="actor/pg_los", filters=RunFilters(where=[SECRET_CONDITION])),
    )
    return admin.create_board(BoardCreate(name="for others", panels=panels))


@pytest.fixture(scope="module")
def link(admin: Client, board: BoardInfo) -> NewBoardLink:
    return admin.share_board(board.id, BoardLinkCreate(expires_in_days=1))


@pytest.fixture
def stranger(backend_server: BackendServer) -> Iterator[httpx.Client]:
    with backend_server.http() as http:
        yield http


def test_the_link_shows_the_panels_without_what_only_members_see(
    admin: Client, stranger: httpx.Client, link: NewBoardLink
) -> None:
    board = stranger.get("/api/v1/shared-board", params={"key": link.secret})
    panels = [
        stranger.get("/api/v1/shared-board/panel", params={"key": link.secret, "panel": each})
        for each in ("loss", "text", "wrong")
    ]
    told = " ".join(answer.text for answer in (board, *panels))
    assert {answer.status_code for answer in (board, *panels)} == {200}
    assert panels[0].json()["chart"]["curves"][0]["mean"] == [1, 2, 3]
    assert "Newest: 3" in panels[1].json()["text"]["text"].replace("\\", "")
    # Neither conditions nor placeholders, other runs, identifiers, nor which metrics there are.
    ids = [run.id for run in admin.runs(limit=100).items]
    for hidden in (SECRET_CONDITION, "{{", "project-y", "987654", "did you mean", *ids):
        assert hidden not in told, hidden
    assert panels[2].json()["problem"] == "This panel cannot be shown at the moment."


def test_the_secret_opens_nothing_else(backend_server: BackendServer, link: NewBoardLink, board: BoardInfo) -> None:
    app = create_app(backend_server.settings)
    ways = (
        {"headers": {"Authorization": f"Bearer {link.secret}"}},
        {"headers": {"Cookie": f"{SESSION_COOKIE}={link.secret}"}},
        {"params": {"key": link.secret}},
    )
    with backend_server.http() as http:
        for route in declared_routes(app):
            if route.permission in (Permission.OPEN, Permission.SCRAPE):
                continue
            path = route.path.replace("{board_id}", board.id).replace("{panel_id}", "loss")
            path = path.replace("{run_id}", "x").replace("{prompt_id:path}", "x").replace("{name}", "x")
            for way in ways:
                answer = http.request(route.method, path, **way)  # type: ignore[arg-type]
                assert answer.status_code == 401, (route, way)
        # Nor is it a login, a one-time code, or the link of another board.
        for body in ({"token": link.secret}, {"code": link.secret}):
            assert http.post("/api/v1/auth/login", json=body).status_code == 401
        panel = http.get("/api/v1/shared-board/panel", params={"key": link.secret, "panel": "nothing"})
        assert panel.status_code == 404
        # And it only reads.
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            assert http.request(method, "/api/v1/shared-board", params={"key": link.secret}).status_code == 405


@pytest.mark.parametrize("garbled", ["x", "a" * 43, "%00", "' OR 1=1 --", "\u00e9" * 20])
def test_a_garbled_link_opens_nothing(stranger: httpx.Client, link: NewBoardLink, garbled: str) -> None:
    answer = stranger.get("/api/v1/shared-board", params={"key": garbled})
    assert (answer.status_code, answer.json()["code"]) == (404, "no_such_link")
    shortened = stranger.get("/api/v1/shared-board", params={"key": link.secret[:-1]})
    assert shortened.status_code == 404


def test_the_secret_is_stored_as_a_hash_and_written_nowhere(
    admin: Client, board: BoardInfo, database: Database, stranger: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    made = admin.share_board(board.id, BoardLinkCreate())
    stranger.get("/api/v1/shared-board", params={"key": made.secret})
    # Other packages log no more than warnings (bapo.deploy.service_log).
    ours = [record for record in caplog.records if record.name.startswith("backend")]
    assert ours
    assert made.secret not in "".join(f"{record.getMessage()}{record.__dict__}" for record in ours)
    with database.session() as session, session.begin():
        row = session.scalars(select(BoardLink).where(BoardLink.id == made.id)).one()
        assert len(made.secret) == 43
        assert row.secret_hash != made.secret
        assert made.secret.startswith(row.prefix)
        assert len(row.prefix) == 4
        stored = session.execute(text("SELECT string_agg(board_links::text, '') FROM board_links")).scalar_one()
        assert made.secret not in stored
    listed = admin.board_links(board.id).model_dump_json()
    assert made.secret not in listed
    admin.revoke_board_link(board.id, made.id)


def test_boards_of_another_project_do_not_exist(outsider: Client, board: BoardInfo, link: NewBoardLink) -> None:
    assert board.id not in {each.id for each in outsider.boards().items}
    for call in (
        lambda: outsider.board(board.id),
        lambda: outsider.board_panel(board.id, "loss"),
        lambda: outsider.board_links(board.id),
        lambda: outsider.share_board(board.id, BoardLinkCreate()),
        lambda: outsider.revoke_board_link(board.id, link.id),
        lambda: outsider.delete_board(board.id),
    ):
        with refuses(404, "not_found"):
            call()


def test_a_board_shows_runs_of_its_own_project_alone(admin: Client, outsider: Client) -> None:
    outsider.create_run(RunCreate(name="project-x-foreign", recipe="countdown-demo", start=False))
    panel = TextPanel(id="t", text="{{count of name ~ project-x-foreign}}")
    # The administrator sees both projects; the board is of one.
    board = admin.create_board(BoardCreate(name="own", project="default", panels=[panel]))
    assert admin.board_panel(board.id, "t").text.text == "0"  # type: ignore[union-attr]


def test_a_link_of_a_deleted_board_opens_nothing(admin: Client, stranger: httpx.Client) -> None:
    gone = admin.create_board(BoardCreate(name="gone"))
    secret = admin.share_board(gone.id, BoardLinkCreate()).secret
    admin.delete_board(gone.id)
    assert stranger.get("/api/v1/shared-board", params={"key": secret}).status_code == 404


def test_requests_of_one_address_are_bounded() -> None:
    now = 0.0
    rate = RequestRate(2, 60, clock=lambda: now)
    rate.take("a")
    rate.take("a")
    rate.take("b")
    with pytest.raises(Problem) as refused:
        rate.take("a")
    # Two in 60 seconds: the next one after 30.
    assert (refused.value.status_code, refused.value.headers) == (429, {"Retry-After": "30"})
    now = 30.0
    rate.take("a")
    with pytest.raises(Problem):
        rate.take("a")
    rate.take("2001:db8:1:2::1")
    rate.take("2001:db8:1:2::2")
    rate.take("2001:db8:1:3::1")
    with pytest.raises(Problem):
        rate.take("2001:db8:1:2:ffff::3")


def test_the_page_needs_no_login_and_loads_nothing_of_others(
    backend_server: BackendServer, admin: Client, board: BoardInfo, link: NewBoardLink
) -> None:
    with (
        serving(create_dashboard(FrontendSettings(backend_url=backend_server.url))) as url,
        httpx.Client(base_url=url, timeout=60) as http,
    ):
        page = http.get("/shared", params={"key": link.secret})
        assert page.status_code == 200
        assert "<h1>for others</h1>" in page.text
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
        assert (page.headers["cache-control"], page.headers["referrer-policy"]) == ("no-store", "no-referrer")
        assert "set-cookie" not in page.headers
        # Its scripts are the only files beside it.
        scripts = [part.split('"')[0] for part in page.text.split('<script src="')[1:]]
        assert len(scripts) == 2
        assert {http.get(each).status_code for each in scripts} == {200}
        for hidden in (SECRET_CONDITION, "{{", "project-y", board.id):
            assert hidden not in page.text
        for path in (f"/boards/{board.id}", f"/live/boards/{board.id}", f"/reports/board/{board.id}.html"):
            closed = http.get(path, params={"key": link.secret})
            assert closed.status_code in (303, 401), path
        # An open page asks again: as long as the board shows the same it gets nothing, and nothing is kept on the way.
        told = {"If-None-Match": page.headers["etag"]}
        same = http.get("/shared", params={"key": link.secret}, headers=told)
        assert (same.status_code, same.content, same.headers["cache-control"]) == (304, b"", "no-store")
        imported(admin, "project-x-2", [step(1, loss=5)])
        other = http.get("/shared", params={"key": link.secret}, headers=told)
        assert other.status_code == 200
        assert other.headers["etag"] != page.headers["etag"]
        # Another host and another method are refused as everywhere.
        assert http.get("/shared", params={"key": link.secret}, headers={"Host": "evil.example"}).status_code == 421
        assert http.post("/shared", params={"key": link.secret}).status_code == 403
        for key, status, words in (("garbled", 404, "opens nothing"), ("", 422, "copy the whole link")):
            answer = http.get("/shared", params={"key": key})
            assert answer.status_code == status
            assert words in answer.text
        revoked = admin.share_board(board.id, BoardLinkCreate())
        admin.revoke_board_link(board.id, revoked.id)
        answer = http.get("/shared", params={"key": revoked.secret})
        assert answer.status_code == 410
        assert "This link was revoked" in answer.text
