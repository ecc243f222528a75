"""Hide: keep a miner from finding an itemset or a rule, and lose as little else as can be."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np

from discreet.core.exact import Number, rounded
from discreet.core.families import HIDING
from discreet.core.recipe import Recipe
from discreet.core.statement import Claim, Evidence, Statement
from discreet.errors import BadInput, DiscreetError, NoPromise
from discreet.verbs.hide.hidden import Hidden, Holder
from discreet.verbs.hide.io import Opened, Source, found_in, opened
from discreet.verbs.hide.measures import SideEffects
from discreet.verbs.hide.methods.blocking import Blocking
from discreet.verbs.hide.mining.rules import written
from discreet.verbs.hide.problem import Outcome, Problem, Progress, Way, silent
from discreet.verbs.hide.reading import Layout, require_writable
from discreet.verbs.hide.secrets import Secret, Thresholds, parse_kept, parse_secrets
from discreet.verbs.hide.transactions import Transactions
from discreet.verbs.hide.writing import Places

Tell = Literal["nothing", "thresholds", "secrets"]
Itemsets = Iterable[str | Iterable[str]]

_CAVEATS = (
    "Nobody is anonymous by this, and it is not differential privacy: the transactions are as they were otherwise.",
    "Whoever mines with lower thresholds can find what is hidden, and whoever looks for what is just not frequent may "
    "guess it.",
)


def hide(
    source: Source,
    *,
    support: Number | None = None,
    confidence: Number | None = None,
    itemsets: Itemsets = (),
    rules: Iterable[str] = (),
    keep: Itemsets = (),
    margin: Number = 0,
    method: str | Way = "exact",
    layout: Layout | None = None,
    columns: Sequence[str] = (),
    tell: Tell = "nothing",
    to: str | Path | None = None,
    baskets: str | Path | None = None,
    page: str | Path | None = None,
    progress: Progress = silent,
) -> Hidden:
    """Transactions in which whoever mines with ``support`` and ``confidence`` finds none of the secrets.

    Secrets are ``itemsets`` such as "bread, wine" and ``rules`` such as "beer => nappies"; one may have thresholds of
    its own: "bread, wine; support=1%". The ``support``, which must be given, is a share ("2%", 0.02) or a number of
    transactions (50). With a ``margin`` secrets are put so much below the thresholds. Itemsets in ``keep`` must stay
    frequent. ``method`` says how. What leaves is mined before it does, and if a secret shows, it does not leave.

    The release says nothing of what is hidden unless ``tell`` says so. It is written to the new folder ``to``, and its
    transactions to the file ``baskets`` besides. ``holder`` of the result has the secrets, the side effects and all
    changes, and is never saved with it: ``page`` is a file for it, which its owner alone may read. Of a table only the
    columns leave that items are made of.
    """
    if support is None:
        raise BadInput(
            "Hiding needs the secrets, and the support from which on a miner would find them.",
            hint='For example dc.hide(source, itemsets=["bread, wine"], support="2%").',
        )
    way = HIDING.parse(method) if isinstance(method, str) else method
    if tell not in ("nothing", "thresholds", "secrets"):
        raise BadInput(f"A release tells nothing, thresholds or secrets, not {tell!r}.")
    places = Places(*(None if place is None else Path(place) for place in (to, baskets, page)))
    places.require_free()
    progress(0.0, "reading")
    given, problem = _problem(source, support, confidence, itemsets, rules, keep, margin, layout, columns)
    if isinstance(way, Blocking) and given.table is not None:
        way = Blocking(decoys=False)  # a cell that has another value cannot be unknown and have it
    if places.baskets is not None:
        if given.table is not None:
            raise BadInput("The rows of a table are not written as baskets.", hint="Leave the file out.")
        require_writable(given.transactions, places.baskets)
    progress(0.1, "mining")
    _ = problem.frequent
    outcome = way.apply(problem, lambda done, what: progress(0.2 + 0.6 * done, what))
    if places.baskets is not None and outcome.possible is not None:
        raise BadInput("Unknown items are not written as baskets.", hint="Leave the file out.")
    progress(0.8, "checking")
    release = _release(given, problem, way, outcome, tell)
    places.write(release, outcome.after, problem.secrets)
    progress(1.0, "done")
    return release


@dataclass(frozen=True)
class Trial:
    """What a method did to the same transactions: its side effects, or why it could not hide the secrets."""

    method: str
    seconds: float
    effects: SideEffects | None
    visible: int = 0
    """How many secrets a miner still finds."""
    error: str = ""
    """Why it could not, or which itemset that must stay frequent it loses."""

    def to_dict(self) -> dict[str, Any]:
        """This as plain data."""
        told = None if self.effects is None else self.effects.to_dict()
        said = {"method": self.method, "seconds": self.seconds, "effects": told}
        return {**said, "visible": self.visible, "error": self.error}


def compare(
    source: Source,
    *,
    support: Number,
    confidence: Number | None = None,
    itemsets: Itemsets = (),
    rules: Iterable[str] = (),
    keep: Itemsets = (),
    margin: Number = 0,
    methods: Sequence[str | Way] = HIDING.names(),
    layout: Layout | None = None,
    columns: Sequence[str] = (),
    progress: Progress = silent,
) -> tuple[Trial, ...]:
    """The side effects of several methods that hide the same secrets; nothing is released."""
    ways = [HIDING.parse(one) if isinstance(one, str) else one for one in methods]
    _, problem = _problem(source, support, confidence, itemsets, rules, keep, margin, layout, columns)
    _ = problem.frequent
    found = []
    for place, way in enumerate(ways):
        progress(place / len(ways), way.name)
        begun = time.perf_counter()
        try:
            outcome = way.apply(problem)
        except DiscreetError as error:
            found.append(Trial(way.name, time.perf_counter() - begun, None, error=error.message))
            continue
        seconds = time.perf_counter() - begun
        lost, visible = "; ".join(map(written, problem.lost(outcome.after))), len(problem.visible(outcome.after))
        found.append(Trial(way.name, seconds, problem.effects(outcome.after), visible, lost and f"loses {lost}"))
    return tuple(found)


def _problem(  # noqa: PLR0917
    source: Source,
    support: Number,
    confidence: Number | None,
    itemsets: Itemsets,
    rules: Iterable[str],
    keep: Itemsets,
    margin: Number,
    layout: Layout | None,
    columns: Sequence[str],
) -> tuple[Opened, Problem]:
    given = opened(source, layout, columns)
    thresholds = Thresholds.of(given.transactions.rows, support, confidence, margin)
    if isinstance(itemsets, str) or isinstance(rules, str) or isinstance(keep, str):
        raise BadInput(
            "Secrets are given as a list.", hint='Such as itemsets=["bread, wine"], rules=["beer => nappies"].'
        )
    secrets = parse_secrets(given.transactions, itemsets, rules, thresholds)
    kept = parse_kept(given.transactions, keep, secrets, thresholds.least)
    return given, Problem(given.transactions, secrets, thresholds.least, thresholds.confidence, kept)


def _release(given: Opened, problem: Problem, way: Way, outcome: Outcome, tell: Tell) -> Hidden:
    """The release, after what is claimed was checked on what leaves."""
    payload = given.payload(outcome)
    read = given.read_back(payload)
    if seen := found_in(read, problem.secrets):
        raise NoPromise(
            f"A miner still finds {'; '.join(map(str, seen))} in what {way.name} made, so it does not leave.",
            hint="Use another method, such as exact.",
        )
    if lost := problem.lost(outcome.after):
        raise NoPromise(
            f"{way.name} loses {'; '.join(map(written, lost))}, which must stay frequent, so nothing leaves.",
            hint="exact keeps it if anything can.",
        )
    effects = problem.effects(outcome.after)
    caveats = list(_CAVEATS)
    if effects.put_in:
        caveats.append("Some transactions have items that were never in them.")
    if outcome.possible is None and effects.taken_out:
        caveats.append("Some items were taken out, so that supports are lower than they were.")
    if outcome.possible is not None:
        caveats.append("Whoever takes every unknown item for present may find what is hidden.")
        caveats.append("What is often unknown may be part of what is hidden.")
    notes = []
    if back := found_in(read, _without_empty(read, problem.secrets)):
        caveats.append(
            "Some transactions are empty: whoever leaves them out and asks for a share of the others may find what is "
            "hidden."
        )
        notes.append(("found if empty transactions are left out", "; ".join(map(str, back))))
    told: dict[str, Any] = {"way": way.name, "transactions": given.transactions.rows}
    miner = "a miner with the thresholds chosen for it"
    if tell != "nothing":
        support, confidence = _largest(problem.secrets)
        told |= {"support": support, "confidence": confidence and str(confidence)}
        sure = f" and a confidence of {rounded(confidence)}" if confidence is not None else ""
        miner = f"a miner who asks for a support of {support:,} of {read.rows:,} transactions{sure}, or more,"
    claim = Claim("hidden", f"one in which {miner} does not find it")
    statement = Statement(
        "secret of the holder", models=(claim,), evidence=Evidence.CHECKED, caveats=tuple(caveats), of_holder=True
    )
    if tell == "secrets":
        told["secrets"] = [str(one) for one in problem.secrets]
    recipe = Recipe("hide", told, (_STEPS[outcome.possible is not None],))
    holder = Holder(problem, outcome, effects, way.name, tuple(notes))
    return Hidden(
        payload,
        statement,
        recipe,
        title="Transactions, with secrets hidden",
        transactions=outcome.after,
        holder=holder,
    )


def _largest(secrets: Sequence[Secret]) -> tuple[int, Fraction | None]:
    """The support and the confidence with which no secret is found: each secret has its own, and none has more.

    Whoever asks for more than a secret's thresholds does not find it either.
    """
    sure = [one.confidence for one in secrets if one.confidence is not None]
    return max(one.support for one in secrets), max(sure, default=None)


def _without_empty(transactions: Transactions, secrets: Sequence[Secret]) -> list[Secret]:
    """The secrets as they are visible to whoever leaves empty transactions out and asks for the same share.

    A threshold of c of n transactions is a share above (c - 1) / n, so that of m it is more than (c - 1) · m / n.
    """
    rows = transactions.rows
    filled = int(np.bitwise_count(np.bitwise_or.reduce(transactions.bits, axis=0)).sum(dtype=np.int64))
    return [replace(one, support=(one.support - 1) * filled // rows + 1) for one in secrets] if filled < rows else []


_STEPS = {
    False: "Items of some transactions were changed until no secret was frequent, or confident, enough to be found.",
    True: "Items of some transactions were made unknown until no secret was certain enough to be found.",
}
