"""`discreet hide`: keep a miner from finding an itemset or a rule."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from discreet.cli.output import CardFile, Json, bold, console, grid, print_json, stoppable, tracking
from discreet.core.text import meant, number
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.verbs.hide.hidden import Hidden
    from discreet.verbs.hide.hiding import Trial

_LOOKS = ("mine", "discrimination")
_SHOWN = 10


def hide(
    what: Annotated[
        list[str],
        typer.Argument(
            help="The transactions (CSV, text or Parquet); or `mine FILE`: what does a miner find; or "
            "`discrimination FILE`: which rules discriminate?",
            metavar="FILE | mine FILE | discrimination FILE",
        ),
    ],
    *,
    support: Annotated[
        str | None, typer.Option("--support", "-s", help="The miner's support: 2%, or a number of transactions.")
    ] = None,
    confidence: Annotated[str | None, typer.Option("--confidence", help="The miner's confidence: 60%.")] = None,
    itemset: Annotated[
        list[str] | None,
        typer.Option("--itemset", "-i", help='A secret itemset: "bread, wine", or "bread, wine; support=1%".'),
    ] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option("--rule", "-r", help='A secret rule: "beer => nappies", or "beer => nappies; confidence=50%".'),
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", "-k", help="An itemset that must stay frequent; may be repeated.")
    ] = None,
    margin: Annotated[
        str | None, typer.Option("--margin", help="How far below the thresholds secrets are put, as a share of them.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help='How: exact (the default), "exact least=changed seconds=10", atallah, maxfia, minfia, iga, '
            '"swa window=1000", bba, maxmin, lower-rule, blocking; for rules lower-consequent, raise-antecedent.',
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the release to this new folder.")] = None,
    baskets: Annotated[
        Path | None, typer.Option("--baskets", help="Also write the transactions to this file: .csv, .txt or .parquet.")
    ] = None,
    layout: Annotated[
        str | None,
        typer.Option(
            "--layout", help="How FILE is read: baskets (a transaction a line), pairs (a row an item) or table."
        ),
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option("--column", help="Of pairs and tables: which columns; may be repeated.")
    ] = None,
    card: CardFile = None,
    tell: Annotated[
        str | None,
        typer.Option(
            "--tell", help="What the release says of what is hidden: nothing (the default), thresholds or secrets."
        ),
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Show the side effects of all methods, and write nothing.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and write nothing.")] = False,
    most: Annotated[int, typer.Option("--most", min=1, help="Of mine and discrimination: how many are shown.")] = 20,
    longest: Annotated[
        int | None, typer.Option("--longest", min=1, help="Of mine and discrimination: the most items of one.")
    ] = None,
    protected: Annotated[
        list[str] | None, typer.Option("--protected", help="Of discrimination: an item such as sex=female.")
    ] = None,
    decision: Annotated[
        str | None, typer.Option("--decision", help="Of discrimination: the item that decides, such as credit=no.")
    ] = None,
    alpha: Annotated[
        str, typer.Option("--alpha", help="Of discrimination: from which ratio on a rule discriminates.")
    ] = "1.25",
    measure: Annotated[
        str, typer.Option("--measure", help="Of discrimination: the ratio, elift, slift or olift.")
    ] = "elift",
    as_json: Json = False,
) -> None:
    """Keep a miner from finding an itemset or a rule, and lose as little else as can be.

    \b
    Examples:
      discreet hide baskets.csv --support 2% --confidence 60% --itemset "bread, wine" --rule "beer => nappies" -o clean
      discreet hide baskets.csv --support 2% --itemset "bread, wine" --compare
      discreet hide mine baskets.csv --support 2% --confidence 60%
      discreet hide discrimination loans.parquet --support 1% --protected sex=female --decision credit=no

    Some items leave some transactions (or become unknown), until whoever mines with these thresholds finds none of the
    secrets. That is checked by mining before anything is written. What the secrets are, what was changed and which
    other itemsets and rules are lost is kept beside the folder, for you alone.
    """
    look = what[0] if len(what) == 2 else ""
    if len(what) > 2 or (len(what) == 2 and look not in _LOOKS):
        raise BadInput(f"One file at a time: what is {what[0]!r}{meant(what[0], _LOOKS)}?")
    if support is None:
        raise BadInput("From which support on does a miner find something? Add --support 2%.")
    if card is not None:
        _refuse("a table with a card", layout=layout)
    source = _source(what[-1], card)
    how: dict[str, Any] = {"layout": _layout(layout), "columns": tuple(column or ())}
    if look:
        _refuse(
            look,
            itemset=itemset,
            rule=rule,
            keep=keep,
            output=output,
            baskets=baskets,
            compare=compare,
            dry_run=dry_run,
            method=method,
            margin=margin,
            tell=tell,
        )
        from discreet.cli.hide_looks import show_discrimination, show_mined

        if look == "mine":
            _refuse(look, protected=protected, decision=decision)
            show_mined(source, support, confidence, longest, most, as_json=as_json, **how)
        else:
            _refuse(look, confidence=confidence)
            asked = {"alpha": alpha, "measure": measure, "longest": longest}
            show_discrimination(source, support, protected, decision, asked, most=most, as_json=as_json, **how)
        return
    _refuse("hiding", protected=protected, decision=decision, longest=longest)
    how |= {"support": support, "confidence": confidence, "margin": margin or "0"}
    how |= {"itemsets": itemset or (), "rules": rule or (), "keep": keep or ()}
    from discreet.verbs.hide import hiding

    if compare:
        _refuse("comparing", method=method, output=output, baskets=baskets, tell=tell, dry_run=dry_run)
        with stoppable(lambda: ""), tracking("Comparing") as at:
            trials = hiding.compare(source, **how, progress=lambda done, about: at(about, done))
        print_json([one.to_dict() for one in trials]) if as_json else _print_trials(trials)
        return
    page = None if output is None else output.with_name(f"{output.name}.holder.html")
    if page is None and not dry_run:
        raise BadInput("Say where to write the release: add --output FOLDER.", hint="Or look first, with --dry-run.")
    places: dict[str, Any] = {} if dry_run else {"to": output, "baskets": baskets, "page": page}
    with stoppable(lambda: f"Nothing was written to {output}."), tracking("Hiding") as at:
        release = hiding.hide(
            source,
            **how,
            method=method or "exact",
            tell=_tell(tell or "nothing"),
            **places,
            progress=lambda done, about: at(about, done),
        )
    if as_json:
        told = release.holder.to_dict() if release.holder is not None else {}
        print_json({"release": None if dry_run else str(output), "statement": release.statement.to_dict(), **told})
    else:
        _print(release, None if dry_run else output, page)


def _source(file: str, card: str | None) -> Any:
    if card is None:
        return file
    from discreet.engines.read import read

    return read(file, card)


def _layout(said: str | None) -> Literal["baskets", "pairs", "table"] | None:
    match said:
        case None | "baskets" | "pairs" | "table":
            return said
    raise BadInput(f"There is no layout {said!r}.", hint="There are baskets, pairs and table.")


def _tell(said: str) -> Literal["nothing", "thresholds", "secrets"]:
    match said:
        case "nothing" | "thresholds" | "secrets":
            return said
    raise BadInput(f"--tell {said}: a release tells nothing, thresholds or secrets.")


def _refuse(what: str, **said: object) -> None:
    """An error for options that mean nothing here."""
    for option, value in said.items():
        if value not in (None, False):
            raise BadInput(f"--{option.replace('_', '-')} means nothing to {what}.", hint="Leave it out.")


def _print(release: Hidden, folder: Path | None, page: Path | None) -> None:
    out = console()
    out.print(bold(release.title), f"in {folder}" if folder else "(nothing was written)")
    holder = release.holder
    assert holder is not None  # noqa: S101  # just made
    listing = grid("secret", "#before", "#after", "#hidden below")
    for one in holder.secrets():
        listing.add_row(*(str(value) for value in one.values()))
    out.print(listing)
    for name, told in holder.in_figures():
        out.print(f"{name}: {told}", soft_wrap=True)
    lost = [str(one) for one in holder.effects.itemsets.lost]
    if lost:
        more = f"; and {number(len(lost) - _SHOWN, 'other')}" if len(lost) > _SHOWN else ""
        out.print(f"Innocent itemsets that are lost: {'; '.join(lost[:_SHOWN])}{more}.", soft_wrap=True)
    out.print(str(release.statement), soft_wrap=True)
    if folder is not None:
        out.print(f"What is hidden, what was lost and every change, for you alone: {page}.")


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
    out.print("lost: innocent itemsets; new: itemsets and rules that were not there; visible: secrets that still are.")
    for line in said:
        out.print(line, soft_wrap=True)
