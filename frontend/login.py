"""The login page, which needs nothing but itself, and the exchange of a code or token for a session."""

from __future__ import annotations

import html
from urllib.parse import parse_qs, quote

import httpx
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from bapo.api import Login
from bapo.client import SESSION_COOKIE, ApiError, error_of
from frontend.session import Api
from frontend.theme import DARK, FONT_FAMILY, LIGHT, Palette

HOME = "/runs"
LONGEST_FORM_BYTES = 4096


def local_path(path: str | None) -> str:
    """The path if it leads to a page of this dashboard, else the run history: no redirect to another site."""
    if not path or not path.startswith("/") or path.startswith(("//", "/\\", "/login")):
        return HOME
    return path if all(" " <= character != "\\" for character in path) else HOME


def login_url(next_path: str) -> str:
    """The login page that returns to a path afterwards."""
    target = local_path(next_path)
    return "/login" if target == HOME else f"/login?next={quote(target, safe='/')}"


async def login(request: Request, api: Api) -> Response:
    """GET shows the page, or takes `?code=`; POST takes the form's token or code."""
    next_path = local_path(request.query_params.get("next"))
    if request.method == "GET":
        code = request.query_params.get("code")
        if not code:
            return _page(next_path)
        return await _exchange(api, Login(code=code[:200]), next_path)
    body = await request.body()
    if len(body) > LONGEST_FORM_BYTES:
        return _page(next_path, "that is too long for a code or token: paste it alone", status=413)
    form = {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
    secret = form.get("secret", "").strip()[:200]
    if not secret:
        return _page(next_path, "paste a login code or a token first", status=422)
    answer = await _exchange(api, Login(token=secret), next_path)
    # People paste either into the one field there is; a code is tried only if it is no token.
    return await _exchange(api, Login(code=secret), next_path) if answer.status_code == 401 else answer


async def _exchange(api: Api, body: Login, next_path: str) -> Response:
    try:
        response = await api.http.post("/auth/login", json=body.model_dump(exclude_none=True))
    except httpx.TransportError:
        return unavailable()
    if not response.is_success:
        error = error_of(response)
        return _page(next_path, f"{error.body.remedy} (request {error.body.request_id})", status=error.status)
    redirect = RedirectResponse(next_path, status_code=303)
    for cookie in response.headers.get_list("set-cookie"):
        redirect.headers.append("set-cookie", cookie)
    return redirect


async def logout(request: Request, api: Api) -> Response:
    """End the session at the backend and forget its cookie."""
    session = request.cookies.get(SESSION_COOKIE)
    if session:
        try:
            await api.client(session).logout()
        except ApiError as error:
            # A session that has ended already needs no more ending.
            if error.status != 401:
                raise
        except httpx.TransportError:
            return unavailable()
        api.forget(session)
    answer = RedirectResponse("/login", status_code=303)
    answer.delete_cookie(SESSION_COOKIE)
    return answer


def _page(next_path: str, problem: str | None = None, status: int = 200) -> HTMLResponse:
    alert = f'<p class="problem" role="alert">{html.escape(problem)}</p>' if problem else ""
    action = html.escape(f"/login?next={quote(next_path, safe='/')}", quote=True)
    content = f"""
    <h1>BAPO</h1>
    <p class="lead">Off-policy RLVR, watched while it learns.</p>
    {alert}
    <form method="post" action="{action}">
      <label for="secret">Login code or API token</label>
      <input id="secret" name="secret" type="password" autocomplete="current-password" spellcheck="false"
             autofocus required maxlength="200">
      <button type="submit">Log in</button>
    </form>
    <h2>Where do I find it?</h2>
    <ul>
      <li>The terminal in which BAPO was started shows a login link: open that.</li>
      <li>On the server, <code>python -m backend login-code</code> prints a new one-time code.</li>
      <li>The administrator's token lies in the file <code>admin-token</code> of the data folder.</li>
    </ul>"""
    return HTMLResponse(_document("Log in · BAPO", content), status_code=status)


def unavailable() -> HTMLResponse:
    """The page shown while the backend does not answer; it tries again by itself."""
    content = """
    <h1>BAPO</h1>
    <p class="problem" role="alert">The server does not answer at the moment.</p>
    <p>This page tries again every few seconds. Training goes on meanwhile: it needs no server, and what it records
    is shown as soon as the server is back.</p>"""
    document = _document("Server unavailable · BAPO", content, refresh_seconds=3)
    return HTMLResponse(document, status_code=503, headers={"Retry-After": "3"})


def _document(title: str, content: str, refresh_seconds: int | None = None) -> str:
    refresh = f'<meta http-equiv="refresh" content="{refresh_seconds}">' if refresh_seconds else ""
    return f"""<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  {refresh}
  <title>{html.escape(title)}</title>
  <link rel="icon" href="data:,">
  <style>{_variables(LIGHT)}@media (prefers-color-scheme: dark) {{{_variables(DARK)}}}{_STYLE}</style>
</head>
<body><main>{content}</main></body>
</html>"""


def _variables(palette: Palette) -> str:
    return (
        f":root{{--page:{palette.page};--card:{palette.card};--border:{palette.border};--text:{palette.text};"
        f"--muted:{palette.muted};--accent:{palette.accent};--bad:{palette.bad}}}"
    )


_STYLE = f"""
:root {{ color-scheme: light dark; }}
* {{ box-sizing: border-box; }}
body {{ margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 24px;
  background: var(--page); color: var(--text); font: 15px/1.5 {FONT_FAMILY}; }}
main {{ width: 100%; max-width: 420px; padding: 32px; background: var(--card);
  border: 1px solid var(--border); border-radius: 12px; }}
h1 {{ margin: 0; font-size: 24px; letter-spacing: 0.02em; }}
h2 {{ margin: 28px 0 8px; font-size: 13px; color: var(--muted); font-weight: 600; }}
.lead {{ margin: 4px 0 24px; color: var(--muted); }}
.problem {{ margin: 12px 0 16px; padding: 10px 12px; border-radius: 8px; color: var(--bad);
  border: 1px solid var(--bad); overflow-wrap: anywhere; }}
label {{ display: block; margin-bottom: 6px; font-weight: 600; font-size: 13px; }}
input {{ width: 100%; height: 40px; padding: 0 12px; font: inherit; color: inherit; background: var(--page);
  border: 1px solid var(--border); border-radius: 8px; }}
input:focus-visible, button:focus-visible {{ outline: 2px solid var(--accent); outline-offset: 1px; }}
button {{ width: 100%; height: 40px; margin-top: 12px; font: inherit; font-weight: 600; color: #fff;
  background: #2f6fd0; border: 0; border-radius: 8px; cursor: pointer; }}
ul {{ margin: 0; padding-left: 18px; font-size: 13px; color: var(--muted); }}
li {{ margin: 4px 0; }}
code {{ font-size: 12px; color: var(--text); overflow-wrap: anywhere; }}
"""
