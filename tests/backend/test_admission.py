"""Who comes in by single sign-on, as whom, and with what rights: claims as a provider would give them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from backend.identity.auth import repository as accounts
from backend.identity.auth.bootstrap import bootstrap
from backend.identity.auth.openid.admission import admit
from backend.identity.auth.openid.refusals import SignInRefusedError
from backend.kit.database import Database
from backend.models import AuditRow, Project, ProviderIdentity, User
from backend.settings.environment import Settings
from tests.support.services import BackendServer

ISSUER = "https://sso.example.org"


@pytest.fixture
def session(database: Database, backend_server: BackendServer) -> Iterator[Session]:
    """What a test does is taken back."""
    with database.session() as session:
        yield session
        session.rollback()


@pytest.fixture
def settings(backend_server: BackendServer) -> Settings:
    return changed(backend_server.settings, oidc_issuer=ISSUER, oidc_client_id="bapo", oidc_label="Company")


def changed(settings: Settings, **changes: Any) -> Settings:
    return Settings.model_validate({**settings.model_dump(), **changes})


def claims(name: str, **others: Any) -> dict[str, Any]:
    return {"iss": ISSUER, "sub": f"id-of-{name}", "preferred_username": name, **others}


def actions(session: Session) -> list[str]:
    return list(session.scalars(select(AuditRow.action).order_by(AuditRow.id)))


def refused(session: Session, given: dict[str, Any], settings: Settings) -> SignInRefusedError:
    with pytest.raises(SignInRefusedError) as refusal, session.begin_nested():
        admit(session, given, settings)
    return refusal.value


def test_a_new_person_gets_an_account_and_the_next_time_the_same(session: Session, settings: Settings) -> None:
    user = admit(session, claims("ada", email="ada@example.org", email_verified=True), settings)
    assert (user.name, user.role, user.email) == ("ada", "viewer", "ada@example.org")
    # Names change; the subject does not.
    assert admit(session, claims("ada") | {"preferred_username": "ada.lovelace"}, settings).id == user.id
    assert actions(session)[-1] == "person_created"


def test_rules_set_the_role_at_each_sign_in(session: Session, settings: Settings) -> None:
    ruled = changed(settings, oidc_role_claim="groups", oidc_role_rules="admins=admin; staff=member")
    assert admit(session, claims("bea", groups=["staff"]), ruled).role == "member"
    assert admit(session, claims("bea", groups=["staff", "admins"]), ruled).role == "admin"
    assert admit(session, claims("bea", groups=["staff"]), ruled).role == "member"
    assert actions(session).count("role_changed") == 2
    refusal = refused(session, claims("bea", groups=["guests"]), ruled)
    assert (refusal.status_code, refusal.code) == (403, "no_role")
    assert "groups = guests" in refusal.cause


def test_the_only_administrator_keeps_the_role(session: Session, settings: Settings) -> None:
    _, first = bootstrap(session, settings)
    ruled = changed(settings, oidc_role_claim="groups", oidc_role_rules="admins=admin; staff=member")
    boss = admit(session, claims("cleo", groups=["admins"]), ruled)
    first.role = "member"
    session.flush()
    assert admit(session, claims("cleo", groups=["staff"]), ruled).role == "admin"
    first.role = "admin"
    session.flush()
    assert admit(session, claims("cleo", groups=["staff"]), ruled).role == "member"
    assert boss.role == "member"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"email": "d@example.org", "email_verified": True}, None),
        ({"email": "d@EXAMPLE.org", "email_verified": "true"}, None),
        ({"email": "d@evil.example.org", "email_verified": True}, "wrong_domain"),
        ({"email": "d@example.org@evil.example", "email_verified": True}, "wrong_domain"),
        ({"email": "d@example.org", "email_verified": False}, "email_not_verified"),
        ({"email": "d@example.org"}, "email_not_verified"),
        # 1 equals True in Python, and is no truth that a provider would state.
        ({"email": "d@example.org", "email_verified": 1}, "email_not_verified"),
        ({"email": "d@example.org", "email_verified": 1.0}, "email_not_verified"),
        ({"email": "d@example.org", "email_verified": "True "}, "email_not_verified"),
        ({"email": "d@example.org", "email_verified": [True]}, "email_not_verified"),
        ({}, "email_not_verified"),
    ],
)
def test_domains_count_for_addresses_that_the_provider_vouches_for(
    session: Session, settings: Settings, given: dict[str, Any], code: str | None
) -> None:
    limited = changed(settings, oidc_allowed_domains="example.org, @example.com")
    if code is None:
        assert admit(session, claims("dora", **given), limited).name == "dora"
    else:
        assert refused(session, claims("dora", **given), limited).code == code


def test_a_group_is_needed_where_one_is_named(session: Session, settings: Settings) -> None:
    limited = changed(settings, oidc_required_groups="gpu users; leads")
    assert refused(session, claims("emil", groups=["others"]), limited).code == "not_in_group"
    assert admit(session, claims("emil", groups="leads"), limited).name == "emil"


def test_an_equal_address_opens_an_account_only_if_both_sides_agree(session: Session, settings: Settings) -> None:
    here = User(name="fred", role="member", email="Fred@example.org")
    session.add(here)
    session.flush()
    verified = claims("fred", email="fred@example.org", email_verified=True)
    # The name is taken, so that the address names the new account: it is another one.
    with session.begin_nested() as attempt:
        assert admit(session, verified, settings).id != here.id
        attempt.rollback()
    linking = changed(settings, oidc_link_by_email=True)
    unverified = verified | {"email_verified": False, "preferred_username": "fred2"}
    with session.begin_nested() as attempt:
        assert admit(session, unverified, linking).id != here.id
        attempt.rollback()
    assert admit(session, verified, linking).id == here.id
    assert actions(session)[-1] == "identity_connected"
    # Once connected, a second person with that address does not get it.
    second = verified | {"sub": "somebody else", "preferred_username": "fred2"}
    assert admit(session, second, linking).id != here.id


def test_nobody_takes_over_a_name(session: Session, settings: Settings) -> None:
    session.add(User(name="Gus", role="admin"))
    session.flush()
    assert refused(session, claims("gus"), settings).code == "name_taken"
    assert refused(session, claims("system"), settings).code == "name_taken"
    assert refused(session, claims("<b>"), settings).code == "no_name"
    verified = claims("gus", email="gus@example.org", email_verified=True)
    assert admit(session, verified, settings).name == "gus@example.org"


@pytest.mark.parametrize("verified", [{}, {"email_verified": False}, {"email_verified": 1}])
def test_an_address_that_is_not_verified_names_no_account(
    session: Session, settings: Settings, verified: dict[str, Any]
) -> None:
    session.add(User(name="Gus", role="admin"))
    session.flush()
    given = claims("gus", email="boss@example.org", **verified)
    assert refused(session, given, settings).code == "name_taken"
    by_address = changed(settings, oidc_name_claim="email")
    assert refused(session, given, by_address).code == "no_name"
    assert admit(session, given | {"email_verified": True}, by_address).name == "boss@example.org"


def test_a_name_that_is_an_address_needs_no_claim_but_is_not_said_to_be_unverified(
    session: Session, settings: Settings
) -> None:
    # Entra ID names people by such addresses, and says nothing about their verification.
    address = "jane@example.org"
    assert refused(session, claims(address, email=address, email_verified=False), settings).code == "no_name"
    assert admit(session, claims(address, email=address), settings).name == address


@pytest.mark.parametrize("name", ["gυs", "GUЅ", "ｇｕｓ", "ѕуѕtеm"])
def test_nobody_takes_a_name_that_looks_like_another(session: Session, settings: Settings, name: str) -> None:
    session.add(User(name="Gus", role="admin"))
    session.flush()
    assert refused(session, claims(name), settings).code == "name_taken"


def test_whoever_is_disabled_here_stays_out(session: Session, settings: Settings) -> None:
    user = admit(session, claims("hal"), settings)
    user.disabled_at = user.created_at
    session.flush()
    assert refused(session, claims("hal"), settings).code == "disabled"
    # Not by their address either.
    session.add(User(name="ida", role="member", email="ida@example.org", disabled_at=user.disabled_at))
    session.flush()
    linking = changed(settings, oidc_link_by_email=True)
    given = claims("ida", email="ida@example.org", email_verified=True)
    assert refused(session, given, linking).code == "disabled"


def test_claims_give_memberships_and_take_back_what_they_gave(session: Session, settings: Settings) -> None:
    projects = {name: Project(name=name) for name in ("planning", "vision", "audio")}
    session.add_all(projects.values())
    session.flush()
    ruled = changed(settings, oidc_project_claim="teams")

    def roles(user: User) -> dict[str, str]:
        session.flush()
        found = dict(accounts.memberships(session, user.id))
        return {name: found[project.id] for name, project in projects.items() if project.id in found}

    user = admit(session, claims("jo", teams=["planning:admin", "vision", "no such project"]), ruled)
    assert roles(user) == {"planning": "admin", "vision": "member"}
    # By hand: stays, whatever the claims say.
    accounts.set_membership(session, projects["audio"].id, user.id, "viewer")
    assert roles(admit(session, claims("jo", teams=["planning"]), ruled)) == {"planning": "member", "audio": "viewer"}
    assert roles(admit(session, claims("jo"), ruled)) == {"audio": "viewer"}
    assert actions(session)[-1] == "member_removed"
    # Without the setting, memberships are nobody's business but that of people.
    assert roles(admit(session, claims("jo", teams=["vision"]), settings)) == {"audio": "viewer"}


def test_identities_of_two_issuers_are_two_people(session: Session, settings: Settings) -> None:
    one = admit(session, claims("kim"), settings)
    other = changed(settings, oidc_issuer="https://other.example.org")
    two = admit(session, claims("kim", email="kim@example.org", email_verified=True), other)
    assert one.id != two.id
    assert session.scalars(select(ProviderIdentity.user_id).where(ProviderIdentity.subject == "id-of-kim")).all()
