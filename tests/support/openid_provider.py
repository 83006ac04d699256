"""A real OpenID Connect provider on a port of its own, built of Authlib's server side: it checks client, redirect
address, PKCE and single use of codes, and signs ID tokens. A test can make it misbehave."""

from __future__ import annotations

import html
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import urljoin

import flask
import httpx
from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import ClientMixin
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oidc.core import OpenIDCode
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey
from werkzeug.serving import make_server

CLIENT_ID = "bapo"
CLIENT_SECRET = "amaranth+secret/of the client"
PASSWORD = "at the provider"
CODE_SECONDS = 60.0

Claims = dict[str, Any]
Forge = Callable[["OpenIdProvider", dict[str, Any], Claims], str]
"""Makes an ID token of its header and claims."""


@dataclass
class Client(ClientMixin):  # type: ignore[misc]
    """The one client that is registered."""

    provider: OpenIdProvider

    def get_client_id(self) -> str:
        return CLIENT_ID

    def get_default_redirect_uri(self) -> str:
        return self.provider.redirect_uri

    def get_allowed_scope(self, scope: str) -> str:
        return scope

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri == self.provider.redirect_uri

    def check_client_secret(self, client_secret: str) -> bool:
        return client_secret == CLIENT_SECRET

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "client_secret_basic"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type == "authorization_code"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"


@dataclass
class Code:
    """An authorization code, and what it was given for."""

    code: str
    user: str
    redirect_uri: str
    scope: str
    nonce: str
    code_challenge: str
    code_challenge_method: str
    made_at: float = field(default_factory=time.time)

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope

    def get_nonce(self) -> str:
        return self.nonce

    def get_auth_time(self) -> int:
        return int(self.made_at)

    def get_acr(self) -> None:
        return None

    def get_amr(self) -> None:
        return None


@dataclass
class OpenIdProvider:
    """The provider, its users, and what it is to do wrong."""

    url: str = ""
    redirect_uri: str = ""
    """The one that is registered."""
    users: dict[str, Claims] = field(default_factory=dict)
    """Claims by name."""
    keys: list[RSAKey] = field(default_factory=list)
    """It signs with the last one, and publishes all."""
    codes: dict[str, Code] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    """Whose an access token is."""
    logouts: list[Mapping[str, str]] = field(default_factory=list)
    is_down: bool = False
    issuer: str | None = None
    """Instead of its own."""
    only_userinfo: frozenset[str] = frozenset()
    """Claims that the ID token leaves out."""
    forge: Forge | None = None
    names_issuer: bool = False
    """Whether the way back names it (RFC 9207)."""
    keys_address: str | None = None
    """Where the keys are said to be; None: where they are."""

    def add(self, name: str, **claims: Any) -> None:
        """A user who can sign in; the name is the subject unless the claims say another."""
        self.users[name] = {"sub": f"id-of-{name}", "preferred_username": name, **claims}

    def change_keys(self) -> None:
        """Sign with a new key, and withdraw the old ones."""
        self.keys = [RSAKey.generate_key(2048, auto_kid=True)]

    def signed(self, header: Mapping[str, Any], claims: Claims, key: RSAKey | None = None) -> str:
        """An ID token with a good signature, by the provider's key or by another."""
        used = key or self.keys[-1]
        return jwt.encode({**header, "kid": used.kid}, claims, used, ["RS256"])

    def behave(self) -> None:
        """Do nothing wrong any more."""
        self.is_down, self.issuer, self.forge, self.names_issuer, self.keys_address = False, None, None, False, None
        self.only_userinfo = frozenset()


