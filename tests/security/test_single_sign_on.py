"""Single sign-on at a real provider, from the button to the page that was wanted; and attempts to abuse it."""

from __future__ import annotations

import base64
import hmac
import html
import json
import logging
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc.jwk import RSAKey

from backend.identity.auth.openid import flow
from backend.identity.auth.openid.provider import Provider
from backend.kit.context import Context
from bapo.api.people import PersonUpdate, ProjectCreate
from bapo.client import SESSION_COOKIE, SIGN_IN_COOKIE, Client
from bapo.deploy.doctor import judgements
from frontend.app import create_app
from frontend.server.settings import FrontendSettings
from tests.support.openid_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    PASSWORD,
    Claims,
    Forge,
    OpenIdProvider,
    running_provider,
)
from tests.support.ports import free_port
from tests.support.services import BackendServer, running_backend
from tests.support.serving import serving

WANTED = "/runs/abc?tab=batch"


@dataclass
class Product:
    """The dashboard in front of the server, and the provider."""

    url: str
    backend: BackendServer
    provider: OpenIdProvider
    secret_file: Path

    @property
    def context(self) -> Context:
        """The parts of the running server."""
        app: Any = self.backend.server.config.app
        context: Context = app.state.context
        return context

    def browser(self) -> httpx.Client:
        """A browser that knows nothing yet and follows no redirect by itself."""
        return httpx.Client(base_url=self.url, timeout=60)


