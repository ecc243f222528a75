"""Sign-in by an OpenID Connect provider: the authorization code flow with PKCE, and what its ID token says.

Why no one comes in as someone else. An identity is the pair of issuer and subject, which the provider signs with a key
of its own: only algorithms with a public key are taken (so neither ``none`` nor a secret that is public), for this
client (``aud``, ``azp``), from this issuer, unexpired. State, nonce and PKCE's verifier are derived from a secret in a
cookie of the browser that began, and the cookie ends with the attempt: a code or an address that was seen elsewhere, or
is used again, is of no use without it. Someone who can write cookies of this host over plain HTTP could bring their
own, so over TLS the cookie's name says ``__Host-``. Where to go on afterwards is in the cookie, not in the address.

The name and the groups are the provider's word. What a person could choose there (an address that was not verified) is
not taken for a name, and an identity never becomes an account that was there before unless a steward linked the two.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from discreet.core.optional import extra
from discreet.curator.people.identities import Identity
from discreet.curator.people.person import Role, is_name
from discreet.errors import BadInput, NotFound, NotSignedIn, Unreachable
from discreet.noise.entropy import token
from discreet.service.settings import Settings

CALLBACK = "/signin/openid/callback"
"""Path to which the provider sends people back."""
ATTEMPT_SECONDS = 600
"""Time limit for signing in at the provider, seconds."""
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_LEEWAY_SECONDS = 60
"""Largest accepted difference between the provider's clock and ours, seconds."""
_KEPT_SECONDS = 3600
"""Time for which the provider's metadata and keys are reused, seconds."""
_TIMEOUT_SECONDS = 10
_MOST_BYTES = 1_000_000
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_AGAIN = "Sign in again."


@dataclass(frozen=True)
class Attempt:
    """A sign-in that has begun: the address for the browser, and the cookie that it must bring back."""

    url: str
    cookie: str


