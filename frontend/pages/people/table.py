"""The table of users, and the dialog that makes one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.api.people import PersonInfo
from frontend.components.attributes import attributes
from frontend.components.moment import moment
from frontend.components.roles import role_options

HEAD = ("Name", "Role", "Projects", "Last seen", "Logs in with", "")


def people_table(people: Sequence[PersonInfo], own_id: str) -> dmc.ScrollArea:
    """Everybody; the caller's own row cannot disable itself by mistake."""
    now = datetime.now(UTC)
    table = dmc.Table(
        [
            dmc.TableThead(dmc.TableTr([dmc.TableTh(title) for title in HEAD])),
            dmc.TableTbody([_row(each, own_id, now) for each in people]),
        ],
        verticalSpacing="xs",
        highlightOnHover=True,
        className="people-table",
    )
    return dmc.ScrollArea(table, type="auto")


def _row(person: PersonInfo, own_id: str, now: datetime) -> dmc.TableTr:
    disabled = person.disabled_at is not None
    projects = "all" if person.role == "admin" else ", ".join(f"{each.name} ({each.role})" for each in person.projects)
    return dmc.TableTr(
        [
            dmc.TableTd([person.name, html.Span(" (you)", className="queue-detail") if person.id == own_id else None]),
            dmc.TableTd(
                dmc.Select(
                    id={"type": "person-role", "id": person.id, "role": person.role},
                    value=person.role,
                    data=role_options(),
                    allowDeselect=False,
                    disabled=disabled,
                    size="xs",
                    w=130,
                    persistence=False,
                    **attributes(aria_label=f"Role of {person.name}"),
                )
            ),
            dmc.TableTd(projects or "none", className="account-text"),
            dmc.TableTd(moment(person.last_seen_at, now=now) if person.last_seen_at else "never", className="nowrap"),
            dmc.TableTd("password" if person.has_password else "links and tokens only"),
            dmc.TableTd(_actions(person, own_id)),
        ],
        className="people-off" if disabled else "",
    )


def _actions(person: PersonInfo, own_id: str) -> dmc.Group:
    if person.disabled_at is not None:
        buttons: list[Any] = [
            dmc.Button("Enable", id={"type": "person-enable", "id": person.id}, size="compact-xs", variant="default")
        ]
    else:
        buttons = [
            dmc.Button(
                "Password link",
                id={"type": "person-link", "id": person.id, "name": person.name},
                size="compact-xs",
                variant="default",
            )
        ]
        if person.id != own_id:
            buttons.append(
                dmc.Button(
                    "Disable",
                    id={"type": "person-disable", "id": person.id, "name": person.name},
                    size="compact-xs",
                    variant="light",
                    color="red",
                )
            )
    return dmc.Group(buttons, gap="xs", wrap="nowrap", justify="flex-end")


def create_dialog(projects: Sequence[str]) -> dmc.Modal:
    """Name, role and projects of a new user."""
    return dmc.Modal(
        dmc.Stack(
            [
                dmc.TextInput(
                    id="person-name",
                    label="Name",
                    description="What they log in with, and what stands in the audit trail",
                    value="",
                    withAsterisk=True,
                ),
                dmc.Select(id="person-role", label="Role", value="member", data=role_options(), allowDeselect=False),
                dmc.MultiSelect(
                    id="person-projects",
                    label="Member of",
                    description="As a viewer or member; more is set on the page of the projects",
                    data=list(projects),
                    value=list(projects[:1]) if len(projects) == 1 else [],
                    searchable=True,
                    comboboxProps={"withinPortal": True},
                ),
                html.Div(id="person-problem"),
                dmc.Group([dmc.Button("Make the user", id="person-submit")], justify="flex-end"),
            ],
            gap="sm",
        ),
        id="person-dialog",
        title="New user",
        centered=True,
    )