@pytest.fixture(scope="module")
def product(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    folder = tmp_path_factory.mktemp("product")
    secret_file = folder / "client-secret"
    secret_file.write_text(CLIENT_SECRET + "\n")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    settings: dict[str, Any] = {
        "public_url": url,
        "oidc_client_id": CLIENT_ID,
        "oidc_client_secret_file": secret_file,
        "oidc_label": "Company",
        "oidc_role_claim": "groups",
        "oidc_role_rules": "bapo-admins=admin; staff=member",
        "oidc_project_claim": "teams",
    }
    with running_provider() as provider:
        provider.redirect_uri = f"{url}/login/callback"
        settings["oidc_issuer"] = provider.url
        with running_backend(postgres_url, folder, **settings) as backend:
            with backend.client() as admin:
                admin.create_project(ProjectCreate(name="planning"))
            dashboard = FrontendSettings(backend_url=backend.url, public_url=url, allowed_hosts="other.example.org")
            with serving(create_app(dashboard), port):
                yield Product(url, backend, provider, secret_file)


@pytest.fixture(autouse=True)
def good_provider(product: Product) -> Iterator[OpenIdProvider]:
    """Each test begins with a provider that does everything right, and a user."""
    product.provider.behave()
    product.provider.add(
        "ada", email="ada@example.org", email_verified=True, groups=["staff"], teams=["planning:admin"]
    )
    forget_documents(product)
    yield product.provider
    product.secret_file.write_text(CLIENT_SECRET)


def forget_documents(product: Product) -> None:
    """As if an hour had passed."""
    documents = product.context.part(Provider).documents
    documents._metadata = documents._keys = None


@pytest.fixture
def browser(product: Product) -> Iterator[httpx.Client]:
    with product.browser() as browser:
        yield browser


def leave(browser: httpx.Client, wanted: str = WANTED, **headers: str) -> str:
    """Press the button; the provider's address."""
    answer = browser.get("/login/single-sign-on", params={"next": wanted}, headers=headers)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def authorize(address: str, user: str = "ada", password: str = PASSWORD) -> str:
    """Fill in the provider's form; the address that it sends the browser back to."""
    assert "<form" in httpx.get(address, timeout=60).text
    answer = httpx.post(address, data={"user": user, "password": password}, timeout=60)
    assert answer.status_code == 302, answer.text
    return answer.headers["location"]


def sign_in(browser: httpx.Client, user: str = "ada", wanted: str = WANTED) -> httpx.Response:
    return browser.get(authorize(leave(browser, wanted), user))


def of_name(name: str, cookies: httpx.Cookies) -> list[str]:
    """The values of the cookies that begin with the name: the dashboard's port follows."""
    return [value for called, value in cookies.items() if called.startswith(name)]


def problem(answer: httpx.Response) -> str:
    """What the login page says; nobody is logged in."""
    assert not of_name(SESSION_COOKIE, answer.cookies)
    found = re.search(r'role="alert">(.*?)</p>', answer.text, re.DOTALL)
    assert found is not None, answer.text
    return html.unescape(found[1])


def me(browser: httpx.Client) -> Any:
    return browser.get("/api/v1/me").json()


def test_from_the_button_to_the_page_that_was_wanted(product: Product, browser: httpx.Client) -> None:
    page = browser.get("/login", params={"next": WANTED})
    assert "Sign in with Company" in page.text
    assert 'href="/login/single-sign-on?next=/runs/abc%3Ftab%3Dbatch"' in page.text
    address = leave(browser)
    asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert address.startswith(f"{product.provider.url}/authorization?")
    assert asked["redirect_uri"] == f"{product.url}/login/callback"
    assert asked["code_challenge_method"] == "S256"
    assert {"state", "nonce", "code_challenge"} <= set(asked)
    answer = browser.get(authorize(address))
    assert (answer.status_code, answer.headers["location"]) == (303, WANTED)
    user = me(browser)
    assert (user["name"], user["role"], user["has_single_sign_on"]) == ("ada", "member", True)
    assert [(each["name"], each["role"]) for each in user["projects"]] == [("planning", "admin")]
    assert not of_name(SIGN_IN_COOKIE, browser.cookies) + of_name("bapo_next", browser.cookies)
    with product.backend.client() as admin:
        person = next(each for each in admin.people().items if each.name == "ada")
        assert [(each.issuer, each.subject) for each in person.identities] == [(product.provider.url, "id-of-ada")]
        assert (person.email, person.has_password) == ("ada@example.org", False)
        entries = [each for each in admin.audit_trail(author="ada").items if each.action == "logged_in"]
        assert entries[0].detail["with"] == "Company"


def test_under_a_path_the_way_to_the_provider_and_back_stays_under_it(
    product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    origin, url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port}/tools/bapo"
    monkeypatch.setitem(vars(product.context.settings), "public_url", url)
    monkeypatch.setattr(product.provider, "redirect_uri", f"{url}/login/callback")
    dashboard = FrontendSettings(backend_url=product.backend.url, public_url=url)
    with serving(create_app(dashboard), port), httpx.Client(base_url=origin, timeout=60) as browser:
        page = browser.get("/tools/bapo/login", params={"next": WANTED}).text
        [button] = re.findall(r'href="([^"]*single-sign-on[^"]*)"', page)
        assert button == "/tools/bapo/login/single-sign-on?next=/runs/abc%3Ftab%3Dbatch"
        back = authorize(browser.get(button).headers["location"])
        assert back.startswith(f"{url}/login/callback?")
        answer = browser.get(back)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/tools/bapo{WANTED}")
        assert browser.get("/tools/bapo/api/v1/me").json()["name"] == "ada"
        kept = {(each.path, each.name) for each in browser.cookies.jar}
        assert kept == {("/tools/bapo", f"{SESSION_COOKIE}_{port}~tools~bapo")}
        address = browser.post("/tools/bapo/logout", headers={"Origin": origin}).json()["address"]
        assert httpx.get(address, timeout=60).headers["location"] == f"{url}/login"


def test_each_sign_in_brings_role_and_projects_up_to_date(product: Product, browser: httpx.Client) -> None:
    sign_in(browser)
    product.provider.users["ada"] |= {"groups": ["bapo-admins"], "teams": []}
    with product.browser() as other:
        sign_in(other)
        assert me(other)["role"] == "admin"
    # The first session has the new rights at once as well.
    assert me(browser)["role"] == "admin"
    product.provider.users["ada"] |= {"groups": ["staff"]}
    sign_in(browser)
    assert (me(browser)["role"], me(browser)["projects"]) == ("member", [])


def test_claims_may_come_from_userinfo_alone(product: Product, browser: httpx.Client) -> None:
    product.provider.only_userinfo = frozenset({"groups", "teams"})
    assert sign_in(browser).status_code == 303
    assert [each["name"] for each in me(browser)["projects"]] == ["planning"]


def test_a_logout_ends_the_providers_session_too(product: Product, browser: httpx.Client) -> None:
    sign_in(browser)
    [session] = of_name(SESSION_COOKIE, browser.cookies)
    address = browser.post("/logout", headers={"Origin": product.url}).json()["address"]
    assert address.startswith(f"{product.provider.url}/logout?id_token_hint=")
    assert httpx.get(address, timeout=60).headers["location"] == f"{product.url}/login"
    assert product.provider.logouts[-1]["client_id"] == CLIENT_ID
    browser.cookies.set(SESSION_COOKIE, session)
    assert browser.get("/api/v1/me").status_code == 401


# ---------------------------------------------------------------- attacks


@pytest.mark.parametrize("wanted", ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_nobody_is_led_to_another_site(product: Product, browser: httpx.Client, wanted: str) -> None:
    assert sign_in(browser, wanted=wanted).headers["location"] == "/runs"
    # Nor by a cookie that somebody planted.
    back = authorize(leave(browser))
    [name] = [each.name for each in browser.cookies.jar if each.name.startswith("bapo_next")]
    answer = browser.get(back, headers={"Cookie": cookies(browser, **{name: wanted})})
    assert answer.headers["location"] == "/runs"


def cookies(browser: httpx.Client, **others: str) -> str:
    known = {cookie.name: str(cookie.value) for cookie in browser.cookies.jar} | others
    return "; ".join(f"{name}={value}" for name, value in known.items())


def test_the_redirect_address_does_not_follow_the_host_of_a_request(browser: httpx.Client, product: Product) -> None:
    address = leave(browser, Host="other.example.org")
    assert parse_qs(urlsplit(address).query)["redirect_uri"] == [f"{product.url}/login/callback"]


def test_a_sign_in_ends_only_in_the_browser_that_began_it(product: Product, browser: httpx.Client) -> None:
    # Mallory's own sign-in, which a victim's browser is made to finish: login CSRF.
    product.provider.add("mallory", groups=["staff"])
    with product.browser() as mallory:
        back = authorize(leave(mallory), "mallory")
        assert "did not begin in this browser" in problem(browser.get(back))
        leave(browser)
        assert "did not begin in this browser" in problem(browser.get(back))
        # The victim's try has not used it up.
        assert mallory.get(back).status_code == 303


def test_a_code_is_good_in_its_own_sign_in_only(product: Product, browser: httpx.Client) -> None:
    product.provider.add("victim", groups=["bapo-admins"])
    with product.browser() as victim:
        stolen = parse_qs(urlsplit(authorize(leave(victim), "victim")).query)["code"][0]
    own = parse_qs(urlsplit(leave(browser)).query)["state"][0]
    answer = browser.get("/login/callback", params={"code": stolen, "state": own})
    # The provider refuses it: the code verifier is another one.
    assert "did not accept the sign-in" in problem(answer)


def test_an_answer_is_taken_once(product: Product, browser: httpx.Client) -> None:
    back = authorize(leave(browser))
    kept = cookies(browser)
    assert browser.get(back).status_code == 303
    with product.browser() as thief:
        assert "has been used" in problem(thief.get(back, headers={"Cookie": kept}))


def test_an_answer_of_another_issuer_is_not_ours(product: Product, browser: httpx.Client) -> None:
    back = authorize(leave(browser)) + "&iss=https://evil.example"
    assert "cannot be trusted" in problem(browser.get(back))
    # A provider that names itself must do so.
    product.provider.names_issuer = True
    forget_documents(product)
    assert sign_in(browser).status_code == 303
    without = re.sub("&iss=[^&]*", "", authorize(leave(browser)))
    assert "cannot be trusted" in problem(browser.get(without))


def resigned(**changes: Any) -> Forge:
    def forge(provider: OpenIdProvider, header: dict[str, Any], claims: Claims) -> str:
        now = int(time.time())
        given = {name: value(now) if callable(value) else value for name, value in changes.items()}
        return provider.signed(header, {name: value for name, value in (claims | given).items() if value is not None})

    return forge


def encoded(part: object) -> str:
    content = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def unsigned(provider: OpenIdProvider, header: dict[str, Any], claims: Claims) -> str:
    return f"{encoded({'alg': 'none'})}.{encoded(claims)}."


def _shared(provider: OpenIdProvider, claims: Claims, secret: bytes) -> str:
    text = f"{encoded({'alg': 'HS256', 'kid': provider.keys[-1].kid})}.{encoded(claims)}"
    return f"{text}.{encoded(hmac.digest(secret, text.encode(), 'sha256'))}"


def signed_with_the_public_key(provider: OpenIdProvider, header: dict[str, Any], claims: Claims) -> str:
    return _shared(provider, claims, provider.keys[-1].as_pem(private=False))


def signed_with_the_secret(provider: OpenIdProvider, header: dict[str, Any], claims: Claims) -> str:
    return _shared(provider, claims, CLIENT_SECRET.encode())


def signed_by_a_stranger(provider: OpenIdProvider, header: dict[str, Any], claims: Claims) -> str:
    return provider.signed(header, claims, RSAKey.generate_key(2048, auto_kid=True))


def signed_by_a_stranger_in_its_name(provider: OpenIdProvider, header: dict[str, Any], claims: Claims) -> str:
    stranger = RSAKey.generate_key(2048, {"kid": str(provider.keys[-1].kid)})
    return provider.signed(header, claims, stranger)


def changed_after_signing(provider: OpenIdProvider, header: dict[str, Any], claims: Claims) -> str:
    head, _, signature = provider.signed(header, claims).split(".")
    return f"{head}.{encoded(claims | {'groups': ['bapo-admins']})}.{signature}"


@pytest.mark.parametrize(
    ("forge", "told", "cause"),
    [
        (unsigned, "cannot be trusted", "algorithm"),
        (signed_with_the_public_key, "cannot be trusted", "algorithm"),
        (signed_with_the_secret, "cannot be trusted", "algorithm"),
        (signed_by_a_stranger, "cannot be trusted", "kid"),
        (signed_by_a_stranger_in_its_name, "cannot be trusted", "signature"),
        (changed_after_signing, "cannot be trusted", "signature"),
        (lambda *_: "no token", "cannot be trusted", "ID token"),
        (resigned(iss="https://evil.example"), "cannot be trusted", "'iss'"),
        (resigned(aud=["another client"]), "cannot be trusted", "'aud'"),
        (resigned(aud=[CLIENT_ID, "another client"]), "cannot be trusted", "'azp'"),
        (resigned(azp="another client"), "cannot be trusted", "'azp'"),
        (resigned(nonce="another"), "cannot be trusted", "'nonce'"),
        (resigned(nonce=None), "cannot be trusted", "'nonce'"),
        (resigned(sub=None), "cannot be trusted", "'sub'"),
        (resigned(exp=None), "cannot be trusted", "'exp'"),
        (resigned(at_hash="AAAA"), "cannot be trusted", "'at_hash'"),
        (resigned(exp=lambda now: now - 120), "clocks", "expired"),
        (resigned(iat=lambda now: now + 120), "clocks", "future"),
    ],
)
def test_an_id_token_that_is_not_right_logs_nobody_in(
    product: Product, browser: httpx.Client, caplog: pytest.LogCaptureFixture, forge: Forge, told: str, cause: str
) -> None:
    product.provider.forge = forge
    back = authorize(leave(browser))
    caplog.clear()
    assert told in problem(browser.get(back))
    causes = [vars(record)["cause"] for record in caplog.records if record.message == "sign-in refused"]
    assert len(causes) == 1
    assert cause.lower() in causes[0].lower()


def test_new_keys_of_the_provider_are_taken_up(product: Product, browser: httpx.Client) -> None:
    assert sign_in(browser).status_code == 303
    product.provider.change_keys()
    assert sign_in(browser).status_code == 303


def test_one_address_does_not_fill_the_table(
    product: Product, browser: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow, "MOST_PENDING", 0)
    assert "too many sign-ins" in problem(browser.get("/login/single-sign-on"))


# ---------------------------------------------------------------- what goes wrong without anybody's ill will


def stop(product: Product) -> None:
    product.provider.is_down = True


def rename(product: Product) -> None:
    product.provider.issuer = "https://sso.example.org/"


def expose_keys(product: Product) -> None:
    product.provider.keys_address = "http://sso.example.org/jwks"


@pytest.mark.parametrize(
    ("break_it", "told", "cause"),
    [
        (stop, "Company does not answer", "503"),
        (rename, "not set up rightly", "calls itself https://sso.example.org/"),
        (expose_keys, "not set up rightly", "is no discovery document: jwks_uri: must be an https address"),
    ],
)
def test_a_provider_that_is_away_or_another_one(
    product: Product,
    browser: httpx.Client,
    caplog: pytest.LogCaptureFixture,
    break_it: Callable[[Product], None],
    told: str,
    cause: str,
) -> None:
    break_it(product)
    answer = browser.get("/login/single-sign-on", params={"next": WANTED})
    assert answer.status_code == 502
    assert told in problem(answer)
    # The other ways stay, and the page that was wanted is kept.
    assert 'action="/login?next=/runs/abc%3Ftab%3Dbatch"' in answer.text
    assert any(cause in str(vars(record).get("cause")) for record in caplog.records)


def test_a_wrong_client_secret_says_who_can_mend_it(
    product: Product, browser: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    product.secret_file.write_text("yesterday's secret")
    assert "does not accept this server's client ID or secret" in problem(sign_in(browser))
    assert "yesterday" not in "".join(str(vars(record)) for record in caplog.records)
    # A new one needs no restart.
    product.secret_file.write_text(CLIENT_SECRET)
    assert sign_in(browser).status_code == 303


def test_whoever_has_no_role_or_is_not_let_in_is_told_so(product: Product, browser: httpx.Client) -> None:
    product.provider.add("guest", groups=["guests"])
    answer = sign_in(browser, "guest")
    assert answer.status_code == 403
    assert "has no role on this server" in problem(answer)
    assert 'action="/login?next=/runs/abc%3Ftab%3Dbatch"' in answer.text
    denied = browser.get(authorize(leave(browser), "ada", "wrong"))
    assert "Company did not sign you in" in problem(denied)
    assert "is no answer of a sign-in" in problem(browser.get("/login/callback"))


def test_whoever_is_disabled_here_is_let_in_no_more(product: Product, browser: httpx.Client) -> None:
    sign_in(browser)
    with product.backend.client() as admin:
        admin.update_person(me(browser)["id"], PersonUpdate(disabled=True))
        assert browser.get("/api/v1/me").status_code == 401
        assert "disabled on this server" in problem(sign_in(browser))
        admin.update_person(
            next(each.id for each in admin.people().items if each.name == "ada"), PersonUpdate(disabled=False)
        )


def test_nothing_secret_is_logged_or_stored(
    product: Product, browser: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    back = authorize(leave(browser))
    secrets = [*of_name(SIGN_IN_COOKIE, browser.cookies), CLIENT_SECRET, *parse_qs(urlsplit(back).query)["code"]]
    with product.context.database.engine.connect() as connection:
        stored = str(connection.exec_driver_sql("TABLE pending_sign_ins").all())
    browser.get(back)
    logged = "".join(str(vars(record)) for record in caplog.records if record.name.startswith(("backend", "frontend")))
    for secret in (*secrets, *parse_qs(urlsplit(back).query)["state"]):
        assert secret not in stored
        assert secret not in logged


def test_the_doctor_tries_the_provider(product: Product, caplog: pytest.LogCaptureFixture) -> None:
    def grades() -> dict[str, str]:
        with product.backend.client() as admin:
            facts = admin.diagnosis().single_sign_on
        assert facts is not None
        return {each.check.removeprefix("single sign-on "): each.grade for each in judgements.single_sign_on(facts)}

    assert grades() == {"single sign-on": "ok", "client": "ok", "redirect": "ok"}
    product.secret_file.write_text("yesterday's secret")
    product.provider.redirect_uri, registered = (
        "https://elsewhere.example.org/login/callback",
        product.provider.redirect_uri,
    )
    assert grades() == {"single sign-on": "ok", "client": "failure", "redirect": "failure"}
    product.provider.redirect_uri = registered
    product.provider.is_down = True
    assert grades() == {"single sign-on": "failure"}


def test_without_passwords_the_other_ways_remain(
    product: Product, browser: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client(product.backend.url) as client:
        assert client.login_methods().model_dump() == {"password": True, "single_sign_on": "Company"}
    monkeypatch.setitem(vars(product.context.settings), "local_passwords", False)
    page = browser.get("/login").text
    assert 'name="password"' not in page
    assert 'name="secret"' in page
    origin = {"Origin": product.url}
    answer = browser.post("/login", data={"name": "ada", "password": "x" * 12}, headers=origin)
    assert "takes no passwords" in problem(answer)
    assert browser.post("/login", data={"secret": product.backend.admin_token}, headers=origin).status_code == 303
