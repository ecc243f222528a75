"""`discreet ask`: a question, its price, its answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.output import Json, console, grid, print_json, working
from discreet.cli.workspace import Folder
from discreet.errors import BadInput, NotFound

if TYPE_CHECKING:
    from discreet.curator.answer import Answer
    from discreet.curator.curator import Curator
    from discreet.curator.question import Quote


def ask(
    folder: Folder,
    question: Annotated[str | None, typer.Argument(help="A SELECT.", metavar="QUESTION")] = None,
    *,
    epsilon: Annotated[str | None, typer.Option("--epsilon", "-e", help="What to spend.")] = None,
    delta: Annotated[str, typer.Option("--delta", help="For groups that the card does not declare.")] = "0",
    error: Annotated[
        str | None,
        typer.Option("--error", help='Instead of --epsilon: as little as gives this error, such as 50 or "5% at 95%".'),
    ] = None,
    expect: Annotated[str | None, typer.Option("--expect", help="With an --error in %: the figure you expect.")] = None,
    rows: Annotated[
        int | None, typer.Option("--rows", min=1, help="The rows you expect in a group, for the error of averages.")
    ] = None,
    batch: Annotated[
        Path | None, typer.Option("--batch", help="Answer all questions of this file for one --epsilon.")
    ] = None,
    analyst: Annotated[str, typer.Option("--analyst", help="Who asks.")] = "analyst",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would cost, and spend nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Ask a question, and pay for the answer from the budget.

    \b
    Examples:
      discreet ask clinic "SELECT city, COUNT(*) AS n, AVG(income) AS income FROM visits GROUP BY city" --epsilon 0.5
      discreet ask clinic "SELECT COUNT(*) FROM visits" --error 50 --dry-run
      discreet ask clinic --batch questions.sql --epsilon 1

    The same question again is free, and gets the same answer.
    """
    from discreet.curator.curator import Curator

    if (question is None) == (batch is None):
        raise BadInput("Give a question, or --batch with a file of them.")
    if (epsilon is None) == (error is None):
        raise BadInput("Say what to spend with --epsilon, or what to get for it with --error.")
    asked = [question] if question is not None else _in_file(batch or Path())
    if error is not None and (batch is not None or len(asked) > 1):
        raise BadInput("--error is for one question.", hint="Give a batch its --epsilon.")
    with Curator(folder) as curator:
        spent: Any = epsilon
        if error is not None:
            spent = curator.epsilon_for(asked[0], error, delta=delta, expect=expect, rows=rows, analyst=analyst)
        if dry_run:
            _quote(curator, asked, epsilon=spent, delta=delta, analyst=analyst, rows=rows, as_json=as_json)
            return
        with working("Answering"):
            if batch is None:
                answers = [curator.ask(asked[0], epsilon=spent, delta=delta, analyst=analyst)]
            else:
                answers = curator.ask_all(asked, epsilon=spent, delta=delta, analyst=analyst)
    if as_json:
        shown = [_plain(answer) for answer in answers]
        print_json(shown[0] if batch is None else shown)
        return
    for one in answers:
        _print(one)


def _in_file(path: Path) -> list[str]:
    from discreet.curator.question import questions_in

    if not path.is_file():
        raise NotFound(f"There is no file {path}.")
    return questions_in(path.read_text(encoding="utf-8"))


def _quote(
    curator: Curator, asked: list[str], *, epsilon: Any, delta: str, analyst: str, rows: int | None, as_json: bool
) -> None:
    quotes = curator.price_all(asked, epsilon=epsilon, delta=delta, analyst=analyst, rows=rows)
    if as_json:
        shown = [_plain_quote(quote) for quote in quotes]
        print_json(shown[0] if len(asked) == 1 else shown)
        return
    for text, quote in zip(asked, quotes, strict=True):
        if len(asked) > 1:
            console().print(text, style="bold")
        console().print(str(quote))


def _plain_quote(quote: Quote) -> dict[str, Any]:
    return {
        "loss": quote.loss.to_dict(),
        "errors": dict(quote.errors),
        "left": quote.left.to_dict(),
        "answered": quote.answered,
    }


def _plain(answer: Answer) -> dict[str, Any]:
    return {
        "question": answer.release.recipe.parameters["question"],
        "rows": answer.table.to_pylist(),
        "loss": answer.price.to_dict(),
        "free": answer.free,
        "left": {"analyst": answer.left.analyst.to_dict(), "table": answer.left.table.to_dict()},
        "statement": answer.statement.to_dict(),
    }


def _print(answer: Answer) -> None:
    out = console()
    names = answer.table.column_names
    bars = {name for name in names if name.endswith("_error") and name.removesuffix("_error") in names}
    shown = [name for name in names if name not in bars]
    listing = grid(*(f"#{name}" if f"{name}_error" in bars else name for name in shown))
    for row in answer.table.to_pylist():
        listing.add_row(*(_figure(row[name], row.get(f"{name}_error")) for name in shown))
    out.print(listing)
    out.print(answer.cost)
    out.print(str(answer.statement))


def _figure(value: Any, error: float | None) -> str:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return "" if value is None else str(value)
    shown = f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
    return shown if error is None else f"{shown} ± {error:,.4g}"
