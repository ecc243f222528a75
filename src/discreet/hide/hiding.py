"""Hide: keep a miner from finding an itemset or a rule, and lose as little else as can be."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from discreet.core.exact import Number, equation
from discreet.core.recipe import Recipe
from discreet.core.statement import Claim, Evidence, Statement
from discreet.errors import BadInput, DiscreetError, NoPromise
from discreet.hide.hidden import Hidden, Holder
from discreet.hide.measures import SideEffects
from discreet.hide.methods.blocking import Blocking
from discreet.hide.methods.parse import FORMS, parse_method
from discreet.hide.mining.rules import written
from discreet.hide.opening import Opened, Source, found_in, opened
from discreet.hide.problem import Outcome, Problem, Progress, Way, silent
from discreet.hide.reading import Layout, write_transactions
from discreet.hide.secrets import Thresholds, parse_kept, parse_secrets

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
    support: Number,
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
    progress: Progress = silent,
) -> Hidden:
    """Transactions in which whoever mines with ``support`` and ``confidence`` finds none of the secrets.

    Secrets are ``itemsets`` such as "bread, wine" and ``rules`` such as "beer => nappies"; one may have thresholds of
    its own: "bread, wine; support=1%". A ``support`` is a share ("2%", 0.02) or a number of transactions (50). With a
    ``margin`` secrets are put so much below the thresholds. Itemsets in ``keep`` must stay frequent. ``method`` says
    how. What leaves is mined before it does, and if a secret shows, it does not leave.

    The release says nothing of what is hidden unless ``tell`` says so. It is written to the new folder ``to``, and its
    transactions to the file ``baskets`` besides. ``holder`` of the result has the secrets, the side effects and all
    changes, and is never saved with it.
    """
    way = parse_method(method) if isinstance(method, str) else method
    if tell not in ("nothing", "thresholds", "secrets"):
        raise BadInput(f"A release tells nothing, thresholds or secrets, not {tell!r}.")
    if baskets is not None and Path(baskets).exists():
        raise BadInput(f"There is a file {baskets} already.", hint="Name another, or move it away.")
    progress(0.0, "reading")
    given, problem, thresholds = _problem(source, support, confidence, itemsets, rules, keep, margin, layout, columns)
    if isinstance(way, Blocking) and given.table is not None:
        way = Blocking(decoys=False)  # a cell that has another value cannot be unknown and have it
    progress(0.1, "mining")
    _ = problem.frequent
    outcome = way.apply(problem, lambda done, what: progress(0.2 + 0.6 * done, what))
    progress(0.8, "checking")
    release = _release(given, problem, thresholds, way, outcome, tell)
    if baskets is not None and (outcome.possible is not None or given.table is not None):
        raise BadInput("Unknown items, and the rows of a table, are not written as baskets.", hint="Leave it out.")
    if to is not None:
        release.save(to)
    if baskets is not None:
        write_transactions(outcome.after, baskets)
    progress(1.0, "done")
    return release


@dataclass(frozen=True)
class Trial:
    """What a method did to the same transactions: its side effects, or why it could not hide the secrets."""

    method: str
    seconds: float
    effects: SideEffects | None
    error: str = ""
    """Why it could not, or which itemset that must stay frequent it loses."""

    def to_dict(self) -> dict[str, Any]:
        """This as plain data."""
        told = None if self.effects is None else self.effects.to_dict()
        return {"method": self.method, "seconds": self.seconds, "effects": told, "error": self.error}


def compare(
    source: Source,
    *,
    support: Number,
    confidence: Number | None = None,
    itemsets: Itemsets = (),
    rules: Iterable[str] = (),
    keep: Itemsets = (),
    margin: Number = 0,
    methods: Sequence[str | Way] = tuple(FORMS),
    layout: Layout | None = None,
    columns: Sequence[str] = (),
    progress: Progress = silent,
) -> tuple[Trial, ...]:
    """The side effects of several methods that hide the same secrets; nothing is released."""
    ways = [parse_method(one) if isinstance(one, str) else one for one in methods]
    _, problem, _ = _problem(source, support, confidence, itemsets, rules, keep, margin, layout, columns)
    _ = problem.frequent
    found = []
    for place, way in enumerate(ways):
        progress(place / len(ways), way.name)
        begun = time.perf_counter()
        try:
            outcome = way.apply(problem)
        except DiscreetError as error:
            found.append(Trial(way.name, time.perf_counter() - begun, None, error.message))
            continue
        seconds = time.perf_counter() - begun
        lost = "; ".join(map(written, problem.lost(outcome.after)))
        found.append(Trial(way.name, seconds, problem.effects(outcome.after), lost and f"loses {lost}"))
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
) -> tuple[Opened, Problem, Thresholds]:
    given = opened(source, layout, columns)
    thresholds = Thresholds.of(given.transactions.rows, support, confidence, margin)
    if isinstance(itemsets, str) or isinstance(rules, str) or isinstance(keep, str):
        raise BadInput(
            "Secrets are given as a list.", hint='Such as itemsets=["bread, wine"], rules=["beer => nappies"].'
        )
    secrets = parse_secrets(given.transactions, itemsets, rules, thresholds)
    kept = parse_kept(given.transactions, keep, secrets, thresholds.least)
    return given, Problem(given.transactions, secrets, thresholds.least, thresholds.confidence, kept), thresholds


def _release(  # noqa: PLR0917
    given: Opened, problem: Problem, thresholds: Thresholds, way: Way, outcome: Outcome, tell: Tell
) -> Hidden:
    """The release, after what is claimed was checked on what leaves."""
    payload = given.payload(outcome)
    if seen := found_in(given.read_back(payload), problem.secrets):
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
    miner = _miner(problem, thresholds) if tell != "nothing" else "a miner with the thresholds that its holder chose"
    claim = Claim("hidden", f"one in which {miner} does not find it")
    statement = Statement("secret of the holder", models=(claim,), evidence=Evidence.CHECKED, caveats=tuple(caveats))
    told: dict[str, Any] = {"way": way.name, "transactions": given.transactions.rows}
    if tell != "nothing":
        told |= {"support": thresholds.least, "confidence": thresholds.confidence and str(thresholds.confidence)}
    if tell == "secrets":
        told["secrets"] = [str(one) for one in problem.secrets]
    recipe = Recipe("hide", told, (_STEPS[outcome.possible is not None],))
    holder = Holder(problem, outcome, effects, way.name)
    return Hidden(
        payload,
        statement,
        recipe,
        title=f"{given.title}, with secrets hidden",
        transactions=outcome.after,
        holder=holder,
    )


def _miner(problem: Problem, thresholds: Thresholds) -> str:
    share = f"{thresholds.least:,} of {problem.transactions.rows:,} transactions"
    sure = f" and a {equation('confidence', thresholds.confidence)}" if thresholds.confidence is not None else ""
    return f"a miner who asks for a support of {share}{sure}, or more,"


_STEPS = {
    False: "Items of some transactions were changed until no secret was frequent, or confident, enough to be found.",
    True: "Items of some transactions were made unknown until no secret was certain enough to be found.",
}
