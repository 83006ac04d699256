"""Logins, tokens, hosts, origins."""

from __future__ import annotations

import stat
from pathlib import Path

import httpx
import pytest

from backend.identity.auth.bootstrap import ADMIN, bootstrap, token_in
from backend.identity.auth.service import new_login_code
from backend.kit.database import Database
from backend.kit.principal import new_secret
from bapo.api.accounts import Login, UserInfo
from bapo.api.runs import RunCreate
from bapo.client import SESSION_COOKIE, ApiError, Client
from tests.support.refusals import refuses
from tests.support.services import BackendServer, wait_until


def login_code(database: Database, server: BackendServer, seconds: float = 60) -> str:
    with database.session() as session, session.begin():
        _, admin = bootstrap(session, server.settings)
        return new_login_code(session, admin, seconds)


def test_a_code_logs_in_once(backend_server: BackendServer, database: Database) -> None:
    code = login_code(database, backend_server)
    with Client(backend_server.url) as client:
        user, secret = client.login(Login(code=code))
        assert (user.name, user.role) == ("admin", "admin")
        with pytest.raises(ApiError, match="used or expired") as refusal:
            client.login(Login(code=code))
    assert refusal.value.status == 401
    with Client(backend_server.url, cookie=secret) as client:
        assert client.me() == user


def test_an_expired_code_logs_nobody_in(backend_server: BackendServer, database: Database) -> None:
    code = login_code(database, backend_server, seconds=-1)
    with Client(backend_server.url) as client, pytest.raises(ApiError, match="used or expired"):
        client.login(Login(code=code))


@pytest.mark.parametrize("body", [None, {}, {"code": ""}, {"token": "wrong"}, {"code": "ü" * 40}])
def test_no_login_without_a_secret(backend_server: BackendServer, body: dict[str, str] | None) -> None:
    with backend_server.http() as http:
        answer = http.post("/api/v1/auth/login", json=body)
    assert answer.status_code == 401
    assert answer.json()["code"] == "login_refused"


def test_a_workers_token_is_no_login(backend_server: BackendServer) -> None:
    with Client(backend_server.url) as client, refuses(401):
        client.login(Login(token=backend_server.worker_token))


def test_the_cookie_is_for_this_site_and_not_for_scripts(backend_server: BackendServer) -> None:
    with backend_server.http() as http:
        answer = http.post("/api/v1/auth/login", json={"token": backend_server.admin_token})
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        assert http.get("/api/v1/me").json()["name"] == ADMIN


def test_a_secret_of_a_session_ends_with_the_logout(backend_server: BackendServer) -> None:
    with Client(backend_server.url) as client:
        _, secret = client.login(Login(token=backend_server.admin_token))
    with Client(backend_server.url, cookie=secret) as client:
        client.logout()
        with pytest.raises(ApiError) as refusal:
            client.me()
    assert refusal.value.status == 401


@pytest.mark.parametrize(
    ("origin", "status"),
    [("own", 201), ("http://evil.example", 403), ("null", 403), (None, 403)],
)
def test_a_change_by_cookie_needs_our_own_origin(
    backend_server: BackendServer, origin: str | None, status: int
) -> None:
    own = backend_server.url if origin == "own" else origin
    headers = {} if own is None else {"Origin": own}
    with backend_server.http() as http:
        http.post("/api/v1/auth/login", json={"token": backend_server.admin_token})
        body = {"name": "x", "recipe": "countdown-demo", "start": False}
        answer = http.post("/api/v1/runs", json=body, headers=headers)
        assert answer.status_code == status
        # Reading needs none.
        assert http.get("/api/v1/runs").status_code == 200


