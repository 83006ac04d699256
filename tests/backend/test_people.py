"""Users, passwords, sessions, tokens, projects: what administrators do, and what everybody does for themselves."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from argon2 import PasswordHasher

from backend.identity.auth import passwords
from backend.kit.database import Database
from backend.models import User
from bapo.api.accounts import Login, PasswordChange, PasswordSet, TokenCreate, WorkerTokenCreate
from bapo.api.people import (
    MembershipWrite,
    MemberWrite,
    NewPerson,
    PasswordLink,
    PersonCreate,
    PersonUpdate,
    ProjectCreate,
    ProjectUpdate,
)
from bapo.api.runs import RunCreate
from bapo.api.workers import WorkerRegistration
from bapo.client import ApiError, Client
from tests.support.refusals import refuses
from tests.support.services import BackendServer

pytestmark = pytest.mark.usefixtures("cheap_passwords")

PASSWORD = "correct horse battery"


def refusal(error: pytest.ExceptionInfo[ApiError]) -> tuple[int, str]:
    return error.value.status, error.value.body.code


def code_of(link: PasswordLink) -> str:
    return parse_qs(urlsplit(link.path).query)["code"][0]


@pytest.fixture(scope="module")
def stranger(backend_server: BackendServer) -> Iterator[Client]:
    """Without credentials."""
    with Client(backend_server.url) as client:
        yield client


@pytest.fixture(scope="module")
def ada(admin: Client, stranger: Client) -> NewPerson:
    """A member who has set a password."""
    projects = [MembershipWrite(project="default", role="member")]
    person = admin.create_person(PersonCreate(name="ada", projects=projects))
    stranger.set_password(PasswordSet(code=code_of(person.link), password=PASSWORD))
    return person


def login(stranger: Client, name: str, password: str = PASSWORD) -> str:
    return stranger.login(Login(name=name, password=password))[1]


def test_a_new_user_sets_a_password_with_a_link_that_works_once(
    admin: Client, stranger: Client, ada: NewPerson
) -> None:
    assert (ada.role, ada.has_password, [each.name for each in ada.projects]) == ("member", False, ["default"])
    with refuses(401, "link_refused"):
        stranger.set_password(PasswordSet(code=code_of(ada.link), password=PASSWORD))
    user, secret = stranger.login(Login(name="ada", password=PASSWORD))
    assert (user.name, user.has_password) == ("ada", True)
    with Client(str(stranger.http.base_url).removesuffix("/api/v1/"), cookie=secret) as client:
        assert client.me().projects[0].role == "member"
    assert next(each for each in admin.people().items if each.name == "ada").has_password


def test_a_link_for_a_password_is_no_login_and_a_weak_password_leaves_it_good(admin: Client, stranger: Client) -> None:
    person = admin.create_person(PersonCreate(name="bob", role="viewer"))
    code = code_of(person.link)
    with refuses(401, "login_refused"):
        stranger.login(Login(code=code))
    for weak in ("eleven char", "aaaaaaaaaaaaaaaa", "bob-bob-bob-b"):
        with pytest.raises(ApiError) as error:
            stranger.set_password(PasswordSet(code=code, password=weak))
        assert refusal(error) == (422, "weak_password"), weak
        assert weak not in error.value.body.model_dump_json()
    # A newer link makes the older one worthless.
    newer = admin.new_password_link(person.id)
    with pytest.raises(ApiError):
        stranger.set_password(PasswordSet(code=code, password=PASSWORD))
    assert stranger.set_password(PasswordSet(code=code_of(newer), password="twelve chars")).name == "bob"


def test_a_password_is_stored_as_argon2id_and_renewed_when_the_parameters_change(
    stranger: Client, ada: NewPerson, database: Database
) -> None:
    with database.session() as session, session.begin():
        user = session.get(User, ada.id)
        assert user is not None
        assert user.password_hash is not None
        assert user.password_hash.startswith("$argon2id$")
        old = user.password_hash = PasswordHasher(time_cost=2, memory_cost=2_048, parallelism=1).hash(PASSWORD)
    login(stranger, "ada")
    with database.session() as session:
        user = session.get(User, ada.id)
        assert user is not None
        assert user.password_hash is not None
        assert user.password_hash != old
        assert not passwords.needs_renewal(user.password_hash)


def test_a_changed_password_ends_other_sessions_and_where_asked_tokens(
    backend_server: BackendServer, stranger: Client, ada: NewPerson
) -> None:
    with (
        Client(backend_server.url, cookie=login(stranger, "ada")) as here,
        Client(backend_server.url, cookie=login(stranger, "ada")) as there,
    ):
        token = here.create_token(TokenCreate(name="script"))
        with refuses(403, "wrong_password", field="old"):
            here.change_password(PasswordChange(old="not the old one", new="another good password"))
        here.change_password(PasswordChange(old=PASSWORD, new="another good password"))
        assert here.me().name == "ada"
        with refuses(401):
            there.me()
        with backend_server.client(token.secret) as script:
            assert script.me().name == "ada"
            here.change_password(PasswordChange(old="another good password", new=PASSWORD, end_tokens=True))
            with refuses(401):
                script.me()


def test_sessions_are_listed_and_ended(backend_server: BackendServer, stranger: Client, ada: NewPerson) -> None:
    with (
        Client(backend_server.url, cookie=login(stranger, "ada")) as here,
        Client(backend_server.url, cookie=login(stranger, "ada")) as there,
        Client(backend_server.url, cookie=login(stranger, "ada")) as third,
    ):
        sessions = here.sessions().items
        assert sum(each.is_current for each in sessions) == 1
        assert all("python-httpx" in each.user_agent for each in sessions)
        mine = next(each for each in there.sessions().items if each.is_current)
        here.end_session(mine.id)
        with pytest.raises(ApiError):
            there.me()
        with refuses(404, "not_found"):
            here.end_session(mine.id)
        here.end_other_sessions()
        assert [each.is_current for each in here.sessions().items] == [True]
        with pytest.raises(ApiError):
            third.me()


def test_a_token_does_no_more_than_its_scopes_and_ends(backend_server: BackendServer, member: Client) -> None:
    made = member.create_token(TokenCreate(name="reader", scopes=["read"], expires_in_days=1))
    assert made.secret.startswith(made.prefix)
    assert len(made.prefix) == 9
    with backend_server.client(made.secret) as reader:
        assert reader.me().role == "viewer"
        assert not reader.me().may_manage_account
        for call in (lambda: reader.create_run(RunCreate(name="x")), reader.tokens):
            with refuses(403, "forbidden"):
                call()
        with refuses(401, "login_refused"):
            reader.login(Login(token=made.secret))
        listed = next(each for each in member.tokens().items if each.name == "reader")
        assert listed.last_used_at is not None
        assert "secret" not in listed.model_dump()
        with refuses(409, "name_taken"):
            member.create_token(TokenCreate(name="reader"))
        member.revoke_token(made.id)
        with refuses(401):
            reader.me()


def test_a_workers_token_is_made_used_and_revoked(backend_server: BackendServer, admin: Client) -> None:
    made = admin.create_worker_token(WorkerTokenCreate(name="rack 3"))
    with backend_server.client(made.secret) as worker:
        worker.register_worker(WorkerRegistration(name="r3", host="h", slots=1, version="0"))
        listed = next(each for each in admin.worker_tokens().items if each.id == made.id)
        assert list(listed.workers) == ["r3"]
        admin.revoke_worker_token(made.id)
        with refuses(401):
            worker.register_worker(WorkerRegistration(name="r3", host="h", slots=1, version="0"))


def test_the_last_administrator_stays(admin: Client) -> None:
    me = admin.me()
    for change in (PersonUpdate(disabled=True), PersonUpdate(role="member")):
        with refuses(409, "last_administrator"):
            admin.update_person(me.id, change)
    other = admin.create_person(PersonCreate(name="second", role="admin"))
    assert admin.update_person(other.id, PersonUpdate(role="member")).role == "member"


def test_a_disabled_user_is_out_and_comes_back_without_old_tokens(
    backend_server: BackendServer, admin: Client, stranger: Client
) -> None:
    person = admin.create_person(PersonCreate(name="dora"))
    stranger.set_password(PasswordSet(code=code_of(person.link), password=PASSWORD))
    with Client(backend_server.url, cookie=login(stranger, "dora")) as dora:
        dora.create_token(TokenCreate(name="t"))
        assert admin.update_person(person.id, PersonUpdate(disabled=True)).disabled_at is not None
        with pytest.raises(ApiError):
            dora.me()
    with refuses(401, "login_refused"):
        login(stranger, "dora")
    with refuses(409, "disabled"):
        admin.new_password_link(person.id)
    admin.update_person(person.id, PersonUpdate(disabled=False))
    with Client(backend_server.url, cookie=login(stranger, "dora")) as dora:
        assert dora.tokens().items == []


@pytest.mark.parametrize("name", ["Admin", "system", "ADMIN"])
def test_a_name_like_another_is_refused(admin: Client, name: str) -> None:
    with refuses(409, "name_taken", field="name"):
        admin.create_person(PersonCreate(name=name))


@pytest.mark.parametrize("name", ["", " x", "x ", "a\nb", "<b>", "a/b", "-x"])
def test_a_name_that_could_be_taken_for_another_is_refused(backend_server: BackendServer, name: str) -> None:
    with backend_server.http() as http:
        headers = {"Authorization": f"Bearer {backend_server.admin_token}"}
        answer = http.post("/api/v1/people", json={"name": name}, headers=headers)
    assert (answer.status_code, answer.json()["field"]) == (422, "name")


def test_projects_are_made_renamed_and_archived(admin: Client, member: Client) -> None:
    project = admin.create_project(ProjectCreate(name="vision", description="pictures"))
    assert (project.num_runs, project.num_members, project.may_manage) == (0, 0, True)
    with refuses(409, "name_taken"):
        admin.create_project(ProjectCreate(name="Vision"))
    with refuses(404, "not_found"):
        member.project(project.id)
    admin.set_member(project.id, MemberWrite(name="mel", role="admin"))
    # Its administrator manages it.
    assert member.update_project(project.id, ProjectUpdate(name="sight")).name == "sight"
    assert (
        member.create_run(RunCreate(name="x", recipe="countdown-demo", project="sight", start=False)).project == "sight"
    )
    assert member.update_project(project.id, ProjectUpdate(archived=True)).archived_at is not None
    with refuses(409, "project_archived"):
        member.create_run(RunCreate(name="x", recipe="countdown-demo", project="sight"))
    assert [(each.name, each.role) for each in member.members(project.id).items] == [("mel", "admin")]
    assert member.project(project.id).num_runs == 1
    with refuses(422, "unknown_person", field="name"):
        member.set_member(project.id, MemberWrite(name="nobody", role="member"))
    member.remove_member(project.id, member.me().id)
    with refuses(404, "not_found"):
        member.project(project.id)


def test_an_administrator_enters_corrects_and_removes_an_email_address(admin: Client) -> None:
    person = admin.create_person(PersonCreate(name="edda", email="edda@example.com"))
    assert person.email == "edda@example.com"
    assert admin.update_person(person.id, PersonUpdate(email="edda@example.org")).email == "edda@example.org"
    with refuses(422, "invalid_request", field="email"):
        admin.update_person(person.id, PersonUpdate.model_construct(email="edda at example.org"))
    assert admin.update_person(person.id, PersonUpdate(role="viewer")).email == "edda@example.org"
    assert admin.update_person(person.id, PersonUpdate(email="")).email is None


def test_everything_is_in_the_audit_trail_and_no_secret_is(admin: Client, member: Client) -> None:
    made = member.create_token(TokenCreate(name="audited"))
    page = admin.audit_trail(author="mel", action="token_created", limit=1)
    assert page.items[0].detail["name"] == "audited"
    seen = {record.action for page in admin.pages(admin.audit_trail, limit=50) for record in page.items}
    assert {"person_created", "password_set", "logged_in", "role_changed", "member_set", "project_created"} <= seen
    text = "".join(page.model_dump_json() for page in admin.pages(admin.audit_trail, limit=50))
    for secret in (made.secret, PASSWORD, "another good password"):
        assert secret not in text
    with refuses(403, "forbidden"):
        member.audit_trail()
