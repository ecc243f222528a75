"""`discreet hide`, `discreet hide mine` and `discreet hide discrimination`."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from discreet.cli.methods import ListingCommand
from discreet.cli.options import CardFile, DefaultCommand, Despite, Holder, Json, Output, refuse_options, require_output
from discreet.cli.output import bold, console, grid, percent, print_json, stoppable, tracking
from discreet.core.text import number
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.core.release import Release
    from discreet.verbs.hide.hiding import Trial

_SHOWN = 10
"""Number of lost itemsets that are named on a terminal."""


class _Group(DefaultCommand):
    default = "secrets"


app = typer.Typer(cls=_Group, help="Hide itemsets and rules from data mining.")
Transactions = Annotated[str, Argument(help="Transactions (CSV, text or Parquet).", metavar="FILE")]
Support = Annotated[
    str | None, Option("--support", "-s", help="Minimum support of the miner: 2%, or a number of transactions.")
]
LayoutName = Annotated[
    str | None,
    Option("--layout", help="Layout of FILE: baskets (one transaction per line), pairs (one item per row) or table."),
]
Columns = Annotated[
    list[str] | None, Option("--column", help="For pairs and tables: columns to read; may be repeated.")
]
Most = Annotated[int, Option("--most", min=1, help="Number shown.")]
Longest = Annotated[int | None, Option("--longest", min=1, help="Maximum number of items in an itemset.")]


@app.command("secrets", cls=ListingCommand)
def hide(
    file: Transactions,
    *,
    support: Support = None,
    confidence: Annotated[str | None, Option(help="Minimum confidence of the miner: 60%.")] = None,
    itemset: Annotated[
        list[str] | None,
        Option("--itemset", "-i", help='A secret itemset: "bread, wine", or "bread, wine; support=1%".'),
    ] = None,
    rule: Annotated[
        list[str] | None,
        Option("--rule", "-r", help='A secret rule: "beer => nappies", or "beer => nappies; confidence=50%".'),
    ] = None,
    keep: Annotated[
        list[str] | None, Option("--keep", "-k", help="An itemset that must stay frequent; may be repeated.")
    ] = None,
    margin: Annotated[str | None, Option(help="Safety margin below the thresholds, as a share of them.")] = None,
    method: Annotated[
        str | None,
        Option(
            help='Method: exact (the default), "exact least=changed seconds=10", atallah, maxfia, minfia, iga, '
            '"swa window=1000", bba, maxmin, lower-rule, blocking; for rules lower-consequent, raise-antecedent.'
        ),
    ] = None,
    output: Output = None,
    holder: Holder = None,
    baskets: Annotated[
        Path | None, Option(help="Also write the transactions to this file: .csv, .txt or .parquet.")
    ] = None,
    layout: LayoutName = None,
    column: Columns = None,
    card: CardFile = None,
    despite: Despite = None,
    tell: Annotated[
        str | None,
        Option(help="What the release discloses about hiding: nothing (the default), thresholds or secrets."),
    ] = None,
    compare: Annotated[
        bool, Option("--compare", help="Compare the side effects of all methods; write nothing.")
    ] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Show what would be changed; write nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Hide itemsets and rules from data mining, with the fewest side effects.

    \b
    Examples:
      discreet hide baskets.csv --support 2% --confidence 60% --itemset "bread, wine" --rule "beer => nappies" -o clean
      discreet hide baskets.csv --support 2% --itemset "bread, wine" --compare
      discreet hide mine --help
      discreet hide discrimination --help

    Items are removed from transactions (or marked as unknown) until mining with these thresholds finds none of the
    secrets, which is checked before anything is written. The holder's copy beside the folder, for you alone, has the
    secrets, the changes and the side effects: other itemsets and rules that are lost or new.
    """
    source, how = _opened(file, card, support, layout, column)
    if despite is not None:
        refuse_options("transactions without a card", despite=despite if card is None else None)
        source = source.despite(despite)
    how |= {"support": support, "confidence": confidence, "margin": margin or "0"}
    how |= {"itemsets": itemset or (), "rules": rule or (), "keep": keep or ()}
    from discreet.core.holder_copy import holder_file
    from discreet.releases.registration import rehearsal
    from discreet.verbs.hide import hiding

    if compare:
        refuse_options("comparing", method=method, output=output, baskets=baskets, tell=tell, dry_run=dry_run)
        with stoppable(lambda: ""), tracking("Comparing") as at:
            trials = hiding.compare(source, **how, progress=at)
        print_json([one.to_dict() for one in trials]) if as_json else _print_trials(trials)
        return
    place = holder or (None if output is None else holder_file(output))
    if not dry_run:
        require_output(output, "Or look first, with --dry-run.")
    places: dict[str, Any] = {} if dry_run else {"to": output, "baskets": baskets, "holder": place}
    tried = rehearsal() if dry_run else nullcontext()
    with stoppable(lambda: f"Nothing was written to {output}."), tried, tracking("Hiding") as at:
        release = hiding.hide(
            source,
            **how,
            method=method or "exact",
            tell=tell or "nothing",  # type: ignore[arg-type]  # checked there
            **places,
            progress=at,
        )
    if as_json:
        told = release.holder.details.to_dict()  # type: ignore[union-attr]  # just made
        print_json({"release": None if dry_run else str(output), "statement": release.statement.to_dict(), **told})
    else:
        _print(release, None if dry_run else output, place)


