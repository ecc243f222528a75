"""What follows from what a coalition saw: first which secrets it knows, then which sums of honest values.

Why the answer is exact. To the coalition a view is A·x + B·r, apart from what it knows itself: x are the honest
values, r the variables unknown to it, which are uniform and independent. So given x the view is uniform on a coset of
B's image, and two choices of x give the same distribution or two without a common view. Which coset it is, is given by
the forms u·A of all u with u·B = 0, since modulo 2**bits a submodule is the set on which all forms that vanish on it
vanish. Those forms are what remains when the unknown is eliminated: the coalition learns their values and nothing
else, whatever it knew before. Secrets count as known by their rules alone: keys, masks and sealed messages are taken
to be unbreakable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

from discreet.errors import BadInput
from discreet.verbs.combine.symbolic.forms import Digest, Draw, Form, Mask, Public, Secret, Seed, Share, Value, Variable
from discreet.verbs.combine.symbolic.module import Module


def learnt(view: Iterable[Any], coalition: Set[str], honest: tuple[str, ...], bits: int) -> Module:
    """All sums of honest parties' values that a coalition can compute from the parts of the messages it saw."""
    parts = [part for whole in view for part in _parts(whole)]
    known = secrets(parts, coalition)
    forms = {part for part in parts if isinstance(part, Form)}
    rows = [{variable: factor for variable, factor in form if not _knows(variable, coalition, known)} for form in forms]
    return Module.of(rows, tuple(Value(party) for party in honest), bits)


def secrets(parts: Iterable[Any], coalition: Set[str]) -> Set[Any]:
    """The secrets and seeds that were seen or that enough of the seen shares give.

    Those of the coalition's own parties, and seeds that follow from a known secret, are not listed: see ``_knows``.
    """
    known: set[Any] = set()
    sharings: defaultdict[tuple[Any, str, int], set[str]] = defaultdict(set)
    for part in parts:
        if isinstance(part, Secret | Seed):
            known.add(part)
        elif isinstance(part, Share):
            sharings[part.of, part.label, part.threshold].add(part.holder)
    known.update(secret for (secret, _, threshold), holders in sharings.items() if len(holders) >= threshold)
    return known


def _knows(term: Variable | Secret | Seed, coalition: Set[str], known: Set[Any]) -> bool:
    match term:
        case Value(party=party) | Draw(party=party) | Secret(party=party):
            return party in coalition or term in known
        case Mask(seed=seed):
            return _knows(seed, coalition, known)
        case Seed(of=pair):
            return term in known or any(_knows(secret, coalition, known) for secret in pair)


def _parts(whole: Any) -> Iterator[Any]:
    """The terms in a message. What is neither a term nor plain text could hide anything, so it is refused."""
    match whole:
        case Form() | Secret() | Seed() | Share():
            yield whole
        case Digest(of=parts):
            yield from _parts(parts)
        case Mapping():
            yield from _parts(tuple(whole.values()))
        case tuple() | list():
            for part in whole:
                yield from _parts(part)
        case str() | bytes() | int() | Public() | None:
            pass
        case _:
            raise BadInput(f"A message has a {type(whole).__name__}, of which nothing is known on symbols.")