def _grants(provider: OpenIdProvider) -> tuple[type[Any], list[Any]]:
    class CodeGrant(AuthorizationCodeGrant):  # type: ignore[misc]
        TOKEN_ENDPOINT_AUTH_METHODS: ClassVar = ["client_secret_basic"]

        def save_authorization_code(self, code: str, request: Any) -> None:
            data = request.payload.data
            provider.codes[code] = Code(
                code,
                request.user,
                data["redirect_uri"],
                data["scope"],
                data["nonce"],
                data["code_challenge"],
                data["code_challenge_method"],
            )

        def query_authorization_code(self, code: str, client: Client) -> Code | None:
            found = provider.codes.get(code)
            return found if found is not None and found.made_at > time.time() - CODE_SECONDS else None

        def delete_authorization_code(self, authorization_code: Code) -> None:
            del provider.codes[authorization_code.code]

        def authenticate_user(self, authorization_code: Code) -> str:
            return authorization_code.user

    class IdTokens(OpenIDCode):  # type: ignore[misc]
        def exists_nonce(self, nonce: str, request: Any) -> bool:
            return any(code.nonce == nonce for code in provider.codes.values())

        def resolve_client_private_key(self, client: Client) -> RSAKey:
            return provider.keys[-1]

        def get_client_claims(self, client: Client) -> Claims:
            return {"iss": provider.url, "aud": [CLIENT_ID]}

        def get_encode_header(self, client: Client) -> dict[str, Any]:
            return {"alg": "RS256", "kid": provider.keys[-1].kid}

        def generate_user_info(self, user: str, scope: str) -> Claims:
            return {name: value for name, value in provider.users[user].items() if name not in provider.only_userinfo}

        def encode_id_token(self, token: Any, request: Any) -> str:
            made: str = super().encode_id_token(token, request)
            if provider.forge is None:
                return made
            decoded = jwt.decode(made, KeySet(list(provider.keys)), ["RS256"])
            return provider.forge(provider, dict(decoded.header), dict(decoded.claims))

    return CodeGrant, [IdTokens(require_nonce=True), CodeChallenge(required=True)]


def _app(provider: OpenIdProvider) -> flask.Flask:
    app = flask.Flask(__name__)

    def save_token(token: Mapping[str, Any], request: Any) -> None:
        provider.tokens[token["access_token"]] = request.user

    server = AuthorizationServer(
        app, query_client=lambda name: Client(provider) if name == CLIENT_ID else None, save_token=save_token
    )
    server.register_grant(*_grants(provider))

    @app.before_request
    def refuse() -> flask.Response | None:
        return flask.Response("out of order", 503) if provider.is_down else None

    @app.get("/.well-known/openid-configuration")
    def discovery() -> Claims:
        endpoints = {f"{each}_endpoint": urljoin(provider.url, each) for each in ("authorization", "token", "userinfo")}
        return {
            "issuer": provider.issuer or provider.url,
            **endpoints,
            "end_session_endpoint": urljoin(provider.url, "logout"),
            "jwks_uri": provider.keys_address or urljoin(provider.url, "jwks"),
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": provider.names_issuer,
        }

    @app.get("/jwks")
    def jwks() -> Any:
        return KeySet(list(provider.keys)).as_dict(private=False)

    @app.get("/authorization")
    def form() -> Any:
        try:
            server.get_consent_grant(end_user=None)
        except OAuth2Error as error:
            return server.handle_error_response(None, error)
        action = html.escape(flask.request.url)
        return f"""<link rel="icon" href="data:,"><h1>Company</h1><form method="post" action="{action}">
            <label>User <input name="user"></label> <label>Password <input name="password" type="password"></label>
            <button>Continue</button></form>"""

    @app.post("/authorization")
    def decide() -> Any:
        user = flask.request.form["user"]
        is_right = user in provider.users and flask.request.form["password"] == PASSWORD
        grant = server.get_consent_grant(end_user=user if is_right else None)
        answer = server.create_authorization_response(grant=grant, grant_user=user if is_right else None)
        if provider.names_issuer:
            answer.headers["Location"] += "&" + str(httpx.QueryParams({"iss": provider.url}))
        return answer

    @app.post("/token")
    def token() -> Any:
        return server.create_token_response()

    @app.get("/userinfo")
    def userinfo() -> Any:
        user = provider.tokens.get(flask.request.headers["Authorization"].removeprefix("Bearer "))
        return flask.Response(status=401) if user is None else provider.users[user]

    @app.get("/logout")
    def logout() -> Any:
        provider.logouts.append(flask.request.args.to_dict())
        return flask.redirect(flask.request.args["post_logout_redirect_uri"])

    return app


@contextmanager
def running_provider() -> Iterator[OpenIdProvider]:
    """The provider on a free port."""
    provider = OpenIdProvider()
    provider.change_keys()
    server = make_server("127.0.0.1", 0, _app(provider), threaded=True)
    provider.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, name="openid provider")
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
