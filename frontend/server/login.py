"""The login page and the page that sets a password; the exchange of what was typed for a session."""

from __future__ import annotations

import html
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from urllib.parse import parse_qs, quote

import httpx
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from bapo.api.accounts import MAX_PASSWORD, MIN_PASSWORD, Login, LoginMethods, PasswordSet
from bapo.client import SESSION_COOKIE, SIGN_IN_COOKIE, ApiError, InvalidRequestError, error_of
from frontend.delivery.plain_page import document, unavailable
from frontend.request.prefix import served
from frontend.request.session import Api
from frontend.server.bodies import MAX_FORM_BYTES, BodyError, read_body

HOME = "/runs"
SINGLE_SIGN_ON_PATH = "/login/single-sign-on"


def local_path(path: str | None) -> str:
    """Return the path if it leads to a page of this dashboard, else the run history: no redirect to another site."""
    if not path or not path.startswith("/") or path.startswith(("//", "/\\", "/login")):
        return HOME
    return path if all(" " <= character != "\\" for character in path) else HOME


def login_url(next_path: str) -> str:
    """Return the address of the login page that leads to a path afterwards."""
    target = local_path(next_path)
    return "/login" if target == HOME else f"/login?next={quote(target, safe='/')}"


async def login(request: Request, api: Api) -> Response:
    """Answer GET with the page, or log in with `?code=`; POST takes name and password, or a token or code."""
    next_path = local_path(request.query_params.get("next"))
    if request.method == "GET":
        code = request.query_params.get("code")
        if not code:
            return await login_page(api, next_path)
        return await _log_in(request, api, Login(code=code[:200]), next_path)
    return await _log_in_by_form(request, api, next_path)


async def _log_in_by_form(request: Request, api: Api, next_path: str) -> Response:
    try:
        form = await _form(request, too_long="this is too long for a code or token: paste nothing else")
    except BodyError as error:
        return await login_page(api, next_path, error.remedy, status=error.status)
    if "password" in form:
        name = form.get("name", "").strip()[:200]
        try:
            body = Login(name=name, password=form["password"])
        except ValidationError:
            problem = "this is too long for a password: paste nothing else"
            return await login_page(api, next_path, problem, name=name, status=413)
        return await _log_in(request, api, body, next_path, name=name)
    secret = form.get("secret", "").strip()[:200]
    if not secret:
        return await login_page(api, next_path, "paste a login code or a token", status=422)
    answer = await _log_in(request, api, Login(token=secret), next_path)
    # People paste either into the one field there is; a code is tried only if it is no token.
    return await _log_in(request, api, Login(code=secret), next_path) if answer.status_code == 401 else answer


async def _form(request: Request, *, too_long: str) -> dict[str, str]:
    """Return the fields of a form. Raises BodyError if it cannot be read; `too_long` is the text for one that is too
    long."""
    try:
        body = await read_body(request.receive, MAX_FORM_BYTES)
    except BodyError as error:
        raise BodyError(error.status, error.code, too_long if error.status == 413 else error.remedy) from None
    fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    return {name: values[0] for name, values in fields.items()}


async def _log_in(request: Request, api: Api, body: Login, next_path: str, name: str = "") -> Response:
    return await exchange(request, api, "/auth/login", body, next_path, partial(login_page, api, next_path, name=name))


Refused = Callable[..., Awaitable[Response]]
"""Answers with the problem, the `status` and the `headers` of a refusal."""
Target = str | Callable[[httpx.Response], str]
"""Address to which the browser goes afterwards, or a function that takes it from the backend's answer."""


async def exchange(
    request: Request, api: Api, path: str, body: BaseModel | None, target: Target, refused: Refused
) -> Response:
    """Post to the backend for a browser without a session, and forward the cookies or show why it is refused."""
    content = None if body is None else body.model_dump(exclude_none=True)
    try:
        response = await api.http.post(path, json=content, headers=_asker(request))
    except httpx.TransportError:
        return unavailable()
    if not response.is_success:
        error = error_of(response)
        wait = {name: value for name, value in response.headers.items() if name == "retry-after"}
        return await refused(
            f"{error.body.remedy} (request {error.body.request_id})", status=error.status, headers=wait
        )
    redirect = RedirectResponse(target if isinstance(target, str) else target(response), status_code=303)
    for cookie in response.headers.get_list("set-cookie"):
        redirect.headers.append("set-cookie", cookie)
    return redirect


def _asker(request: Request) -> dict[str, str]:
    """Return the client's headers: the backend counts failures by address, and names a session after its browser."""
    headers = {"User-Agent": request.headers.get("user-agent", "")}
    if request.client is not None:
        headers["X-Forwarded-For"] = request.client.host
    cookies = [(name, request.cookies.get(name)) for name in (SESSION_COOKIE, SIGN_IN_COOKIE)]
    if given := "; ".join(f"{name}={value}" for name, value in cookies if value is not None):
        headers["Cookie"] = given
    return headers


