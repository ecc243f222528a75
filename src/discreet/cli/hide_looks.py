"""`discreet hide mine` and `discreet hide discrimination`: what somebody finds in transactions as they are."""

from __future__ import annotations

from typing import Any

from discreet.cli.output import bold, console, grid, percent, print_json
from discreet.core.text import number
from discreet.errors import BadInput


def show_mined(
    source: Any,
    support: str,
    confidence: str | None,
    longest: int | None,
    most: int,
    *,
    as_json: bool,
    **how: Any,
) -> None:
    """The frequent itemsets, and the rules if a confidence is given, the most frequent and strongest first."""
    from discreet.verbs.hide.io import opened
    from discreet.verbs.hide.mining.frequent import frequent
    from discreet.verbs.hide.mining.rules import rules, written
    from discreet.verbs.hide.secrets import confidence_of, support_of

    transactions = opened(source, **how).transactions
    found = frequent(transactions, support_of(support, transactions.rows), longest=longest)
    several = sorted(
        ((itemset, count) for itemset, count in found if len(itemset) > 1 or confidence is None),
        key=lambda pair: (-pair[1], len(pair[0]), sorted(pair[0])),
    )[:most]
    held = rules(found, confidence_of(confidence)) if confidence is not None else None
    strong = sorted(held, key=lambda one: (-one.confidence, -one.support, str(one)))[:most] if held else []
    if as_json:
        print_json(
            {
                "transactions": transactions.rows,
                "itemsets": len(found),
                "shown": [{"items": sorted(itemset), "support": count} for itemset, count in several],
                "rules": [
                    {
                        "antecedent": sorted(one.antecedent),
                        "consequent": sorted(one.consequent),
                        "support": one.support,
                        "confidence": float(one.confidence),
                        "lift": float(one.lift),
                    }
                    for one in strong
                ],
            }
        )
        return
    out = console()
    out.print(bold(str(transactions)))
    out.print(f"{found}.")
    listing = grid("itemset", "#support", "#share")
    for itemset, count in several:
        listing.add_row(written(itemset), f"{count:,}", percent(count, transactions.rows))
    out.print(listing)
    if held is not None:
        out.print(f"{held}.")
        listing = grid("rule", "#support", "#confidence", "#lift")
        for one in strong:
            sides = f"{written(one.antecedent)} => {written(one.consequent)}"
            listing.add_row(sides, f"{one.support:,}", f"{float(one.confidence):.1%}", f"{float(one.lift):.2f}")
        out.print(listing)


def show_discrimination(
    source: Any,
    support: str,
    protected: list[str] | None,
    decision: str | None,
    asked: dict[str, Any],
    *,
    most: int,
    as_json: bool,
    **how: Any,
) -> None:
    """The rules that discriminate, the worst first, and those that do so in disguise."""
    from discreet.verbs.hide.discrimination import LONGEST, discriminating
    from discreet.verbs.hide.io import opened
    from discreet.verbs.hide.secrets import support_of

    if not protected or decision is None:
        raise BadInput("Say who is protected and what is decided: --protected sex=female --decision credit=no.")
    transactions = opened(source, **how).transactions
    found = discriminating(
        transactions,
        protected=protected,
        decision=decision,
        least=support_of(support, transactions.rows),
        alpha=asked["alpha"],
        measure=asked["measure"],
        longest=asked["longest"] or LONGEST,
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
        out.print(f"{number(len(found.indirect), 'rule')} without protected items tell as much:")
        for other in found.indirect[:most]:
            out.print(f"  {other}", soft_wrap=True)
