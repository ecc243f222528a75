"""Protocols by name and parameters: ``masks``, ``paths count=3``, ``trusted party=north``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from discreet.core.spelled import require_options, spelled
from discreet.core.text import meant
from discreet.errors import BadInput
from discreet.verbs.combine.protocols.masks import Dining, Masks
from discreet.verbs.combine.protocols.protocol import SumProtocol
from discreet.verbs.combine.protocols.rings import Paths, Ring
from discreet.verbs.combine.protocols.shares import Shares
from discreet.verbs.combine.protocols.trusted import Trusted

PROTOCOLS: Mapping[str, type[SumProtocol]] = MappingProxyType(
    {kind.name: kind for kind in (Masks, Shares, Paths, Ring, Dining, Trusted)}
)
"""By name, the default first."""
_EXAMPLES = {"paths": "paths count=3", "trusted": "trusted party=north"}


def parse_protocol(text: str) -> SumProtocol:
    """Parse a protocol with its parameters."""
    name, options = spelled(text)
    if name not in PROTOCOLS:
        raise BadInput(
            f"There is no protocol {name!r}{meant(name, PROTOCOLS)}.", hint=f"Known: {', '.join(PROTOCOLS)}."
        )
    kind = PROTOCOLS[name]
    require_options(name, kind, options, _EXAMPLES.get(name, name))
    return kind(**options)
