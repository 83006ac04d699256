"""From the login page to the provider's form and back on the page that was wanted, in a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from bapo.client import Client
from bapo.deploy.http_server import listen
from frontend.app import create_app
from frontend.settings import FrontendSettings
from tests.browser.conftest import Visitor, assert_fits
from tests.support.openid_provider import CLIENT_ID, CLIENT_SECRET, PASSWORD, OpenIdProvider, running_provider
from tests.support.services import BackendServer
from tests.support.serving import serving

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def provider() -> Iterator[OpenIdProvider]:
    with listen("127.0.0.1", 0) as reserved:
        port = reserved.getsockname()[1]
    with running_provider() as provider:
        provider.redirect_uri = f"http://127.0.0.1:{port}/login/callback"
        provider.add("ada", email="ada@example.org", email_verified=True, groups=["staff"])
        yield provider


@pytest.fixture(scope="module")
def backend_settings(provider: OpenIdProvider, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    secret = tmp_path_factory.mktemp("secret") / "client-secret"
    secret.write_text(CLIENT_SECRET)
    return {
        "public_url": provider.redirect_uri.removesuffix("/login/callback"),
        "oidc_issuer": provider.url,
        "oidc_client_id": CLIENT_ID,
        "oidc_client_secret_file": secret,
        "oidc_label": "Company",
        "oidc_role_claim": "groups",
        "oidc_role_rules": "staff=member",
    }


@pytest.fixture(scope="module")
def dashboard(backend_server: BackendServer) -> Iterator[str]:
    """At the address that the provider sends people back to."""
    port = int(backend_server.settings.public_url.rpartition(":")[2])
    with serving(create_app(FrontendSettings(backend_url=backend_server.url)), port) as url:
        yield url


def test_from_the_login_page_to_the_provider_and_back(
    stranger: Visitor, provider: OpenIdProvider, admin: Client
) -> None:
    page: Page = stranger.page
    page.goto("/queue")
    expect(page).to_have_url(re.compile(r"/login\?next=/queue$"))
    expect(page.get_by_label("Password")).to_be_visible()
    assert_fits(page, 390)
    page.get_by_role("link", name="Sign in with Company").click()

    page.get_by_label("User").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    expect(page).to_have_url(re.compile("/queue$"))
    page.get_by_role("button", name="Account").click()
    expect(page.get_by_text("ada · member")).to_be_visible()
    page.get_by_role("menuitem", name="Account").click()
    expect(page.get_by_text("signs in with Company")).to_be_visible()

    page.get_by_role("button", name="Account").click()
    page.get_by_role("menuitem", name="Log out").click()
    # By way of the provider, whose session has ended too.
    expect(page.get_by_role("link", name="Sign in with Company")).to_be_visible()
    assert len(provider.logouts) == 1
    assert [bool(each.identities) for each in admin.people().items] == [True, False]
