"""Claims of single sign-on and the rules that read them."""

from __future__ import annotations

from typing import Any

import pytest

from backend.settings.claim_rules import ProjectRules, RoleRules, values_of

CLAIMS: dict[str, Any] = {
    "groups": ["staff", "cn=gpu,ou=teams,dc=x", 7],
    "department": "research",
    "realm_access": {"roles": ["bapo-admins"]},
    "https://example.org/roles": ["lead"],
    "verified": True,
}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("groups", ["staff", "cn=gpu,ou=teams,dc=x"]),
        ("department", ["research"]),
        ("realm_access.roles", ["bapo-admins"]),
        # A name with dots of its own is no way into an object.
        ("https://example.org/roles", ["lead"]),
        ("realm_access.roles.x", []),
        ("verified", []),
        ("absent", []),
        ("", []),
    ],
)
def test_values_of_a_claim(name: str, values: list[str]) -> None:
    assert values_of(CLAIMS, name) == values


def test_the_highest_role_counts_and_a_star_is_for_everybody() -> None:
    rules = RoleRules.of("staff=member; cn=gpu,ou=teams,dc=x=admin; *=viewer")
    assert rules.role_of(["staff"]) == "member"
    assert rules.role_of(["staff", "cn=gpu,ou=teams,dc=x"]) == "admin"
    assert rules.role_of([]) == "viewer"
    assert RoleRules.of("staff=member").role_of(["guests"]) is None


def test_projects_by_rules_or_by_their_names() -> None:
    rules = ProjectRules.of("nlp=planning:member; leads=planning:admin; *=default:viewer; nlp=demo")
    assert rules.roles_of(["nlp"]) == {"planning": "member", "default": "viewer", "demo": "member"}
    assert rules.roles_of(["nlp", "leads"])["planning"] == "admin"
    assert ProjectRules().roles_of(["planning:admin", "planning", "demo:owner", "x"]) == {
        "planning": "admin",
        "x": "member",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("staff", "'staff' is no rule"),
        ("staff=", "'staff=' is no rule"),
        ("staff=boss", "gives the role 'boss'"),
    ],
)
def test_a_wrong_rule_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RoleRules.of(text)
    with pytest.raises(ValueError, match="names no project"):
        ProjectRules.of("staff=:admin")
