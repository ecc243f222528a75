"""`discreet ask`: a question, its price, its answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.ask_methods import chosen, plain_quote, print_quote, show
from discreet.cli.audited import answer_audited
from discreet.cli.output import Json, console, figures, print_json, working
from discreet.cli.workspace import Folder
from discreet.errors import BadInput, NotFound

if TYPE_CHECKING:
    from discreet.curator.answer import Answer
    from discreet.verbs.ask.price import Quote


def ask(
    folder: Folder,
    question: Annotated[str | None, typer.Argument(help="A SELECT.", metavar="QUESTION")] = None,
    *,
    epsilon: Annotated[str | None, typer.Option("--epsilon", "-e", help="What to spend.")] = None,
    delta: Annotated[str, typer.Option("--delta", help="For groups that the card does not declare.")] = "0",
    rho: Annotated[
        str | None, typer.Option("--rho", help="Instead of --epsilon: what to spend by Gaussian noise.")
    ] = None,
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
    distribution: Annotated[
        str | None, typer.Option("--distribution", help="Instead of a question: how a number or a date is distributed.")
    ] = None,
    bins: Annotated[int, typer.Option("--bins", help="With --distribution: in how many bins, at most.")] = 64,
    marginals: Annotated[
        str | None,
        typer.Option("--marginals", help="Instead of a question: counts over columns, such as visits.city,sex."),
    ] = None,
    ways: Annotated[int, typer.Option("--ways", help="With --marginals: over how many columns at a time.")] = 2,
    bounds: Annotated[
        str | None, typer.Option("--bounds", help="Instead of a question: between what a number lies, if nobody knows.")
    ] = None,
    analyst: Annotated[str, typer.Option("--analyst", help="Who asks.")] = "analyst",
    no_twin: Annotated[
        bool,
        typer.Option("--no-twin", help="Refuse what the budget does not cover, also if there is a synthetic twin."),
    ] = False,
    audited: Annotated[
        bool, typer.Option("--audited", help="Of an audited table: an exact answer, or a denial; it costs nothing.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would cost, and spend nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Ask a question, and pay for the answer from the budget.

    \b
    Examples:
      discreet ask clinic "SELECT city, COUNT(*) AS n, AVG(income) AS income FROM visits GROUP BY city" --epsilon 0.5
      discreet ask clinic "SELECT COUNT(*) FROM visits" --error 50 --dry-run
      discreet ask clinic --batch questions.sql --epsilon 1
      discreet ask clinic --distribution visits.age --epsilon 0.5
      discreet ask clinic --marginals visits.city,sex --ways 2 --epsilon 0.5
      discreet ask clinic --bounds visits.income --epsilon 0.1
      discreet ask office "SELECT AVG(salary) FROM staff WHERE city = 'Rome'" --audited

    The same question again is free, and gets the same answer. When the budget does not cover a question and the table
    has a synthetic twin (discreet workspace twin), that answers it for nothing: about people who never existed, and
    marked so.
    """
    from discreet.curator.curator import Curator

    if audited:
        if question is None or dry_run or any(one is not None for one in (epsilon, rho, error, expect, rows)):
            raise BadInput("--audited takes one question, and nothing to spend.")
        answer_audited(folder, question, analyst, as_json)
        return
    beyond = {"distribution": distribution, "marginals": marginals, "bounds": bounds}
    if sum(one is not None for one in (question, batch, *beyond.values())) != 1:
        raise BadInput(
            "Give a question, or --batch with a file of them, or one of --distribution, --marginals, --bounds."
        )
    if sum(one is not None for one in (epsilon, rho, error)) != 1:
        raise BadInput("Say what to spend with --epsilon or --rho, or what to get for it with --error.")
    if error is not None and question is None:
        raise BadInput("--error is for one question.", hint="Say what to spend with --epsilon.")
    method = chosen(beyond, bins=bins, ways=ways, epsilon=epsilon, rho=rho)
    asked = _in_file(batch) if batch is not None else [question or ""]
    with Curator(folder) as curator:
        if method is not None:
            show(curator, *method, analyst=analyst, dry_run=dry_run, as_json=as_json)
            return
        spent: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": rho, "analyst": analyst}
        if error is not None:
            spent["epsilon"] = curator.epsilon_for(
                asked[0], error, delta=delta, expect=expect, rows=rows, analyst=analyst
            )
        if dry_run:
            _quote(asked, curator.price_all(asked, rows=rows, **spent), as_json)
            return
        spent["instead"] = not no_twin
        with working("Answering"):
            answers = [curator.ask(asked[0], **spent)] if batch is None else curator.ask_all(asked, **spent)
    if as_json:
        shown = [_plain(answer) for answer in answers]
        print_json(shown[0] if batch is None else shown)
        return
    for one in answers:
        _print(one)


def _in_file(path: Path) -> list[str]:
    from discreet.verbs.ask.question import questions_in

    if not path.is_file():
        raise NotFound(f"There is no file {path}.")
    return questions_in(path.read_text(encoding="utf-8"))


def _quote(asked: list[str], quotes: list[Quote], as_json: bool) -> None:
    if len(asked) == 1:
        print_quote(quotes[0], as_json)
    elif as_json:
        print_json([plain_quote(quote) for quote in quotes])
    else:
        for text, quote in zip(asked, quotes, strict=True):
            console().print(text, style="bold")
            print_quote(quote, as_json)


def _plain(answer: Answer) -> dict[str, Any]:
    return {
        "question": answer.release.recipe.parameters["question"],
        "rows": answer.table.to_pylist(),
        "loss": answer.price.to_dict(),
        "free": answer.free,
        "synthetic": answer.synthetic,
        "left": {"analyst": answer.left.analyst.to_dict(), "table": answer.left.table.to_dict()},
        "left_on": {
            name: {"analyst": left.analyst.to_dict(), "table": left.table.to_dict()}
            for name, left in answer.left_on.items()
        },
        "statement": answer.statement.to_dict(),
    }


def _print(answer: Answer) -> None:
    from discreet.curator.answer import banner
    from discreet.curator.answer import figures as figures_of

    out = console()
    if answer.synthetic:
        out.print(banner(answer.release), style="bold reverse")
    out.print(figures(figures_of(answer.release), marked=" (synthetic)" if answer.synthetic else ""))
    out.print(answer.cost)
    out.print(str(answer.statement))