def test_a_foreign_origin_is_refused_with_a_token_too(backend_server: BackendServer) -> None:
    headers = {"Authorization": f"Bearer {backend_server.admin_token}", "Origin": "http://evil.example"}
    with backend_server.http() as http:
        answer = http.delete("/api/v1/runs/x", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "foreign_origin")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_a_foreign_host_is_refused(backend_server: BackendServer, host: str) -> None:
    with backend_server.http() as http:
        answer = http.get("/healthz", headers={"Host": host})
    assert answer.status_code == 421
    assert answer.json()["field"] == "Host"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:9", "LOCALHOST", "[::1]:80"])
def test_loopback_hosts_are_ours(backend_server: BackendServer, host: str) -> None:
    with backend_server.http() as http:
        assert http.get("/healthz", headers={"Host": host}).json()["status"] == "ok"


def test_the_cookie_beside_a_token_does_not_count(backend_server: BackendServer) -> None:
    headers = {"Authorization": "Bearer nonsense", "Cookie": f"{SESSION_COOKIE}={backend_server.admin_token}"}
    with backend_server.http() as http:
        assert http.get("/api/v1/me", headers=headers).status_code == 401


def test_a_viewer_reads_and_changes_nothing(viewer: Client, admin: Client) -> None:
    run = admin.create_run(RunCreate(name="x", recipe="countdown-demo", start=False))
    assert viewer.run(run.id).allowed_actions == []
    with refuses(403, "forbidden"):
        viewer.stop(run.id)
    with refuses(403):
        viewer.create_run(RunCreate(name="y"))


def test_a_member_changes_own_runs_only(member: Client, admin: Client) -> None:
    foreign = admin.create_run(RunCreate(name="x", recipe="countdown-demo", start=False))
    with refuses(403, "not_your_run"):
        member.start(foreign.id)
    assert member.run(foreign.id).allowed_actions == ["clone"]
    own = member.clone(foreign.id, RunCreate(name="mine", start=False))
    assert own.owner == "mel"
    assert "start" in own.allowed_actions
    assert admin.start(own.id).status == "queued"


def test_a_new_token_in_the_file_replaces_the_old_one(backend_server: BackendServer, database: Database) -> None:
    with backend_server.client() as client:
        assert isinstance(client.me(), UserInfo)
        old = backend_server.settings.admin_token_file.read_text()
        backend_server.settings.admin_token_file.write_text(new_secret())
        with database.session() as session, session.begin():
            bootstrap(session, backend_server.settings)

        def is_refused() -> bool:
            try:
                client.me()
            except ApiError as refusal:
                return refusal.status == 401
            return False

        # The server may remember for a second whom it has just let in.
        wait_until(is_refused)
        # And back again for the other tests.
        backend_server.settings.admin_token_file.write_text(old)
        with database.session() as session, session.begin():
            bootstrap(session, backend_server.settings)
        client.me()


def test_token_files_are_for_their_owner_only(backend_server: BackendServer, tmp_path: Path) -> None:
    for file in (backend_server.settings.admin_token_file, backend_server.settings.worker_token_file):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file = tmp_path / "new" / "token"
    assert token_in(file) == token_in(file)
    assert [path.name for path in file.parent.iterdir()] == ["token"]


def test_an_empty_token_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("\n")
    with pytest.raises(ValueError, match="holds no complete token: delete the file"):
        token_in(tmp_path / "token")


def test_secrets_are_not_stored(backend_server: BackendServer, database: Database) -> None:
    code = login_code(database, backend_server)
    with database.engine.connect() as connection:
        for table in ("api_tokens", "sessions", "login_codes"):
            stored = str(connection.exec_driver_sql(f"TABLE {table}").all())
            assert backend_server.admin_token not in stored
            assert code not in stored


def test_an_error_says_which_request_it_was(backend_server: BackendServer) -> None:
    with backend_server.http() as http:
        answer = http.get("/api/v1/me", headers={"X-Request-ID": "abc-1"})
        assert answer.json()["request_id"] == answer.headers["X-Request-ID"] == "abc-1"
        answer = http.get("/api/v1/me", headers={"X-Request-ID": "<script>"})
        assert "<" not in answer.headers["X-Request-ID"]
    assert isinstance(answer, httpx.Response)
