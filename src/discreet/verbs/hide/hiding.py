"""Knowledge hiding: transactions in which mining finds none of the secret itemsets and rules."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.card import Role
from discreet.core.exact import Number, rounded
from discreet.core.families import HIDING
from discreet.core.holder_copy import HolderCopy
from discreet.core.identifiers import hold_back, said_of_withheld
from discreet.core.release import Release
from discreet.core.statement import Claim, Evidence, Statement
from discreet.core.table import Table
from discreet.errors import BadInput, DiscreetError, NoPromise
from discreet.releases.facts import Choice, Facts, Opaque, gap_figures
from discreet.releases.method import Bench, Made, Method, Progress, silent
from discreet.releases.pipeline import release, require_places
from discreet.verbs.hide.holder import HidingHolder
from discreet.verbs.hide.io import OpenedSource, Source, found_in, opened
from discreet.verbs.hide.measures import SideEffects
from discreet.verbs.hide.methods.blocking import Blocking
from discreet.verbs.hide.mining.rules import written as as_text
from discreet.verbs.hide.problem import HidingMethod, HidingProblem, HidingResult
from discreet.verbs.hide.reading import Layout, read_transactions, require_writable, tabular, write_transactions
from discreet.verbs.hide.secrets import Secret, Thresholds, parse_kept, parse_secrets
from discreet.verbs.hide.transactions import Transactions

Tell = Literal["nothing", "thresholds", "secrets"]
Itemsets = Iterable[str | Iterable[str]]

_CAVEATS = (
    "This is neither anonymisation nor differential privacy: all other transactions are unchanged.",
    "A miner with lower thresholds can find the secrets, and one who looks for almost frequent itemsets may "
    "guess them.",
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
    method: str | HidingMethod = "exact",
    layout: Layout | None = None,
    columns: Sequence[str] = (),
    tell: Tell = "nothing",
    to: str | Path | None = None,
    baskets: str | Path | None = None,
    holder: str | Path | None = None,
    progress: Progress = silent,
) -> Release[pa.Table]:
    """Hide secrets from anyone who mines the transactions with ``support`` and ``confidence``.

    Secrets are ``itemsets`` such as "bread, wine" and ``rules`` such as "beer => nappies"; one may have thresholds of
    its own: "bread, wine; support=1%". The ``support``, which must be given, is a share ("2%", 0.02) or a number of
    transactions (50). With a ``margin`` secrets are put so much below the thresholds. Itemsets in ``keep`` must stay
    frequent. ``method`` says how. What leaves is mined before it does, and if a secret shows, it does not leave.

    The release says nothing of what is hidden unless ``tell`` says so. It is written to the new folder ``to``, and its
    transactions to the file ``baskets`` besides. ``holder`` of the result has the secrets, the side effects and all
    changes, and is never saved with it: ``holder`` is a new file for it. Of a table only the columns leave that items
    are made of.
    """
    if support is None:
        raise BadInput(
            "Hiding needs the secrets and the miner's minimum support.",
            hint='For example dc.hide(source, itemsets=["bread, wine"], support="2%").',
        )
    chosen = HIDING.parse(method) if isinstance(method, str) else method
    if tell not in ("nothing", "thresholds", "secrets"):
        raise BadInput(f"tell must be nothing, thresholds or secrets, not {tell!r}.")
    require_places(to, holder=holder)
    _require_baskets(baskets, to, holder)
    progress(0.0, "reading")
    source = _without_long_text(source, columns)
    opened_source, problem = _problem(source, support, confidence, itemsets, rules, keep, margin, layout, columns)
    if isinstance(chosen, Blocking) and opened_source.table is not None:
        chosen = Blocking(decoys=False)  # a cell that has another value cannot be unknown and have it
    if baskets is not None:
        if opened_source.table is not None:
            raise BadInput("Rows of a table cannot be written as baskets.", hint="Leave the file out.")
        require_writable(opened_source.transactions, Path(baskets))
    table = source if isinstance(source, Table) else None
    final = None if baskets is None else Path(baskets).absolute()
    with ExitStack() as stack:
        waiting = None
        if final is not None:
            aside = stack.enter_context(TemporaryDirectory(dir=final.parent, prefix=".discreet-"))
            waiting = Path(aside) / final.name
        hiding = _Hiding(opened_source, problem, chosen, tell, waiting, ordered=table is not None)
        hidden = release(hiding, table, to=to, holder=holder, progress=progress)
        if waiting is not None and final is not None:
            waiting.rename(final)
    return hidden


def _require_baskets(baskets: str | Path | None, to: str | Path | None, holder: str | Path | None) -> None:
    """An error unless the file of baskets can be written, and lies apart from the release and the holder's copy."""
    if baskets is None:
        return
    file = Path(baskets)
    if file.exists():
        raise BadInput(f"There is a file {file} already.", hint="Move it away, or choose another path.")
    if to is not None and file.resolve().is_relative_to(Path(to).resolve()):
        raise BadInput(f"{file} is inside the release folder.", hint="Choose another path.")
    if holder is not None and file.resolve() == Path(holder).resolve():
        raise BadInput(f"{holder} cannot be both files.", hint="Choose another path for the transactions.")
    if not file.resolve().parent.is_dir():
        raise BadInput(f"There is no folder {file.resolve().parent} to put {file.name} in.", hint="Make it first.")


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
        return vars(self) | {"effects": None if self.effects is None else self.effects.to_dict()}


