"""The way to the provider of single sign-on and back."""

from __future__ import annotations

from functools import partial
from urllib.parse import quote, unquote

import httpx
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from bapo.api.accounts import SignInBegun, SignInReturn
from frontend.request.prefix import NEXT_COOKIE
from frontend.request.session import Api
from frontend.server.login import exchange, local_path, login_page

CALLBACK_PATH = "/login/callback"
NEXT_SECONDS = 600
UNREADABLE = "this is no answer of a sign-in: begin again with the button below"


async def leave(request: Request, api: Api, *, is_https: bool) -> Response:
    """Send the browser to the provider, and remember which page it wanted."""
    next_path = local_path(request.query_params.get("next"))

    def address(response: httpx.Response) -> str:
        return SignInBegun.model_validate_json(response.content).address

    answer = await exchange(request, api, "/auth/single-sign-on", None, address, partial(login_page, api, next_path))
    answer.set_cookie(
        NEXT_COOKIE,
        quote(next_path, safe=""),
        max_age=NEXT_SECONDS,
        path=CALLBACK_PATH,
        httponly=True,
        samesite="lax",
        secure=is_https,
    )
    return answer


async def come_back(request: Request, api: Api) -> Response:
    """Log in the user returned by the provider, and redirect to the requested page."""
    # The cookie may be forged: accept only our own pages.
    next_path = local_path(unquote(request.cookies.get(NEXT_COOKIE, "")))

    refused = partial(login_page, api, next_path)
    given = {name: request.query_params[name] for name in SignInReturn.model_fields if name in request.query_params}
    try:
        body = SignInReturn.model_validate(given)
    except ValidationError:
        return await refused(UNREADABLE, status=422)
    answer = await exchange(request, api, "/auth/single-sign-on/return", body, next_path, refused)
    if answer.status_code == 303:
        answer.delete_cookie(NEXT_COOKIE, path=CALLBACK_PATH)
    return answer
