"""Routes of single sign-on."""

from __future__ import annotations

from fastapi import Request, Response

from backend.identity.auth.browser import asker_of, client_address, set_session_cookie
from backend.identity.auth.openid import flow
from backend.kit.context import ContextOf, SettingsOf, new_router
from backend.kit.permissions import Anybody
from backend.settings.environment import CALLBACK_PATH
from bapo.api.accounts import LoginMethods, SignInBegun, SignInReturn, UserInfo
from bapo.client import SIGN_IN_COOKIE

router = new_router("account")


@router.get("/auth/methods", summary="List the ways to log in")
def login_methods(_: Anybody, settings: SettingsOf) -> LoginMethods:
    """Return the sign-in methods of the login page: passwords of this server, and single sign-on."""
    return LoginMethods(
        password=settings.local_passwords, single_sign_on=settings.oidc_label if settings.oidc_issuer else None
    )


@router.post("/auth/single-sign-on", summary="Begin single sign-on")
async def begin_sign_in(_: Anybody, request: Request, context: ContextOf, response: Response) -> SignInBegun:
    """Return the provider's address to send the browser to, and set a cookie that it must bring back.

    The provider sends the browser to `/login/callback` of the dashboard, within ten minutes.
    """
    begun = await flow.begin(context, client_address(request, context.settings))
    response.set_cookie(
        SIGN_IN_COOKIE,
        begun.browser_secret,
        max_age=int(flow.PENDING_SECONDS),
        path=CALLBACK_PATH,
        httponly=True,
        samesite="lax",
        secure=context.settings.public_url.startswith("https:"),
    )
    return SignInBegun(address=begun.address)


@router.post("/auth/single-sign-on/return", summary="Finish single sign-on")
async def finish_sign_in(
    _: Anybody, request: Request, context: ContextOf, response: Response, body: SignInReturn
) -> UserInfo:
    """Log in with what the provider has added to the address of `/login/callback`. Sets a new session cookie.

    It works once, and with the cookie of the browser that began it. Role and projects follow the provider's claims.
    """
    info, secret = await flow.finish(context, body, request.cookies.get(SIGN_IN_COOKIE), asker_of(request, context))
    set_session_cookie(response, context, secret)
    response.delete_cookie(SIGN_IN_COOKIE, path=CALLBACK_PATH, httponly=True, samesite="lax")
    return info