def compare(
    source: Source,
    *,
    support: Number,
    confidence: Number | None = None,
    itemsets: Itemsets = (),
    rules: Iterable[str] = (),
    keep: Itemsets = (),
    margin: Number = 0,
    methods: Sequence[str | HidingMethod] = HIDING.names(),
    layout: Layout | None = None,
    columns: Sequence[str] = (),
    progress: Progress = silent,
) -> tuple[Trial, ...]:
    """The side effects of several methods that hide the same secrets; nothing is released."""
    chosen = [HIDING.parse(one) if isinstance(one, str) else one for one in methods]
    source = _without_long_text(source, columns)
    _, problem = _problem(source, support, confidence, itemsets, rules, keep, margin, layout, columns)
    _ = problem.frequent
    trials = []
    for place, method in enumerate(chosen):
        progress(place / len(chosen), method.name)
        begun = time.perf_counter()
        try:
            after = method.apply(problem).after
        except DiscreetError as error:
            trials.append(Trial(method.name, time.perf_counter() - begun, None, error=error.message))
            continue
        seconds = time.perf_counter() - begun
        lost, visible = "; ".join(map(as_text, problem.lost(after))), len(problem.visible(after))
        trials.append(Trial(method.name, seconds, problem.effects(after), visible, lost and f"loses {lost}"))
    return tuple(trials)


def _without_long_text(source: Source, columns: Sequence[str]) -> Source:
    """A table without its long texts; an error if items are to be made of one of them."""
    if not isinstance(source, Table):
        return source
    card = source.card
    shown = [one.name for one in card.columns if one.name != card.unit and one.role is not Role.IDENTIFIER]
    return hold_back(source, columns or (shown if len(shown) == 1 else ()), quasi=False)


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
) -> tuple[OpenedSource, HidingProblem]:
    opened_source = opened(source, layout, columns)
    transactions = opened_source.transactions
    thresholds = Thresholds.of(transactions.rows, support, confidence, margin)
    if isinstance(itemsets, str) or isinstance(rules, str) or isinstance(keep, str):
        raise BadInput("Secrets must be a list.", hint='Such as itemsets=["bread, wine"], rules=["beer => nappies"].')
    secrets = parse_secrets(transactions, itemsets, rules, thresholds)
    kept = parse_kept(transactions, keep, secrets, thresholds.least)
    return opened_source, HidingProblem(transactions, secrets, thresholds.least, thresholds.confidence, kept)


