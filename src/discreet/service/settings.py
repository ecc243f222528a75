"""Settings of the service: where it listens and what it allows, checked together.

``configuration.py`` has their names in files, in the environment and as options.

Passwords, tokens and answers must not travel in the clear. So beyond this computer (loopback) the service listens with
TLS or not at all, unless the person who starts it says that something else protects the connection.
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
    """Addresses and names of the service, and its limits for each client."""

    host: str = "127.0.0.1"
    """Address to listen at; ``0.0.0.0`` and ``::`` mean every address of this computer."""
    port: int = 8640
    """Port to listen at; 0: any free one."""
    cert: Path | None = None
    """Certificate for TLS with its chain, as PEM."""
    key: Path | None = None
    names: tuple[str, ...] = ()
    """Host names of the service, besides those of this computer; requests for other names are refused."""
    insecure: bool = False
    """Whether it may listen beyond this computer without TLS."""
    behind_proxy: bool = False
    """Whether requests come through a proxy on this computer that ends TLS and says where they are from."""
    most_body: int = 1_000_000
    """Maximum size of a request's body, bytes."""
    rate: float = 50.0
    """Requests per second and person, on average."""
    burst: int = 200
    """Requests of one person at once."""
    sign_ins_a_minute: int = 10
    """Sign-in attempts per minute from one address."""
    agents_cap: Budget | None = None
    """Budget of an agent for one token, until the service ends; ``None``: agents are not served (/mcp)."""
    postgres_port: int | None = None
    """Port for clients of PostgreSQL; 0: any free one, ``None``: they are not served."""
    postgres_cap: Fraction | None = None
    """Maximum ε of one connection of such a client; ``None``: as much as the client sets."""
    local_metrics: bool = False
    """Whether programs on this computer may read the metrics without a token."""
    threads: int = 80
    """Requests worked on at once."""
    at_once: int = 64
    """Questions worked on at once, one per person; fewer than there are threads."""
    waiting: int = 32
    """Questions of one person that may wait for their turn."""
    jobs: int = 2
    """Jobs that run at once, so that a short one need not wait for a long one."""
    jobs_per_person: int = 2
    """Jobs of one person that run at once."""
    jobs_waiting: int = 50
    """Jobs of one person that may wait."""
    health_seconds: float = 0.9
    """Time limit of a health check for the database and the disk, seconds."""
    free_disk_bytes: int = 100_000_000
    """Free space on the workspace's disk below which the service reports a problem, bytes."""
    grace: float = 10.0
    """Time for requests and jobs to finish when the service is stopped, seconds."""
    oidc_issuer: str | None = None
    """OpenID Connect provider for signing in, besides passwords; ``None``: there is none."""
    oidc_client: str | None = None
    oidc_secret: Path | None = None
    """File with the client's secret; ``None`` for a client that uses PKCE alone."""
    oidc_scopes: tuple[str, ...] = ("openid", "profile", "email")
    oidc_name_claim: str = "preferred_username"
    oidc_domains: tuple[str, ...] = ()
    oidc_groups_claim: str = "groups"
    oidc_stewards: tuple[str, ...] = ()
    oidc_analysts: tuple[str, ...] = ()
    oidc_auditors: tuple[str, ...] = ()
    oidc_create: bool = True
    """Whether a new person gets an account at their first sign-in."""
    oidc_token_days: int = TOKEN_DAYS
    """Time for which tokens of such a person work after their last sign-in, days."""

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
        """Groups of the provider for each role, the role with the most permissions first."""
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
        """Names and addresses of the service, without a port."""
        own = {self.host} if not _is_address(self.host) or not ipaddress.ip_address(self.host).is_unspecified else set()
        return frozenset({*_LOOPBACK, *self.names, *own})

    def address(self, port: int | None = None) -> str:
        """Address for a browser; ``port`` is the actual one if any free port was asked for."""
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
        """An error if the settings of a provider are incomplete."""
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