@app.command("mine")
def mine(
    file: Transactions,
    *,
    support: Support = None,
    confidence: Annotated[str | None, Option(help="Also mine rules, with this minimum confidence.")] = None,
    most: Most = 20,
    longest: Longest = None,
    layout: LayoutName = None,
    column: Columns = None,
    card: CardFile = None,
    as_json: Json = False,
) -> None:
    """Show what a miner finds: frequent itemsets, and rules if a confidence is given.

    \b
    Examples:
      discreet hide mine baskets.csv --support 2% --confidence 60%
    """
    from discreet.verbs.hide.io import opened
    from discreet.verbs.hide.mining.frequent import frequent
    from discreet.verbs.hide.mining.rules import rules, written
    from discreet.verbs.hide.secrets import confidence_of, support_of

    source, how = _opened(file, card, support, layout, column)
    transactions = opened(source, **how).transactions
    mined = frequent(transactions, support_of(str(support), transactions.rows), longest=longest)
    itemsets = sorted(
        ((itemset, count) for itemset, count in mined if len(itemset) > 1 or confidence is None),
        key=lambda pair: (-pair[1], len(pair[0]), sorted(pair[0])),
    )[:most]
    confident = rules(mined, confidence_of(confidence)) if confidence is not None else None
    strongest = sorted(confident or (), key=lambda one: (-one.confidence, -one.support, str(one)))[:most]
    if as_json:
        shown = [
            {
                "antecedent": sorted(one.antecedent),
                "consequent": sorted(one.consequent),
                "support": one.support,
                "confidence": float(one.confidence),
                "lift": float(one.lift),
            }
            for one in strongest
        ]
        frequent_sets = [{"items": sorted(itemset), "support": count} for itemset, count in itemsets]
        print_json({"transactions": transactions.rows, "itemsets": len(mined), "shown": frequent_sets, "rules": shown})
        return
    out = console()
    out.print(bold(str(transactions)))
    out.print(f"{mined}.")
    rows = ((written(itemset), f"{count:,}", percent(count, transactions.rows)) for itemset, count in itemsets)
    out.print(grid("itemset", "#support", "#share", rows=rows))
    if confident is not None:
        out.print(f"{confident}.")
        listing = grid("rule", "#support", "#confidence", "#lift")
        for one in strongest:
            sides = f"{written(one.antecedent)} => {written(one.consequent)}"
            listing.add_row(sides, f"{one.support:,}", f"{float(one.confidence):.1%}", f"{float(one.lift):.2f}")
        out.print(listing)


