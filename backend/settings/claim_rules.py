"""Reads what the claims of single sign-on give: values under a claim's name, and the rules that map them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from bapo.api.accounts import RANK, Role

EVERYBODY = "*"
"""Left of a rule: for all who sign in."""
ROLES: tuple[Role, ...] = get_args(Role)


def values_of(claims: Mapping[str, Any], name: str) -> list[str]:
    """Return the texts of a claim, of one or of a list; none where it is absent.

    A name with dots is first taken literally (`https://example.org/roles`), then as a way into objects
    (`realm_access.roles`).
    """
    if not name:
        return []
    value: Any = claims.get(name)
    if value is None:
        value = claims
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, str):
        return [value]
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _role(text: str, rule: str) -> Role:
    if text not in ROLES:
        raise ValueError(f"{rule!r} gives the role {text!r}: write one of {', '.join(ROLES)}")
    return text


def _rules(text: str) -> Iterable[tuple[str, str, str]]:
    """Return each rule, its left and its right side; a value may hold `=` and `,`, as names in LDAP do."""
    for rule in (part.strip() for part in text.split(";")):
        if rule:
            value, sign, result = rule.rpartition("=")
            if not sign or not value.strip() or not result.strip():
                raise ValueError(f"{rule!r} is no rule: write VALUE=…, several of them separated by semicolons")
            yield rule, value.strip(), result.strip()


@dataclass(frozen=True)
class RoleRules:
    """Role on the server by value of a claim."""

    roles: tuple[tuple[str, Role], ...] = ()

    @classmethod
    def of(cls, text: str) -> RoleRules:
        """Parse `bapo-admins=admin; staff=member; *=viewer`. Raises ValueError naming the rule that is wrong."""
        return cls(tuple((value, _role(result, rule)) for rule, value, result in _rules(text)))

    def role_of(self, values: Iterable[str]) -> Role | None:
        """Return the highest role that the values give; None where they give none."""
        held = {*values, EVERYBODY}
        given = [role for value, role in self.roles if value in held]
        return max(given, key=lambda role: RANK[role], default=None)


@dataclass(frozen=True)
class ProjectRules:
    """Projects, and the role in each, by value of a claim. Without a rule, the values themselves name projects."""

    projects: tuple[tuple[str, str, Role], ...] = ()

    @classmethod
    def of(cls, text: str) -> ProjectRules:
        """Parse `nlp=planning:member; leads=planning:admin`. Raises ValueError naming the rule that is wrong."""
        found = []
        for rule, value, result in _rules(text):
            project, role = _project_and_role(result)
            if not project:
                raise ValueError(f"{rule!r} names no project: write VALUE=PROJECT or VALUE=PROJECT:ROLE")
            found.append((value, project, _role(role, rule)))
        return cls(tuple(found))

    def roles_of(self, values: Iterable[str]) -> dict[str, Role]:
        """Return the highest role per project."""
        held = {*values, EVERYBODY}
        given = [(project, role) for value, project, role in self.projects if value in held]
        if not self.projects:
            named = (_project_and_role(value) for value in held - {EVERYBODY})
            given = [(project, role) for project, role in named if project and role in ROLES]
        return dict(sorted(given, key=lambda each: RANK[each[1]]))


def _project_and_role(text: str) -> tuple[str, str]:
    project, _, role = text.partition(":")
    return project.strip(), role.strip() or "member"
