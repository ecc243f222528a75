"""A small OpenID Connect provider on this computer: real HTTP, real signatures, and as dishonest as a test asks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode

import uvicorn
from fastapi import FastAPI, Request
from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.responses import JSONResponse, RedirectResponse, Response

CLIENT, SECRET = "discreet", "a secret of the client"


def new_key() -> RSAKey:
    return RSAKey.generate_key(2048, auto_kid=True)


@dataclass
class TestProvider:
    """Whoever comes is ``person``. ``id_token`` may change what is signed, or sign it some other way."""

    __test__ = False
    issuer: str = ""
    person: dict[str, Any] = field(default_factory=dict)
    keys: list[RSAKey] = field(default_factory=lambda: [new_key()])
    """The first one signs."""
    claims: Callable[[dict[str, Any]], dict[str, Any]] = lambda claims: claims
    sign: Callable[[TestProvider, dict[str, Any]], str] | None = None
    in_id_token: set[str] | None = None
    """Which claims of the person are in the ID token; ``None``: all."""
    userinfo: dict[str, Any] = field(default_factory=dict)
    """What is told of them elsewhere."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """What it says of itself otherwise."""
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)

    def signed(self, claims: dict[str, Any]) -> str:
        if self.sign is not None:
            return self.sign(self, claims)
        key = self.keys[0]
        return jwt.encode({"alg": "RS256", "kid": key.kid}, claims, key, algorithms=["RS256"])


def by_hand(header: dict[str, Any], claims: dict[str, Any], signature: Callable[[bytes], bytes]) -> str:
    """A token that no library would make."""
    text = b".".join(_encoded(json.dumps(part).encode()) for part in (header, claims))
    return (text + b"." + _encoded(signature(text))).decode()


def with_secret(secret: bytes) -> Callable[[bytes], bytes]:
    return lambda text: hmac.new(secret, text, hashlib.sha256).digest()


def _encoded(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def make_app(provider: TestProvider) -> FastAPI:
    app = FastAPI()

    @app.get("/.well-known/openid-configuration")
    def metadata() -> dict[str, Any]:
        provider.fetched.append("metadata")
        at = provider.issuer
        return {
            "issuer": at,
            "authorization_endpoint": f"{at}/authorize",
            "token_endpoint": f"{at}/token",
            "jwks_uri": f"{at}/keys",
            "userinfo_endpoint": f"{at}/userinfo",
            "end_session_endpoint": f"{at}/end",
            "code_challenge_methods_supported": ["S256"],
            **provider.metadata,
        }

    @app.get("/keys")
    def keys() -> dict[str, Any]:
        provider.fetched.append("keys")
        return {"keys": [key.as_dict(private=False) for key in provider.keys]}

    @app.get("/authorize")
    def authorize(request: Request) -> Response:
        asked = dict(request.query_params)
        assert asked["response_type"] == "code" and asked["client_id"] == CLIENT
        assert "openid" in asked["scope"].split() and asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe()
        provider.codes[code] = asked
        back = {"code": code, "state": asked["state"], "iss": provider.issuer}
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(back)}", 303)

    @app.post("/token")
    async def token(request: Request) -> Response:
        sent = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        asked = provider.codes.pop(sent.get("code", ""), None)
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if request.headers.get("authorization") != f"Basic {basic}":
            return JSONResponse({"error": "invalid_client"}, 401)
        challenge = _encoded(hashlib.sha256(sent.get("code_verifier", "").encode()).digest()).decode()
        same = asked and (asked["redirect_uri"], asked["code_challenge"]) == (sent.get("redirect_uri"), challenge)
        if not asked or not same:
            return JSONResponse({"error": "invalid_grant"}, 400)
        now, access = int(time.time()), secrets.token_urlsafe()
        half = hashlib.sha256(access.encode()).digest()[:16]
        known = {"iss": provider.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": asked["nonce"]}
        known |= {"at_hash": _encoded(half).decode()}
        shown = provider.in_id_token
        known |= {name: value for name, value in provider.person.items() if shown is None or name in shown}
        return JSONResponse(
            {"access_token": access, "token_type": "Bearer", "id_token": provider.signed(provider.claims(known))}
        )

    @app.get("/userinfo")
    def userinfo(request: Request) -> dict[str, Any]:
        assert request.headers["authorization"].startswith("Bearer ")
        return {**provider.person, **provider.userinfo}

    return app


@contextmanager
def providing() -> Iterator[TestProvider]:
    """A provider at a port that was free."""
    provider = TestProvider()
    server = uvicorn.Server(uvicorn.Config(make_app(provider), port=0, access_log=False, log_config=None))
    ready, startup = threading.Event(), server.startup

    async def started(*args: object, **kwargs: object) -> None:
        await startup(*args, **kwargs)
        ready.set()

    server.startup = started
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        assert ready.wait(60), "it did not start"
        provider.issuer = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        yield provider
    finally:
        server.should_exit = True
        thread.join(30)
