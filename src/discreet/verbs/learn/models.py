"""A model that was released, read back as what it is."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.errors import BadInput
from discreet.verbs.learn.clusters import Centres
from discreet.verbs.learn.linear import Linear
from discreet.verbs.learn.statistics import Summary
from discreet.verbs.learn.tree import Tree

_KINDS: Mapping[str, type[Tree | Linear | Centres | Summary]] = {
    one.kind: one for one in (Tree, Linear, Centres, Summary)
}


def read_model(payload: object) -> Tree | Linear | Centres | Summary:
    """The model that is the payload of a release: it can predict, be printed and be drawn."""
    kind = payload.get("kind") if isinstance(payload, Mapping) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise BadInput(
            "This is no model that discreet released.", hint="Give the payload of a release: release.payload."
        )
    return _KINDS[kind].from_dict(payload)
