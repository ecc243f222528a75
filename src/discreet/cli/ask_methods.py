"""What `discreet ask` can be asked beyond a question in SQL: a distribution, marginals, bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.cli.output import console, figures, print_json, working
from discreet.errors import BadInput

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.core.release import Release
    from discreet.curator.curator import Curator
    from discreet.releases.method import Method
    from discreet.verbs.ask.price import Quote


def chosen(
    asked: Mapping[str, str | None], *, bins: int, ways: int, epsilon: str | None, rho: str | None
) -> tuple[Method[pa.Table], str] | None:
    """The one method that was asked for, and of which table; ``None``: none was."""
    said = [(what, text) for what, text in asked.items() if text is not None]
    if not said:
        return None
    if len(said) > 1:
        raise BadInput(f"Ask for one thing at a time, not for {' and '.join(f'--{what}' for what, _ in said)}.")
    what, text = said[0]
    table, _, column = text.partition(".")
    if not column:
        raise BadInput(f"--{what} {text} does not name a table and a column.", hint="Write it as visits.age")
    if what == "distribution":
        from discreet.verbs.ask.distribution import Distribution

        return Distribution(column, bins, epsilon, rho), table
    if what == "marginals":
        from discreet.verbs.tabulate.private.macro_table import MacroTable

        columns = [one.strip() for one in column.split(",")]
        return MacroTable.every(columns, ways, epsilon=epsilon, rho=rho, levels=False, whole=False), table
    from discreet.verbs.ask.bounds import Bounds

    if epsilon is None:
        raise BadInput("Bounds are searched for an --epsilon.")
    return Bounds(column, epsilon), table


def show(curator: Curator, method: Method[pa.Table], table: str, *, analyst: str, dry_run: bool, as_json: bool) -> None:
    """Release what the method makes of a table, or say what it would cost; and print it."""
    quote = curator.quote(method, table, analyst=analyst)
    if dry_run:
        print_quote(quote, as_json)
        return
    with working("Answering"):
        release = curator.release(method, table, analyst=analyst)
    left = curator.left(table, analyst)
    if as_json:
        print_json(
            {
                "method": method.name,
                **method.parameters,
                "rows": release.payload.to_pylist(),
                "loss": quote.loss.to_dict(),
                "free": quote.answered,
                "left": {"analyst": left.analyst.to_dict(), "table": left.table.to_dict()},
                "statement": release.statement.to_dict(),
            }
        )
        return
    out = console()
    out.print(figures(release.payload))
    if method.name == "bounds":
        out.print(_how_to_use(method.parameters["column"], release))
    paid = "Answered before, so it is free." if quote.answered else f"It cost {quote.loss}."
    out.print(f"{paid} Left: {left}.")
    out.print(str(release.statement))


def print_quote(quote: Quote, as_json: bool) -> None:
    """A price, for people or machines."""
    if as_json:
        print_json(plain_quote(quote))
    else:
        console().print(str(quote))


def plain_quote(quote: Quote) -> dict[str, Any]:
    """A price as plain data."""
    return {
        "loss": quote.loss.to_dict(),
        "errors": dict(quote.errors),
        "left": quote.left.to_dict(),
        "answered": quote.answered,
        "synthetic": bool(quote.synthetic),
    }


def _how_to_use(column: str, release: Release[pa.Table]) -> str:
    (found,) = release.payload.to_pylist()
    if found["low"] is None:
        return "There seem to be too few rows to tell; a larger epsilon needs fewer."
    low, high = found["low"], found["high"]
    return (
        f"To use them, ask about LEAST(GREATEST({column}, {low}), {high}); or declare bounds = [{low}, {high}] "
        "on the card of a new workspace: they were paid for, so leave from_data out."
    )