class Provider:
    """The provider of the settings. Threads may share it."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        if settings.oidc_issuer is None or settings.oidc_client is None:
            raise BadInput("No OpenID Connect provider is set.", hint="Set oidc_issuer and oidc_client.")
        with extra("oidc"):
            import authlib  # noqa: F401
            import httpx2
            import joserfc  # noqa: F401
        self._settings, self._clock = settings, clock
        self._issuer, self._client_id = settings.oidc_issuer, settings.oidc_client
        self._secret = _secret_of(settings)
        self._context = httpx2.create_ssl_context()
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[float, dict[str, Any]]] = {}
        """What was fetched, by its address, and when."""

    @property
    def name(self) -> str:
        """Name for people: the provider's host."""
        return urlsplit(self._issuer).netloc

    def metadata(self) -> dict[str, Any]:
        """What the provider says of itself; an error if it is not the one that was set."""
        place = self._issuer.rstrip("/") + "/.well-known/openid-configuration"
        found = self._fetch(place, _KEPT_SECONDS)
        if found.get("issuer") != self._issuer:
            raise BadInput(
                f"{place} names the issuer {found.get('issuer')!r:.200}, not {self._issuer}.",
                hint="Set oidc_issuer to exactly what the provider calls itself.",
            )
        for endpoint in _ENDPOINTS:
            if not isinstance(found.get(endpoint), str) or not is_safe_url(found[endpoint]):
                raise BadInput(f"The provider {self.name} gives no https address as {endpoint}.")
        methods = found.get("code_challenge_methods_supported")
        if methods is not None and "S256" not in methods:
            raise BadInput(f"The provider {self.name} does not support PKCE with S256.")
        return found

    def begin(self, callback: str, place: str) -> Attempt:
        """Begin a sign-in that comes back to the address ``callback``, and ends at ``place``, a path of ours."""
        metadata = self.metadata()
        where = base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")
        cookie = f"{int(self._clock())}.{token(32)}.{where}"
        with self._client() as client:
            url, _ = client.create_authorization_url(
                metadata["authorization_endpoint"],
                state=_derived(cookie, "state"),
                nonce=_derived(cookie, "nonce"),
                code_verifier=_derived(cookie, "verifier"),
                redirect_uri=callback,
            )
        return Attempt(url, cookie)

    def finish(self, answer: Mapping[str, str], cookie: str, callback: str) -> tuple[Identity, str]:
        """Who signed in, by what the browser brought back, and the path where they go on."""
        place = self._place(answer, cookie)
        if answer.get("iss", self._issuer) != self._issuer:
            raise NotSignedIn("This sign-in is from another provider.", hint=_AGAIN)
        if "error" in answer:
            raise NotSignedIn(f"{self.name} did not sign you in{_kind(answer['error'])}.", hint=_AGAIN)
        metadata = self.metadata()
        tokens = self._tokens(metadata, answer.get("code", ""), cookie, callback)
        claims = self._claims(metadata, tokens, _derived(cookie, "nonce"))
        settings = self._settings
        wanted = {settings.oidc_name_claim, settings.oidc_groups_claim}
        if not wanted <= set(claims) and "userinfo_endpoint" in metadata:
            claims = self._user_info(metadata, tokens, str(claims["sub"])) | claims
        return Identity(self._issuer, claims["sub"], self._name_of(claims), self._role_of(claims)), place

    def end_address(self, back: str) -> str | None:
        """Address for signing out at the provider, too; empty if it has no such page."""
        end = self.metadata().get("end_session_endpoint")
        if not isinstance(end, str) or not is_safe_url(end):
            return None
        asked = urlencode({"client_id": self._client_id, "post_logout_redirect_uri": back})
        return f"{end}{'&' if urlsplit(end).query else '?'}{asked}"

    def _place(self, answer: Mapping[str, str], cookie: str) -> str:
        """Where to go on; an error unless this browser began this sign-in, and not too long ago."""
        begun, _, rest = cookie.partition(".")
        where = rest.rpartition(".")[2]
        sent = answer.get("state", "")
        if not cookie or not hmac.compare_digest(sent.encode(), _derived(cookie, "state").encode()):
            raise NotSignedIn("This sign-in was not begun in this browser, or is over.", hint=_AGAIN)
        try:
            age = self._clock() - int(begun)
            place = base64.urlsafe_b64decode(where + "=" * (-len(where) % 4)).decode()
        except ValueError:
            age, place = ATTEMPT_SECONDS, "/"
        if not -_LEEWAY_SECONDS <= age < ATTEMPT_SECONDS:
            raise NotSignedIn(f"This sign-in took longer than {ATTEMPT_SECONDS // 60} minutes.", hint=_AGAIN)
        return place

    def _client(self) -> Any:
        from authlib.integrations.httpx_client import OAuth2Client

        return OAuth2Client(
            self._client_id,
            self._secret,
            scope=" ".join(self._settings.oidc_scopes),
            code_challenge_method="S256",
            timeout=_TIMEOUT_SECONDS,
            verify=self._context,
            follow_redirects=False,
        )

    def _tokens(self, metadata: Mapping[str, Any], code: str, cookie: str, callback: str) -> Mapping[str, Any]:
        import httpx2
        from authlib.integrations.base_client import OAuthError

        methods = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        with self._client() as client:
            if self._secret is not None and "client_secret_basic" not in methods:
                client.token_endpoint_auth_method = "client_secret_post"  # noqa: S105  # the name of a method
            try:
                found = client.fetch_token(
                    metadata["token_endpoint"],
                    grant_type="authorization_code",
                    code=code,
                    code_verifier=_derived(cookie, "verifier"),
                    redirect_uri=callback,
                )
            except OAuthError as error:
                raise NotSignedIn(f"{self.name} refused the sign-in{_kind(error.error)}.", hint=_AGAIN) from None
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                raise self._unreachable(error) from None
            except (ValueError, AttributeError, TypeError):  # not JSON, or not an object
                raise NotSignedIn(f"{self.name} sent a reply that cannot be read.", hint=_AGAIN) from None
        if not isinstance(found.get("id_token"), str):
            raise NotSignedIn(f"{self.name} gave no ID token.", hint="Its scopes (oidc_scopes) must include openid.")
        return dict(found)

    def _claims(self, metadata: Mapping[str, Any], tokens: Mapping[str, Any], nonce: str) -> dict[str, Any]:
        """What the ID token says, once its signature and everything it must say has been checked."""
        from authlib.oidc.core import CodeIDToken
        from joserfc import jwt
        from joserfc.errors import InvalidKeyIdError, JoseError
        from joserfc.jwk import KeySet

        def decoded(most_seconds: float) -> jwt.Token:
            keys = KeySet.import_key_set(self._fetch(metadata["jwks_uri"], most_seconds))  # type: ignore[arg-type]
            return jwt.decode(tokens["id_token"], keys, algorithms=_ALGORITHMS)

        try:
            try:
                found = decoded(_KEPT_SECONDS)
            except InvalidKeyIdError:  # the provider, from whom the token came just now, has a new key
                found = decoded(0)
            options = {"iss": {"essential": True, "value": self._issuer}, "aud": {"value": self._client_id}}
            known = {"nonce": nonce, "client_id": self._client_id, "access_token": tokens.get("access_token")}
            claims = CodeIDToken(found.claims, found.header, options, known)
            claims.validate(int(self._clock()), _LEEWAY_SECONDS)
        except (JoseError, ValueError, TypeError, KeyError) as error:
            what = getattr(error, "error", "")
            raise NotSignedIn(f"The ID token of {self.name} is not valid{_kind(what)}.", hint=_AGAIN) from None
        if not claims["sub"]:
            raise NotSignedIn(f"The ID token of {self.name} names no one.", hint=_AGAIN)
        return dict(claims)

    def _user_info(self, metadata: Mapping[str, Any], tokens: Mapping[str, Any], subject: str) -> dict[str, Any]:
        """What the provider says of this person beyond the ID token."""
        place = metadata["userinfo_endpoint"]
        if not isinstance(place, str) or not is_safe_url(place):
            raise BadInput(f"The provider {self.name} gives no https address as userinfo_endpoint.")
        found = self._get(place, {"Authorization": f"Bearer {tokens.get('access_token', '')}"})
        if found.get("sub") != subject:  # OpenID Connect Core 5.3.2: another person's must not be used
            raise NotSignedIn(f"{self.name} answered about someone else.", hint=_AGAIN)
        return found

    def _name_of(self, claims: Mapping[str, Any]) -> str | None:
        """The user name, if the claim has one: in lower case, and of an address the part before the @."""
        claim, domains = self._settings.oidc_name_claim, self._settings.oidc_domains
        found = claims.get(claim)
        text = found.lower() if isinstance(found, str) else ""
        if "@" in text:
            local, _, domain = text.rpartition("@")
            verified = claim != "email" or claims.get("email_verified") is True
            text = local if verified and domain in domains else ""
        return text if is_name(text) else None

    def _role_of(self, claims: Mapping[str, Any]) -> Role | None:
        """The role of a person's groups: of several, the one with the most permissions."""
        found = claims.get(self._settings.oidc_groups_claim)
        listed = found if isinstance(found, list) else [found]
        groups = {one for one in listed if isinstance(one, str)}
        for role, names in self._settings.oidc_roles.items():
            if groups & set(names):
                return role
        return None

    def _fetch(self, place: str, most_seconds: float) -> dict[str, Any]:
        """A document of the provider, fetched again if it was longer ago."""
        with self._lock:
            fetched, found = self._kept.get(place, (-_KEPT_SECONDS, {}))
            now = time.monotonic()
            if not found or now - fetched >= most_seconds:
                found = self._get(place, {})
                self._kept[place] = now, found
            return found

    def _get(self, place: str, headers: Mapping[str, str]) -> dict[str, Any]:
        import httpx2

        try:
            with (
                httpx2.Client(timeout=_TIMEOUT_SECONDS, verify=self._context, follow_redirects=False) as http,
                http.stream("GET", place, headers={"Accept": "application/json", **headers}) as answer,
            ):
                answer.raise_for_status()
                text = b""
                for piece in answer.iter_bytes():
                    text += piece
                    if len(text) > _MOST_BYTES:
                        raise ValueError
            found = json.loads(text)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._unreachable(error) from None
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise Unreachable(f"{place} is not a document of an OpenID Connect provider.", hint="Check oidc_issuer.")
        return found

    def _unreachable(self, error: Exception) -> Unreachable:
        what = f"{type(error).__name__}: {error}"[:200]
        return Unreachable(f"The sign-in provider {self.name} does not answer ({what}).", hint="Try again later.")


def is_safe_url(url: str) -> bool:
    """Whether an address has TLS, or is on this computer."""
    try:
        found = urlsplit(url)
        host = found.hostname
    except ValueError:
        return False
    return bool(host) and (
        found.scheme == "https" or (found.scheme == "http" and host in ("localhost", "127.0.0.1", "::1"))
    )


def _secret_of(settings: Settings) -> str | None:
    file = settings.oidc_secret
    if file is None:
        return None
    try:
        secret = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise NotFound(f"The secret of the OpenID Connect client cannot be read: {file}.") from None
    if not secret:
        raise BadInput(f"{file} is empty.", hint="It must have the secret of the OpenID Connect client.")
    return secret


def _derived(cookie: str, what: str) -> str:
    """A secret for one purpose, of no use to find the cookie or another."""
    return hmac.new(cookie.encode(errors="replace"), f"discreet openid {what}".encode(), hashlib.sha256).hexdigest()


def _kind(error: object) -> str:
    """The kind of an error in brackets; empty unless it is a plain word, since a response can say anything."""
    plain = isinstance(error, str) and error.replace("_", "").isalpha() and error.isascii() and len(error) <= 40
    return f" ({error})" if plain else ""
