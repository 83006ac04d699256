"""From the login page to the provider's form and back on the page that was wanted, in a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from bapo.client import Client
from tests.browser.conftest import Visitor, assert_fits
from tests.support.openid_provider import CLIENT_ID, CLIENT_SECRET, PASSWORD, OpenIdProvider, running_provider

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def provider(dashboard: str) -> Iterator[OpenIdProvider]:
    with running_provider() as provider:
        provider.redirect_uri = f"{dashboard}/login/callback"
        provider.add("ada", email="ada@example.org", email_verified=True, groups=["staff"])
        yield provider


@pytest.fixture(scope="module")
def backend_settings(
    provider: OpenIdProvider, dashboard: str, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Any]:
    secret = tmp_path_factory.mktemp("secret") / "client-secret"
    secret.write_text(CLIENT_SECRET)
    return {
        "public_url": dashboard,
        "oidc_issuer": provider.url,
        "oidc_client_id": CLIENT_ID,
        "oidc_client_secret_file": secret,
        "oidc_label": "Company",
        "oidc_role_claim": "groups",
        "oidc_role_rules": "staff=member",
    }


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