@dataclass(frozen=True, eq=False)
class _Hiding(Method[pa.Table]):
    """Transactions in which no secret is found by mining."""

    name: ClassVar[str] = "hide"
    source: OpenedSource
    problem: HidingProblem
    method: HidingMethod
    tell: Tell
    baskets: Path | None = None
    """A scratch file for the transactions, which gets its name once the release has left."""
    ordered: bool = False
    """Whether rows leave in the order of what is in them: two releases of a table, each in the order of its rows, would
    say which rows are the same person's."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"method": self.method.name, "transactions": self.source.transactions.rows}

    def promise(self, card: object) -> Statement:
        """That a miner does not find the secrets; what that means in figures is said only if the holder wants it."""
        miner = "a miner with the thresholds chosen for it"
        if self.tell != "nothing":
            support, confidence = _largest(self.problem.secrets)
            sure = f" and a confidence of {rounded(confidence)}" if confidence is not None else ""
            rows = self.source.transactions.rows
            miner = f"a miner with a minimum support of {support:,} of {rows:,} transactions{sure}, or more"
        claim = Claim("hidden", f"such that {miner} cannot find it")
        return Statement(
            "secret of the holder", models=(claim,), evidence=Evidence.CHECKED, caveats=_CAVEATS, of_holder=True
        )

    def make(self, table: Table | None, bench: Bench) -> Made[pa.Table]:
        """Change as few transactions as possible."""
        problem = self.problem
        bench.progress(0.1, "mining")
        _ = problem.frequent
        result = self.method.apply(problem, lambda done, what: bench.progress(0.2 + 0.8 * done, what))
        if self.baskets is not None and result.possible is not None:
            raise BadInput("Unknown items cannot be written as baskets.", hint="Leave the file out.")
        disclosed: dict[str, Any] = {}
        if self.tell != "nothing":
            support, confidence = _largest(problem.secrets)
            disclosed = {"support": support, "confidence": confidence and str(confidence)}
        if self.tell == "secrets":
            disclosed["secrets"] = [str(one) for one in problem.secrets]
        return Made(
            self._payload(result),
            disclosed,
            (_STEPS[result.possible is not None],),
            caveats=() if table is None else said_of_withheld(table),
            title="Transactions, with secrets hidden",
            context=result,
        )

    def recheck(self, made: Made[pa.Table], written: Any, promised: Statement) -> Made[pa.Table]:
        """Mine what leaves, as anyone who has it will."""
        problem, by = self.problem, self.method.name
        result: HidingResult = made.context
        read = self.source.read_back(written)
        if seen := found_in(read, problem.secrets):
            raise NoPromise(
                f"A miner still finds {'; '.join(map(str, seen))} in the result of {by}. Nothing was released.",
                hint="Use another method, such as exact.",
            )
        if lost := problem.lost(result.after):
            raise NoPromise(
                f"{by} loses {'; '.join(map(as_text, lost))}, which must stay frequent. Nothing was released.",
                hint="Use exact, which keeps it if possible.",
            )
        if self.baskets is not None:
            self._write_baskets(read if self.ordered else result.after, self.baskets)
        effects = problem.effects(result.after)
        caveats = []
        if effects.put_in:
            caveats.append("Some transactions have false items.")
        if result.possible is None and effects.taken_out:
            caveats.append("Some items were removed, so supports are lower than in the original.")
        if result.possible is not None:
            caveats.append("A miner who takes every unknown item as present may find the secrets.")
            caveats.append("Items that are often unknown may belong to secrets.")
        notes = []
        if back := found_in(read, _without_empty(read, problem.secrets)):
            caveats.append(
                "Some transactions are empty: a miner who drops them and uses a relative support may find the secrets."
            )
            notes.append(("found if empty transactions are dropped", "; ".join(map(str, back))))
        details = HidingHolder(problem, result, effects, by, tuple(notes))
        copy = HolderCopy(
            "changes",
            details.rows(),
            dict(details.in_figures()),
            draw=lambda: details.fragment(f"{made.title} (confidential)"),
            details=details,
        )
        return replace(made, caveats=(*made.caveats, *caveats), holder=copy)

    def facts(self, made: Made[pa.Table], table: Table) -> Facts:
        """How many people have each combination of values: exactly, or at least and at most where items were removed.

        An item that is not there may have been removed. If only items of one column were, all that the rows tell is
        an interval for each combination (``gap_figures``); if of several, what they tell is no sum over groups.
        """
        card, tabled = table.card, self.source.table
        data = tabled.data if tabled is not None else table.fetch()
        if data.num_rows != self.problem.transactions.rows:
            return Opaque("itemsets concern all rows of a person, so their facts are not sums over rows")
        if (hidden := Choice.hidden(table)) is not None:
            return hidden
        if made.context.possible is not None and tabled is None:
            return Opaque("it shows which items are unknown")
        names = tabled.columns if tabled is not None else self.source.columns
        plain = tabled is None and len(names) == 1  # baskets of the values of one column
        before = self.problem.transactions if plain else tabular(data, columns=names).transactions
        payload = self.source.payload(made.context)
        if not self._payload(made.context).equals(made.payload):
            raise NoPromise("The written transactions differ from the computed ones. Nothing was released.")
        changes = [
            (set(was), set(now))
            for was, now in zip(before.to_rows(), self.source.read_back(payload).to_rows(), strict=True)
        ]
        if any(now - was for was, now in changes):
            return Opaque("some items are false")
        cells = tabular(data, columns=names).cells
        of = {item: names[0] if plain else cells[item][0] for item in before.items}
        changed = sorted({of[item] for was, now in changes for item in was - now})
        if changed and self.tell == "secrets":
            return Opaque("it says which items may have been taken out")
        told = [name for name in names if card[name].role is not Role.QUASI]
        if len(changed) > 1 or not told:
            return Opaque(f"items of {' and '.join(changed)} were removed" if told else "it reveals no person's value")
        column = (changed or told)[0]
        gaps = np.array([column not in {of[item] for item in now} for _, now in changes]) & bool(changed)
        if tabled is not None and pa.types.is_boolean(data.schema.field(column).type):  # false is no item, and seen
            shown: Any = payload.column(column)
            doubtful: Any = pc.is_null(shown) if made.context.possible is not None else pc.invert(shown)
            gaps &= doubtful.fill_null(False).to_numpy()
        known = [name for name in names if name not in told]
        return gap_figures(table, data, known, told, column=column, gaps=gaps)

    def _payload(self, result: HidingResult) -> pa.Table:
        """What leaves, in the order in which it does."""
        made = self.source.payload(result)
        if not self.ordered:
            return made
        keys: dict[str, Any] = {
            name: pc.binary_join(column, "\x1f") if pa.types.is_large_list(column.type) else column
            for name, column in zip(made.column_names, made.columns, strict=True)
        }
        order = pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys])
        return made.take(order)

    def _write_baskets(self, after: Transactions, file: Path) -> None:
        """Write the file of baskets; it is read again and mined before it gets its name."""
        write_transactions(after, file)
        if seen := found_in(read_transactions(file, layout="baskets"), self.problem.secrets):
            raise NoPromise(
                f"A miner finds {'; '.join(map(str, seen))} in {file.name} as read back. Nothing was released.",
                hint="Write a .parquet file.",
            )


def _largest(secrets: Sequence[Secret]) -> tuple[int, Fraction | None]:
    """The support and the confidence with which no secret is found: each secret has its own, and none has more.

    Anyone who asks for more than a secret's thresholds does not find it either.
    """
    sure = [one.confidence for one in secrets if one.confidence is not None]
    return max(one.support for one in secrets), max(sure, default=None)


def _without_empty(transactions: Transactions, secrets: Sequence[Secret]) -> list[Secret]:
    """The secrets as they are visible to anyone who leaves empty transactions out and asks for the same share.

    A threshold of c of n transactions is a share above (c - 1) / n, so that of m it is more than (c - 1) · m / n.
    """
    rows = transactions.rows
    filled = int(np.bitwise_count(np.bitwise_or.reduce(transactions.bits, axis=0)).sum(dtype=np.int64))
    return [replace(one, support=(one.support - 1) * filled // rows + 1) for one in secrets] if filled < rows else []


_STEPS = {
    False: "Items of some transactions were changed until every secret was below the thresholds.",
    True: "Items of some transactions were made unknown until no secret was certain to reach the thresholds.",
}
