"""Passwords and tokens are guessed, sessions are planted, requests come from other sites."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from sqlalchemy import delete, text, update
from starlette.requests import Request

from backend.app import create_app
from backend.identity.auth import passwords, throttle
from backend.identity.auth.browser import client_address
from backend.kit.database import Database
from backend.kit.permissions import Permission, declared_routes
from backend.kit.principal import new_secret
from backend.models import LoginAttempt
from bapo.api.accounts import Login, PasswordSet, TokenCreate
from bapo.api.people import PersonCreate, PersonUpdate
from bapo.client import SESSION_COOKIE, Client
from bapo.deploy.proxies import is_own_origin
from tests.support.declared import BODIES
from tests.support.refusals import refuses
from tests.support.services import BackendServer, running_backend

pytestmark = pytest.mark.usefixtures("cheap_passwords")

PASSWORD = "correct horse battery"
LOGIN = "/api/v1/auth/login"


@pytest.fixture(scope="module")
def ada(admin: Client) -> str:
    """Somebody with a password."""
    return with_password(admin, "ada")


def with_password(admin: Client, name: str) -> str:
    person = admin.create_person(PersonCreate(name=name))
    code = parse_qs(urlsplit(person.link.path).query)["code"][0]
    admin.set_password(PasswordSet(code=code, password=PASSWORD))
    return person.id


@pytest.fixture(autouse=True)
def no_failures(database: Database) -> None:
    """Each test begins without failures."""
    with database.session() as session, session.begin():
        session.execute(delete(LoginAttempt))


def attempt(http: httpx.Client, name: str, password: str, address: str = "203.0.113.7") -> httpx.Response:
    return http.post(LOGIN, json={"name": name, "password": password}, headers={"X-Forwarded-For": address})


@pytest.fixture
def http(backend_server: BackendServer) -> Iterator[httpx.Client]:
    with backend_server.http() as client:
        client.timeout = httpx.Timeout(60)
        yield client


def test_an_unknown_a_disabled_and_a_wrong_login_take_the_same_work_and_answer_the_same(
    http: httpx.Client, admin: Client, ada: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = with_password(admin, "gone")
    admin.update_person(gone, PersonUpdate(disabled=True))
    admin.create_person(PersonCreate(name="never"))
    verified: list[str] = []
    verify = type(passwords.HASHER).verify

    def noted(hasher: object, stored: str, password: str) -> bool:
        verified.append(stored)
        return verify(passwords.HASHER, stored, password)

    monkeypatch.setattr(type(passwords.HASHER), "verify", noted)
    answers = [attempt(http, name, "a wrong password") for name in ("ada", "nobody", "gone", "never")]
    # One each, whoever it is.
    assert len(verified) == 4
    bodies = [answer.json() | {"request_id": ""} for answer in answers]
    assert all(body == bodies[0] for body in bodies)
    assert {answer.status_code for answer in answers} == {401}
    # The right password of a disabled user is answered the same too.
    assert attempt(http, "gone", PASSWORD).json() | {"request_id": ""} == bodies[0]


def test_guessing_is_slowed_down_and_says_for_how_long(http: httpx.Client, ada: str) -> None:
    for _ in range(throttle.MOST_OF_NAME_AND_ADDRESS):
        assert attempt(http, "ada", "guess guess guess").status_code == 401
    refused = attempt(http, "ada", PASSWORD)
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_attempts")
    assert 0 < int(refused.headers["Retry-After"]) <= throttle.WINDOW_SECONDS
    # From elsewhere its owner gets in: nobody is locked out by others.
    assert attempt(http, "ada", PASSWORD, "198.51.100.2").status_code == 200


def test_the_wait_ends_and_refused_tries_do_not_prolong_it(http: httpx.Client, ada: str, database: Database) -> None:
    for _ in range(throttle.MOST_OF_NAME_AND_ADDRESS + 3):
        attempt(http, "ada", "guess guess guess")
    with database.session() as session, session.begin():
        assert session.scalars(text("SELECT count(*) FROM login_attempts")).one() == throttle.MOST_OF_NAME_AND_ADDRESS
        # As if the window had passed.
        past = LoginAttempt.at - text("interval '301 seconds'")
        session.execute(update(LoginAttempt).values(at=past))
    assert attempt(http, "ada", PASSWORD).status_code == 200


def test_many_addresses_against_one_name_do_not_keep_its_owner_out(
    http: httpx.Client, ada: str, database: Database
) -> None:
    assert attempt(http, "ada", PASSWORD, "198.51.100.2").status_code == 200
    with database.session() as session, session.begin():
        for number in range(throttle.MOST_OF_NAME):
            session.add(LoginAttempt(name="ada", address=f"203.0.113.{number}"))
    # A stranger's next address is refused; the owner's own is known.
    assert attempt(http, "ada", "guess guess guess", "203.0.113.200").status_code == 429
    assert attempt(http, "ada", PASSWORD, "198.51.100.2").status_code == 200


def test_one_address_does_not_try_many_names(http: httpx.Client, database: Database) -> None:
    with database.session() as session, session.begin():
        for number in range(throttle.MOST_OF_ADDRESS):
            session.add(LoginAttempt(name=f"user{number}", address="203.0.113.9"))
    assert attempt(http, "another", "guess guess guess", "203.0.113.9").status_code == 429
    assert attempt(http, "another", "guess guess guess", "203.0.113.10").status_code == 401


@pytest.mark.parametrize(
    ("others", "status"),
    [
        # The lower 64 bits are the client's to choose.
        (["2001:db8:1:2::9", "2001:db8:1:2:ffff:ffff:ffff:ffff"], 429),
        (["2001:db8:1:3::1", "2001:db8:1:1:ffff:ffff:ffff:ffff", "203.0.113.9"], 401),
    ],
)
def test_a_network_of_ipv6_counts_as_one_address(http: httpx.Client, others: list[str], status: int) -> None:
    for number in range(throttle.MOST_OF_NAME_AND_ADDRESS):
        assert attempt(http, "newton", "guess guess guess", f"2001:db8:1:2::{number:x}").status_code == 401
    assert [attempt(http, "newton", "guess guess guess", other).status_code for other in others] == [status] * len(
        others
    )


def test_an_owner_is_known_by_the_network_of_an_ipv6_address(http: httpx.Client, ada: str, database: Database) -> None:
    assert attempt(http, "ada", PASSWORD, "2001:db8:5:6::1").status_code == 200
    with database.session() as session, session.begin():
        for number in range(throttle.MOST_OF_NAME):
            session.add(LoginAttempt(name="ada", address=f"203.0.113.{number}"))
    assert attempt(http, "ada", PASSWORD, "2001:db8:5:6:aaaa::2").status_code == 200
    assert attempt(http, "ada", PASSWORD, "2001:db8:5:7::2").status_code == 429


def test_a_second_server_process_counts_the_same_failures(
    http: httpx.Client, ada: str, backend_server: BackendServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for _ in range(throttle.MOST_OF_NAME_AND_ADDRESS):
        attempt(http, "ada", "guess guess guess")
    url = backend_server.settings.database_url
    folder = backend_server.settings.admin_token_file.parent
    with running_backend(url, folder) as second, second.http() as other:
        assert attempt(other, "ada", PASSWORD).status_code == 429


def test_guessed_tokens_and_codes_open_nothing(http: httpx.Client) -> None:
    for secret in ("", "x", new_secret(), "bapo_" + new_secret(), "' OR 1=1 --", "a" * 190):
        for body in ({"token": secret}, {"code": secret}):
            assert http.post(LOGIN, json=body).status_code == 401
        if secret.isascii() and secret:
            assert http.get("/api/v1/me", headers={"Authorization": f"Bearer {secret}"}).status_code == 401


def test_a_planted_session_is_not_the_one_that_is_logged_in(
    backend_server: BackendServer, http: httpx.Client, ada: str
) -> None:
    planted = attempt(http, "ada", PASSWORD).cookies[SESSION_COOKIE]
    invented = new_secret()
    for former in (planted, invented):
        http.cookies.clear()
        answer = http.post(
            LOGIN, json={"name": "ada", "password": PASSWORD}, headers={"Cookie": f"{SESSION_COOKIE}={former}"}
        )
        secret = answer.cookies[SESSION_COOKIE]
        assert secret not in (planted, invented)
        with Client(backend_server.url, cookie=former) as attacker, refuses(401):
            attacker.me()


def test_no_change_by_cookie_comes_from_another_site(backend_server: BackendServer, http: httpx.Client) -> None:
    with Client(backend_server.url) as client:
        _, secret = client.login(Login(token=backend_server.admin_token))
    app = create_app(backend_server.settings)
    changes = [
        (route.method, route.path)
        for route in declared_routes(app)
        if route.method not in ("GET", "HEAD") and route.permission not in (Permission.OPEN, Permission.SCRAPE)
    ]
    assert {method for method, _ in changes} == {"POST", "PUT", "PATCH", "DELETE"}
    cookie = {"Cookie": f"{SESSION_COOKIE}={secret}"}
    for method, path in changes:
        for origin in (None, "null", "http://evil.example", "http://127.0.0.1.evil.example"):
            headers = cookie | ({} if origin is None else {"Origin": origin})
            # As a form of another site would send it.
            answer = http.request(method, path, headers=headers, json=BODIES.get((method, path), {}))
            wanted = "missing_origin" if origin is None else "foreign_origin"
            assert (answer.status_code, answer.json()["code"]) == (403, wanted), (method, path, origin)
    # A login too: nobody is logged in as somebody else by another site.
    answer = http.post(LOGIN, json={"token": backend_server.admin_token}, headers={"Origin": "http://evil.example"})
    assert answer.status_code == 403


def test_a_stream_cannot_be_read_from_another_site(backend_server: BackendServer, http: httpx.Client) -> None:
    with Client(backend_server.url) as client:
        _, secret = client.login(Login(token=backend_server.admin_token))
    headers = {"Cookie": f"{SESSION_COOKIE}={secret}", "Origin": "http://evil.example"}
    with http.stream("GET", "/api/v1/events", headers=headers) as answer:
        # The browser hands a page of another origin nothing without these.
        assert "access-control-allow-origin" not in answer.headers
        assert "access-control-allow-credentials" not in answer.headers
    answer = http.request("OPTIONS", "/api/v1/runs", headers={**headers, "Access-Control-Request-Method": "GET"})
    assert "access-control-allow-origin" not in answer.headers


def test_no_secret_is_logged_or_stored_in_the_clear(
    backend_server: BackendServer, http: httpx.Client, admin: Client, ada: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = attempt(http, "ada", PASSWORD).cookies[SESSION_COOKIE]
    with Client(backend_server.url, cookie=secret) as client:
        token = client.create_token(TokenCreate(name="quiet")).secret
    link = admin.new_password_link(ada).path
    attempt(http, "ada", "wrong wrong wrong")
    http.get("/api/v1/nothing", headers={"Authorization": f"Bearer {token}"})
    logged = "".join(str(vars(record)) for record in caplog.records if record.name.startswith("backend"))
    database = Database(backend_server.settings.database_url)
    with database.engine.connect() as connection:
        stored = "".join(
            str(connection.exec_driver_sql(f"TABLE {table}").all())
            for table in ("audit", "users", "api_tokens", "sessions", "login_codes", "login_attempts")
        )
    database.close()
    for each in (secret, token, PASSWORD, "wrong wrong wrong", parse_qs(urlsplit(link).query)["code"][0]):
        assert each not in logged
        assert each not in stored


@pytest.mark.parametrize(
    ("peer", "named", "address"),
    [
        ("127.0.0.1", "203.0.113.7", "203.0.113.7"),
        ("127.0.0.1", "evil, 203.0.113.7", "203.0.113.7"),
        ("127.0.0.1", "not an address", "127.0.0.1"),
        ("10.1.2.3", "203.0.113.7", "203.0.113.7"),
        # Whoever is no proxy of ours speaks for itself only.
        ("192.0.2.1", "203.0.113.7", "192.0.2.1"),
    ],
)
def test_only_a_trusted_proxy_names_the_address(
    backend_server: BackendServer, peer: str, named: str, address: str
) -> None:
    scope = {"type": "http", "client": (peer, 1), "headers": [(b"x-forwarded-for", named.encode())]}
    settings = backend_server.settings.model_copy(update={"trusted_proxies": "10.0.0.0/8"})
    assert client_address(Request(scope), settings) == address


@pytest.mark.parametrize(
    ("origin", "host", "is_https", "own"),
    [
        ("https://bapo.example.org", "bapo.example.org", True, True),
        # Whoever stands between browser and server can answer for it without TLS.
        ("http://bapo.example.org", "bapo.example.org", True, False),
        ("http://bapo.example.org", "bapo.example.org", False, True),
        ("http://127.0.0.1:8000", "127.0.0.1:8000", True, True),
        ("http://[::1]:8000", "[::1]:8000", True, True),
        ("http://localhost.evil.example", "localhost.evil.example", True, False),
        ("ftp://bapo.example.org", "bapo.example.org", False, False),
        ("file://bapo.example.org", "bapo.example.org", False, False),
        ("bapo.example.org", "bapo.example.org", False, False),
        ("null", "null", False, False),
        ("", "", False, False),
    ],
)
def test_an_origin_is_ours_by_its_scheme_too(origin: str, host: str, is_https: bool, own: bool) -> None:
    assert is_own_origin(origin, host, is_https=is_https) is own


@pytest.mark.parametrize("header", [{"Host": "["}, {"Origin": "http://["}, {"Origin": "ftp://127.0.0.1"}])
def test_a_malformed_host_or_origin_is_refused(http: httpx.Client, header: dict[str, str]) -> None:
    answer = http.post(LOGIN, json={"token": "x"}, headers=header)
    assert (answer.status_code, answer.json()["code"]) in ((421, "unknown_host"), (403, "foreign_origin"))