async def set_password(request: Request, api: Api) -> Response:
    """Answer GET with the form of a one-time link; POST sets the password and logs in."""
    if request.method == "GET":
        return _password_page(request.query_params.get("code", ""))
    try:
        form = await _form(request, too_long="this is too long for a password")
    except BodyError as error:
        return _password_page("", error.remedy, status=error.status)
    code, password = form.get("code", "")[:200], form.get("password", "")
    if password != form.get("again", ""):
        return _password_page(code, "the passwords differ: type the new one twice", status=422)
    try:
        body = PasswordSet(code=code, password=password)
    except ValidationError:
        return _password_page(code, f"a password has {MAX_PASSWORD} characters at most", status=422)

    async def refused(problem: str, *, status: int, headers: Mapping[str, str]) -> Response:
        return _password_page(code, problem, status=status, headers=headers)

    return await exchange(request, api, "/auth/password", body, HOME, refused)


async def logout(request: Request, api: Api) -> Response:
    """End the session at the backend, delete its cookie, and answer with the browser's next address as JSON."""
    session = request.cookies.get(SESSION_COOKIE)
    address = None
    if session:
        try:
            address = (await api.client(session).logout()).provider_address
        except ApiError as error:
            # A session that has ended already needs no more ending.
            if error.status != 401:
                raise
        except InvalidRequestError:
            # Nor does one that no server made.
            pass
        except httpx.TransportError:
            return unavailable()
        api.forget(session)
    answer = JSONResponse({"address": address or served("/login")})
    answer.delete_cookie(SESSION_COOKIE)
    return answer


async def login_page(
    api: Api,
    next_path: str,
    problem: str | None = None,
    *,
    name: str = "",
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> HTMLResponse:
    """Return the login page with the ways that the backend offers; a problem is shown above them."""
    offered = await _methods(api)
    target = quote(next_path, safe="/")
    action = html.escape(served(f"/login?next={target}"), quote=True)
    content = f"""
    <h1>BAPO</h1>
    <p class="lead">Off-policy RLVR, watched while it learns.</p>
    {_alert(problem)}
    {_single_sign_on(offered, target)}
    {_password_form(offered, action, name)}
    <details>
      <summary>With a login code or token</summary>
      <form method="post" action="{action}">
        <label for="secret">Login code or API token</label>
        <input id="secret" name="secret" type="password" autocomplete="off" spellcheck="false" required
               maxlength="200">
        <button type="submit">Log in with it</button>
      </form>
    </details>
    <h2>{"No password yet, or forgotten?" if offered.password else "No way in?"}</h2>
    <ul>
      {_PASSWORD_LINK if offered.password else ""}
      <li>The terminal in which BAPO was started shows a login link; on the server,
        <code>python -m backend login-code</code> prints a new code.</li>
      <li>The administrator's token is in the file <code>admin-token</code> of the data folder.</li>
    </ul>"""
    return HTMLResponse(document("Log in · BAPO", content), status_code=status, headers=headers)


_PASSWORD_LINK = "<li>An administrator can create a one-time link for you to set one.</li>"  # noqa: S105
ONLY_PASSWORDS = LoginMethods(password=True, single_sign_on=None)


async def _methods(api: Api) -> LoginMethods:
    try:
        return await api.client("").login_methods()
    except (ApiError, httpx.TransportError):
        # The page says what is wrong at the next attempt to log in.
        return ONLY_PASSWORDS


def _single_sign_on(offered: LoginMethods, target: str) -> str:
    if offered.single_sign_on is None:
        return ""
    # A link: a form would not be let out to the provider by our own policy.
    address = html.escape(served(f"{SINGLE_SIGN_ON_PATH}?next={target}"), quote=True)
    button = f'<a class="button" href="{address}">Sign in with {html.escape(offered.single_sign_on)}</a>'
    return button + ('<p class="or">or with a password of this server</p>' if offered.password else "")


def _password_form(offered: LoginMethods, action: str, name: str) -> str:
    if not offered.password:
        return ""
    return f"""<form method="post" action="{action}">
      <label for="name">Name</label>
      <input id="name" name="name" autocomplete="username" spellcheck="false" autocapitalize="none" required
             maxlength="200" value="{html.escape(name, quote=True)}" {"" if offered.single_sign_on else "autofocus"}>
      <label for="password">Password</label>
      <input id="password" name="password" type="password" autocomplete="current-password" required
             maxlength="{MAX_PASSWORD}">
      <button type="submit">Log in</button>
    </form>"""


def _password_page(
    code: str, problem: str | None = None, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> HTMLResponse:
    content = f"""
    <h1>BAPO</h1>
    <p class="lead">Set your password.</p>
    {_alert(problem)}
    <form method="post" action="{served("/set-password")}">
      <input type="hidden" name="code" value="{html.escape(code, quote=True)}">
      <label for="password">New password</label>
      <input id="password" name="password" type="password" autocomplete="new-password" required autofocus
             minlength="{MIN_PASSWORD}" maxlength="{MAX_PASSWORD}" aria-describedby="hint">
      <label for="again">Again</label>
      <input id="again" name="again" type="password" autocomplete="new-password" required
             maxlength="{MAX_PASSWORD}">
      <p class="hint" id="hint">At least {MIN_PASSWORD} characters; several words are easy to remember.</p>
      <button type="submit">Set password and log in</button>
    </form>"""
    return HTMLResponse(document("Set a password · BAPO", content), status_code=status, headers=headers)


def _alert(problem: str | None) -> str:
    return f'<p class="problem" role="alert">{html.escape(problem)}</p>' if problem else ""
