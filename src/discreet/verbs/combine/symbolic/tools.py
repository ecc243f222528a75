"""The tools of ``verbs/combine/tools.py`` on symbols: what a protocol draws, agrees on and shares become variables and terms.

A label that serves two purposes would give related bits where a protocol counts on independent ones: an error here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.errors import BadInput
from discreet.verbs.combine.group import Group
from discreet.verbs.combine.symbolic.forms import Digest, Draw, Form, Mask, Public, Secret, Seed, Share


class Symbolic:
    """A party's tools on symbols."""

    def __init__(self, party: str) -> None:
        self._party = party
        self._purposes: dict[object, object] = {}

    def draw(self, label: str, group: Group, length: int) -> Any:
        """A variable that this party alone knows."""
        self._for_one_purpose(label, ("draw", group, length))
        return Form.sum([Draw(self._party, label)])

    def secret(self, label: str) -> Secret:
        """A term that this party alone knows."""
        self._for_one_purpose(label, "secret")
        return Secret(self._party, label)

    def public(self, secret: Any) -> Public:
        """The public key that belongs to a secret."""
        return Public(secret)

    def agree(self, mine: Any, theirs: Public) -> Seed:
        """The seed of two keys, the same for both."""
        return Seed(frozenset({mine, theirs.of}))

    def mask(self, seed: Any, label: str, group: Group, length: int) -> Any:
        """A variable that whoever knows the seed knows."""
        self._for_one_purpose((seed, label), (group, length))
        return Form.sum([Mask(seed, label)])

    def split(self, secret: Any, label: str, holders: Sequence[str], threshold: int) -> dict[str, Share]:
        """A share of the secret for each holder."""
        if not 1 <= threshold <= len(holders):
            raise BadInput(f"A secret is not shared among {len(holders)} so that {threshold} are enough.")
        self._for_one_purpose(label, ("split", secret, tuple(holders), threshold))
        return {holder: Share(secret, label, holder, threshold) for holder in holders}

    def join(self, shares: Mapping[str, Share], threshold: int) -> Any:
        """The secret that these shares are of; BadInput if they are of none."""
        sharings = {(share.of, share.label, share.threshold) for share in shares.values()}
        if len(sharings) != 1:
            raise BadInput("These shares are not all of the same secret.")
        secret, _, needed = sharings.pop()
        if len({share.holder for share in shares.values()}) < needed or threshold != needed:
            raise BadInput(f"These shares do not give the secret: {needed} different ones are needed.")
        return secret

    def digest(self, group: Group, *parts: Any) -> Digest:
        """Equal for equal parts; it does not hide them."""
        return Digest(tuple(part % group.modulus if isinstance(part, Form) else part for part in parts))

    def fits(self, part: Any, group: Group, length: int) -> bool:
        """Whether this is a form, which stands for vectors of every group and length."""
        return isinstance(part, Form)

    def is_public(self, part: Any) -> bool:
        """Whether this is a public key."""
        return isinstance(part, Public)

    def is_share(self, part: Any) -> bool:
        """Whether this is a share."""
        return isinstance(part, Share)

    def _for_one_purpose(self, label: object, purpose: object) -> None:
        if self._purposes.setdefault(label, purpose) != purpose:
            raise BadInput(f"{self._party} uses the label {label!r} for two purposes.")