@app.command("discrimination")
def discrimination(
    file: Transactions,
    *,
    support: Support = None,
    protected: Annotated[list[str] | None, Option(help="A protected item such as sex=female; may be repeated.")] = None,
    decision: Annotated[str | None, Option(help="The item that is the decision, such as credit=no.")] = None,
    alpha: Annotated[str, Option(help="Ratio from which a rule discriminates.")] = "1.25",
    measure: Annotated[str, Option(help="The ratio: elift, slift or olift.")] = "elift",
    most: Most = 20,
    longest: Longest = None,
    layout: LayoutName = None,
    column: Columns = None,
    card: CardFile = None,
    as_json: Json = False,
) -> None:
    """Show the rules that discriminate against a protected group.

    \b
    Examples:
      discreet hide discrimination loans.parquet --support 1% --protected sex=female --decision credit=no
    """
    from discreet.verbs.hide.discrimination import LONGEST, discriminating
    from discreet.verbs.hide.io import opened
    from discreet.verbs.hide.secrets import support_of

    source, how = _opened(file, card, support, layout, column)
    if not protected or decision is None:
        raise BadInput("Name the protected items and the decision: --protected sex=female --decision credit=no.")
    transactions = opened(source, **how).transactions
    found = discriminating(
        transactions,
        protected=protected,
        decision=decision,
        least=support_of(str(support), transactions.rows),
        alpha=alpha,
        measure=measure,  # type: ignore[arg-type]  # checked there
        longest=longest or LONGEST,
    )
    if as_json:
        print_json(
            {
                "measure": found.measure,
                "alpha": float(found.alpha),
                "direct": [
                    {
                        "protected": sorted(one.protected),
                        "context": sorted(one.context),
                        "decision": one.decision,
                        "confidence": float(one.confidence),
                        "elift": float(one.elift),
                        "slift": float(one.slift),
                        "olift": float(one.olift),
                    }
                    for one in found.direct
                ],
                "indirect": [str(one) for one in found.indirect],
            }
        )
        return
    out = console()
    out.print(
        bold(f"{number(len(found.direct), 'rule')} discriminate by {found.measure} of {float(found.alpha):g} or more")
    )
    listing = grid("rule", "#decided", "#elift", "#slift", "#olift")
    for one in found.direct[:most]:
        sides = f"{', '.join(sorted(one.protected | one.context))} => {one.decision}"
        figures = (one.elift, one.slift, one.olift)
        listing.add_row(sides, f"{one.hit:,} of {one.having:,}", *(f"{float(figure):.2f}" for figure in figures))
    out.print(listing)
    if found.indirect:
        out.print(f"{number(len(found.indirect), 'rule')} without protected items discriminate indirectly:")
        for other in found.indirect[:most]:
            out.print(f"  {other}", soft_wrap=True)


def _opened(
    file: str, card: str | None, support: str | None, layout: str | None, columns: list[str] | None
) -> tuple[Any, dict[str, Any]]:
    """The transactions, and the options that say how to read them."""
    if support is None:
        raise BadInput("No support threshold given. Add one, for example --support 2%.")
    how = {"layout": layout, "columns": tuple(columns or ())}
    if card is None:
        return file, how
    refuse_options("a table with a card", layout=layout)
    from discreet.engines.read import read

    return read(file, card), how


def _print(release: Release[Any], folder: Path | None, place: Path | None) -> None:
    out = console()
    out.print(bold(release.title), f"in {folder}" if folder else "(nothing was written)")
    holder = release.holder.details  # type: ignore[union-attr]  # just made
    rows = ((str(value) for value in one.values()) for one in holder.secrets())
    out.print(grid("secret", "#before", "#after", "#hidden below", rows=rows))
    for name, told in holder.in_figures():
        out.print(f"{name}: {told}", soft_wrap=True)
    lost = [str(one) for one in holder.effects.itemsets.lost]
    if lost:
        more = f"; and {number(len(lost) - _SHOWN, 'other')}" if len(lost) > _SHOWN else ""
        out.print(f"Non-sensitive itemsets lost: {'; '.join(lost[:_SHOWN])}{more}.", soft_wrap=True)
    out.print(str(release.statement), soft_wrap=True)
    if folder is not None:
        out.print(f"Secrets, lost itemsets and every change (confidential): {place}; open it with discreet show.")


def _print_trials(trials: tuple[Trial, ...]) -> None:
    out = console()
    listing = grid("method", "#lost", "#rules lost", "#new", "#taken out", "#put in", "#visible", "#seconds")
    said = []
    for one in trials:
        effects = one.effects
        if one.error:
            said.append(f"{one.method}: {one.error}")
        if effects is None:
            continue
        rules = effects.rules
        appeared = len(effects.itemsets.artificial) + (len(rules.artificial) if rules else 0)
        listing.add_row(
            one.method,
            f"{len(effects.itemsets.lost):,}",
            f"{len(rules.lost):,}" if rules else "–",
            f"{appeared:,}",
            f"{effects.taken_out:,}",
            f"{effects.put_in:,}",
            f"{one.visible:,}",
            f"{one.seconds:.2f}",
        )
    out.print(listing)
    out.print("lost: non-sensitive itemsets hidden; new: false itemsets and rules; visible: secrets not hidden.")
    for line in said:
        out.print(line, soft_wrap=True)
