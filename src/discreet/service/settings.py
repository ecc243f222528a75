"""How the service listens, and what it allows: everything that `discreet serve` can be told, checked at once.

Where each is said, and by which name, is in ``configuration.py``.

Passwords, tokens and answers must not travel in the clear. So beyond this computer (loopback) the service listens with
TLS or not at all, unless anyone who starts it says that something else protects the way there.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from discreet.budget.filter import Budget
from discreet.curator.people.identities import TOKEN_DAYS
from discreet.curator.people.person import Role
from discreet.errors import BadInput

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")
_LARGEST_PORT = 65_535

_ISSUER = re.compile(r"(https://[^\s/?#@]+|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?)(/[^\s?#]*)?")
_ONE_PROVIDER = "Set oidc_issuer, oidc_client, and the groups of at least one role, such as oidc_analysts."


@dataclass(frozen=True)
class Settings:
    """Where the service listens, by which names it is called, and how much of anyone it takes."""

    host: str = "127.0.0.1"
    """The address to listen at: ``0.0.0.0`` or ``::`` is every address of this computer."""
    port: int = 8640
    """0: any that is free."""
    cert: Path | None = None
    """The certificate for TLS, with those that signed it, as PEM."""
    key: Path | None = None
    names: tuple[str, ...] = ()
    """The names by which people call it, besides those of this computer: requests for any other are refused."""
    insecure: bool = False
    """Whether it may listen beyond this computer without TLS."""
    behind_proxy: bool = False
    """Whether people come by a proxy on this computer that ends TLS, and says from where."""
    most_body: int = 1_000_000
    """The most bytes that a request may bring."""
    rate: float = 50.0
    """How many requests a second everyone may send, in the long run."""
    burst: int = 200
    """How many they may send at once."""
    sign_ins_a_minute: int = 10
    """How many sign-ins may be tried from one address."""
    agents_cap: Budget | None = None
    """What an agent may spend with one token, until the service ends; ``None``: agents are not served (/mcp)."""
    postgres_port: int | None = None
    """The port where clients of PostgreSQL are served; 0: any that is free, ``None``: they are not."""
    postgres_cap: Fraction | None = None
    """ε that a connection of such a client may spend at most; ``None``: as much as it says itself."""
    local_metrics: bool = False
    """Whether programs on this computer may read the metrics without a token."""
    threads: int = 80
    """How many requests are worked on at once."""
    at_once: int = 64
    """How many questions are worked on at once, one a person; fewer than there are threads."""
    waiting: int = 32
    """How many questions of one person may wait for their turn."""
    jobs: int = 2
    """How many jobs run at once: a short one need not wait for a long one."""
    jobs_per_person: int = 2
    """How many jobs of one person run at once."""
    jobs_waiting: int = 50
    """How many jobs of one person may wait."""
    health_seconds: float = 0.9
    """How many seconds anyone who asks how the service is waits for its database and its disk."""
    free_disk_bytes: int = 100_000_000
    """Free space on the workspace's disk below which the service says that it is not well."""
    grace: float = 10.0
    """How many seconds what is running gets when the service is stopped."""
    oidc_issuer: str | None = None
    """The OpenID Connect provider by which people may sign in, besides passwords; ``None``: there is none."""
    oidc_client: str | None = None
    oidc_secret: Path | None = None
    """A file; ``None`` for a client that has no secret, and PKCE alone."""
    oidc_scopes: tuple[str, ...] = ("openid", "profile", "email")
    oidc_name_claim: str = "preferred_username"
    oidc_domains: tuple[str, ...] = ()
    oidc_groups_claim: str = "groups"
    oidc_stewards: tuple[str, ...] = ()
    oidc_analysts: tuple[str, ...] = ()
    oidc_auditors: tuple[str, ...] = ()
    oidc_create: bool = True
    """Whether someone who is new gets an account at their first sign-in."""
    oidc_token_days: int = TOKEN_DAYS
    """For how many days after their last sign-in the tokens of such a person work."""

    def __post_init__(self) -> None:
        for port in (self.port, self.postgres_port or 0):
            if not 0 <= port <= _LARGEST_PORT:
                raise BadInput(f"There is no port {port}.", hint=f"Choose one up to {_LARGEST_PORT}; 8640 is usual.")
        if not _is_address(self.host) and not _NAME.fullmatch(self.host):
            raise BadInput(f"{self.host!r} is not an address to listen on.", hint="Such as 127.0.0.1 or 0.0.0.0.")
        if (self.cert is None) != (self.key is None):
            raise BadInput("--cert and --key must be used together.", hint="Give both: --cert FILE --key FILE")
        if self.at_once >= self.threads:
            raise BadInput(
                f"{self.at_once} questions at once would leave no thread for anything else.",
                hint=f"Set questions to less than threads, which is {self.threads}.",
            )
        for name in self.names:
            if not _is_address(name) and not _NAME.fullmatch(name):
                raise BadInput(
                    f"{name!r} is not a host name.",
                    hint="Write it in lower case, without https:// or a port, such as data.example.org",
                )
        if self.behind_proxy and self.beyond:
            raise BadInput(
                f"--behind-proxy is for a proxy on this computer, but {self.host} can be reached from others.",
                hint="Listen on 127.0.0.1, and let the proxy serve the network.",
            )
        if self.beyond:
            self._require_safe_beyond()
        self._require_whole_provider()

    @property
    def tls(self) -> bool:
        """Whether it speaks TLS."""
        return self.cert is not None

    @property
    def encrypted(self) -> bool:
        """Whether what people's browsers send is encrypted, by us or by a proxy in front."""
        return self.tls or self.behind_proxy

    @property
    def oidc_roles(self) -> dict[Role, tuple[str, ...]]:
        """Which groups of the provider have which role: the one that may most first."""
        return {
            Role.STEWARD: self.oidc_stewards,
            Role.ANALYST: self.oidc_analysts,
            Role.AUDITOR: self.oidc_auditors,
        }

    @property
    def beyond(self) -> bool:
        """Whether it can be reached from other computers."""
        if _is_address(self.host):
            return not ipaddress.ip_address(self.host).is_loopback
        return self.host != "localhost"

    @property
    def hosts(self) -> frozenset[str]:
        """The names and addresses by which it may be called, without a port."""
        own = {self.host} if not _is_address(self.host) or not ipaddress.ip_address(self.host).is_unspecified else set()
        return frozenset({*_LOOPBACK, *self.names, *own})

    def address(self, port: int | None = None) -> str:
        """Where a browser finds it; ``port`` is the one it got if any free one was asked for."""
        names = () if self.behind_proxy else self.names  # which are the proxy's, at a port of its own
        own = next(iter(names), "localhost" if self.host not in self.hosts else self.host)
        shown = f"[{own}]" if ":" in own else own
        return f"{'https' if self.tls else 'http'}://{shown}:{self.port if port is None else port}"

    def _require_safe_beyond(self) -> None:
        if not self.tls and not self.insecure:
            raise BadInput(
                f"Passwords and answers would be sent unencrypted to and from {self.host}.",
                hint="Give a certificate: --cert FILE --key FILE. If something else encrypts the connection, "
                "add --insecure.",
            )
        if self.host not in self.hosts and not self.names:
            raise BadInput(
                f"{self.host} means every address of this computer, and requests need a host name.",
                hint="Add the name people use: --name data.example.org",
            )

    def _require_whole_provider(self) -> None:
        """An error unless a provider is set as a whole, or nothing of one."""
        groups = [name for names in self.oidc_roles.values() for name in names]
        if self.oidc_issuer is None and self.oidc_client is None and self.oidc_secret is None and not groups:
            return
        if self.oidc_issuer is None or self.oidc_client is None:
            raise BadInput("oidc_issuer and oidc_client must be set together.", hint=_ONE_PROVIDER)
        if not _ISSUER.fullmatch(self.oidc_issuer):
            raise BadInput(
                f"oidc_issuer {self.oidc_issuer!r:.200} is not an address with https.",
                hint="Write it as the provider does, such as https://login.example.org/realms/clinic",
            )
        if not groups:
            raise BadInput("No group of the provider has a role here.", hint=_ONE_PROVIDER)
        if twice := sorted({name for name in groups if groups.count(name) > 1}):
            raise BadInput(f"The group {twice[0]!r:.60} has two roles.", hint="Name each group once.")
        if "openid" not in self.oidc_scopes:
            raise BadInput("oidc_scopes must include openid.")


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
