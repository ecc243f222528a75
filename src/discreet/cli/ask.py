"""`discreet ask`: SQL queries, distributions, marginals and bounds, with their price and answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from discreet.cli.options import Folder, Json
from discreet.cli.output import console, figures, print_json, working
from discreet.errors import BadInput, NotFound

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from discreet.core.release import Release
    from discreet.curator.answer import Answer, Left
    from discreet.curator.curator import Curator
    from discreet.releases.method import Method
    from discreet.verbs.ask.price import Quote


def ask(
    folder: Folder,
    question: Annotated[str | None, Argument(help="A SELECT.", metavar="QUESTION")] = None,
    *,
    epsilon: Annotated[str | None, Option("--epsilon", "-e", help="Privacy loss ε to spend.")] = None,
    delta: Annotated[str, Option(help="δ to spend; needed for groups that the card does not declare.")] = "0",
    rho: Annotated[str | None, Option(help="Instead of --epsilon: ρ to spend (zCDP, Gaussian noise).")] = None,
    error: Annotated[
        str | None, Option(help='Instead of --epsilon: the largest acceptable error, such as 50 or "5% at 95%".')
    ] = None,
    expect: Annotated[str | None, Option(help="With an --error in %: the answer you expect.")] = None,
    rows: Annotated[int | None, Option(min=1, help="Rows expected per group, for the error of averages.")] = None,
    batch: Annotated[Path | None, Option(help="Answer all questions of this file for one --epsilon.")] = None,
    distribution: Annotated[
        str | None, Option(help="Instead of a question: the distribution of a number or date, such as visits.age.")
    ] = None,
    bins: Annotated[int, Option(help="With --distribution: maximum number of bins.")] = 64,
    marginals: Annotated[
        str | None, Option(help="Instead of a question: counts over columns, such as visits.city,sex.")
    ] = None,
    ways: Annotated[int, Option(help="With --marginals: number of columns in each marginal.")] = 2,
    bounds: Annotated[
        str | None, Option(help="Instead of a question: estimate unknown bounds of a number, such as visits.fee.")
    ] = None,
    analyst: Annotated[str, Option(help="Who asks.")] = "analyst",
    no_stand_in: Annotated[
        bool,
        Option(
            "--no-stand-in", help="Refuse what the budget does not cover, even if a synthetic stand-in could answer."
        ),
    ] = False,
    audited: Annotated[
        bool, Option("--audited", help="Query auditing: an exact answer or a denial, at no cost.")
    ] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Show the price and spend nothing.")] = False,
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
    has a synthetic stand-in (discreet workspace stand-in), the stand-in answers it free of charge, marked as synthetic:
    its people never existed.
    """
    from discreet.curator.curator import Curator

    if audited:
        if question is None or dry_run or any(one is not None for one in (epsilon, rho, error, expect, rows)):
            raise BadInput("--audited takes one question and no privacy loss.")
        _answer_audited(folder, question, analyst, as_json)
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
    method = _method(beyond, bins=bins, ways=ways, epsilon=epsilon, rho=rho)
    asked = _in_file(batch) if batch is not None else [question or ""]
    with working("Opening"):
        opened = Curator(folder)
    with opened as curator:
        if method is not None:
            answer_method(curator, *method, analyst=analyst, dry_run=dry_run, as_json=as_json)
            return
        spent: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": rho, "analyst": analyst}
        if error is not None:
            spent["epsilon"] = curator.epsilon_for(
                asked[0], error, delta=delta, expect=expect, rows=rows, analyst=analyst
            )
        if dry_run:
            _print_quotes(asked, curator.price_all(asked, rows=rows, **spent), as_json)
            return
        spent["instead"] = not no_stand_in
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


def _print_quotes(asked: list[str], quotes: list[Quote], as_json: bool) -> None:
    """Print prices, for people or programs, each below its question if there are several."""
    if as_json:
        plain = [_plain_quote(quote) for quote in quotes]
        print_json(plain[0] if len(asked) == 1 else plain)
        return
    for text, quote in zip(asked, quotes, strict=True):
        if len(asked) > 1:
            console().print(text, style="bold")
        console().print(str(quote))


def _plain(answer: Answer) -> dict[str, Any]:
    return {
        "question": answer.release.recipe.parameters["question"],
        "rows": answer.table.to_pylist(),
        "loss": answer.price.to_dict(),
        "free": answer.free,
        "synthetic": answer.synthetic,
        "left": _plain_left(answer.left),
        "left_on": {name: _plain_left(left) for name, left in answer.left_on.items()},
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


def _method(
    asked: Mapping[str, str | None], *, bins: int, ways: int, epsilon: str | None, rho: str | None
) -> tuple[Method[pa.Table], str] | None:
    """The method requested instead of a query, and its table; ``None`` if there is none."""
    said = [(what, text) for what, text in asked.items() if text is not None]
    if not said:
        return None
    if len(said) > 1:
        raise BadInput(f"Ask for one thing at a time, not {' and '.join(f'--{what}' for what, _ in said)}.")
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
        raise BadInput("--bounds needs --epsilon.")
    return Bounds(column, epsilon), table


def answer_method(
    curator: Curator, method: Method[pa.Table], table: str, *, analyst: str, dry_run: bool, as_json: bool
) -> None:
    """Print the result of a method on a table, charged to the analyst; or only its price."""
    quote = curator.quote(method, table, analyst=analyst)
    if dry_run:
        _print_quotes([""], [quote], as_json)
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
                "left": _plain_left(left),
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


def _plain_left(left: Left) -> dict[str, Any]:
    return {"analyst": left.analyst.to_dict(), "table": left.table.to_dict()}


def _plain_quote(quote: Quote) -> dict[str, Any]:
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
        return "No bounds found: probably too few rows for this epsilon. Try a larger one."
    low, high = found["low"], found["high"]
    return (
        f"To use them, ask about LEAST(GREATEST({column}, {low}), {high}); or declare bounds = [{low}, {high}] "
        "on the card of a new workspace: they were paid for, so leave from_data out."
    )


def _answer_audited(folder: Path, question: str, analyst: str, as_json: bool) -> None:
    """Print the exact answer to a question; a denial is an error."""
    from discreet.curator.curator import Curator

    with Curator(folder) as curator, working("Weighing"):
        answer = curator.ask_audited(question, analyst=analyst)
    if as_json:
        print_json(
            {
                "question": answer.release.recipe.parameters["question"],
                "rows": answer.table.to_pylist(),
                "free": answer.free,
                "statement": answer.statement.to_dict(),
            }
        )
        return
    out = console()
    out.print(figures(answer.table))
    out.print("Exact, and audited." + (" It was answered before." if answer.free else ""))
    out.print(str(answer.statement))
