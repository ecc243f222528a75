"""`discreet collect`: a survey whose answers never leave the devices of those who give them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer import Argument, Option

from discreet.cli.options import Cert, Host, Insecure, Json, Key, Name, Port, require_new, require_parts
from discreet.cli.output import bold, console, grid, print_json, stoppable, working
from discreet.core.optional import extra
from discreet.errors import BadInput, TooMany

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from discreet.service.settings import Settings
    from discreet.verbs.collect.survey.inbox import Inbox
    from discreet.verbs.collect.survey.question import Question
    from discreet.verbs.collect.survey.results import SurveyFigure, SurveyResults
    from discreet.verbs.collect.survey.survey import Share, Survey

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Collect: statistics from people who never hand over their data.

    \b
    Example:
      discreet collect new music.toml
      discreet collect plan music.toml --people 300
      discreet collect serve music.toml
      discreet collect estimate music.toml
    """,
)
File = Annotated[Path, Argument(help="The survey (TOML).", metavar="SURVEY")]
_NORMAL_95 = 1.96
"""Standard errors on either side of a figure that hold with 95 % confidence."""


@app.command("new")
def new(
    file: File,
    *,
    title: Annotated[str, Option(help="What it is called.")] = "Music",
    epsilon: Annotated[str, Option(help="What each person loses at most, by all questions together.")] = "2",
    people: Annotated[int, Option(min=1, help="How many are expected to answer.")] = 1000,
    share: Annotated[
        str | None, Option(help="How epsilon is shared among the questions: split or sampled; default: the better.")
    ] = None,
    codes: Annotated[Path | None, Option(help="Also write a one-time code for each person to this new file.")] = None,
    example: Annotated[
        bool, Option("--example", help="Do not ask: write an example with four questions, to be edited.")
    ] = False,
) -> None:
    """Write a survey: questions, what each person may lose, and the protocols chosen for that, with the reasons.

    On a terminal you are asked for the questions. Otherwise, and with --example, it is an example to be edited.

    \b
    Examples:
      discreet collect new music.toml
      discreet collect new music.toml --example --epsilon 2 --people 500 --codes codes.txt
    """
    import sys

    from discreet.core.document import write
    from discreet.verbs.collect.survey.file import EXAMPLE, dumps

    for path in (file, codes):
        require_new(path)
    asks = sys.stdin.isatty() and not example
    survey = _survey(_typed_questions() if asks else EXAMPLE, title, epsilon, people, share)
    write(file, dumps(survey).encode())
    typer.echo(f"Written to {file}; change what you like before the first person answers.")
    for protocol in survey.protocols:
        typer.echo(f"  {protocol.name}: {protocol.reason}")
    if codes is not None:
        from discreet.noise.entropy import token

        write(codes, "".join(f"{token(9)}\n" for _ in range(people)).encode())
        typer.echo(f"One-time codes, one for each of {people:,} people, are in {codes}.")
    typer.echo(f"Next: discreet collect serve {file}{f' --codes {codes}' if codes else ''}")


@app.command("plan")
def plan(
    file: File,
    *,
    people: Annotated[int | None, Option(min=1, help="Number of respondents, if not the file's.")] = None,
    epsilon: Annotated[str | None, Option(help="Loss of each person by all questions, if not the file's.")] = None,
    as_json: Json = False,
) -> None:
    """Show how exact the figures of a survey will be, before anybody is asked.

    A figure is within the error of what the respondents really answered, with 95 % confidence.

    \b
    Examples:
      discreet collect plan music.toml
      discreet collect plan music.toml --people 300 --epsilon 1
    """
    from discreet.core.exact import equation, exact
    from discreet.verbs.collect.survey.file import load

    survey = load(file)
    survey = replace(
        survey,
        people=survey.people if people is None else people,
        epsilon=survey.epsilon if epsilon is None else exact(epsilon, "epsilon"),
    )
    planned: list[dict[str, Any]] = [
        {
            "question": one.name,
            "protocol": one.mechanism.name,
            "answers": survey.people_per_question,
            "figure": "mean" if one.question.wants == "mean" else "share",
            "error": _NORMAL_95 * share * _span(one.question),
        }
        for one, share in zip(survey.protocols, survey.errors(), strict=True)
    ]
    each = survey.epsilon_per_question
    if as_json:
        print_json({"people": survey.people, "epsilon": str(survey.epsilon), "each": str(each), "questions": planned})
        return
    out = console()
    asked = f"each question with {equation('ε', each)}"
    out.print(f"{survey.title}: {survey.people:,} people, {equation('ε', survey.epsilon)} for each person, {asked}.")
    listing = grid("question", "protocol", "#answers", "#error, 95 % confidence")
    for row in planned:
        error = f"{row['error']:.1%}" if row["figure"] == "share" else f"{row['error']:,.3g}"
        listing.add_row(row["question"], row["protocol"], f"{row['answers']:,}", f"{row['figure']} ± {error}")
    out.print(listing)
    out.print("Four times as many people make each error half as large.")


def _span(question: Question) -> float:
    """What an error as a share is a share of: the range of a mean, or all people."""
    return float(question.grid.high - question.grid.low) if question.grid and question.wants == "mean" else 1.0


@app.command("serve")
def serve(
    file: File,
    *,
    host: Host = "127.0.0.1",
    port: Port = 8641,
    cert: Cert = None,
    key: Key = None,
    name: Name = None,
    insecure: Insecure = False,
    codes: Annotated[
        Path | None, Option(help="One-time codes, one a line: each person has one, and counts once.")
    ] = None,
    reports: Annotated[Path | None, Option(help="Where reports are kept; default: beside the survey.")] = None,
) -> None:
    """Let people answer in their browsers, where their answers are randomised. Only reports arrive here.

    \b
    Examples:
      discreet collect serve music.toml
      discreet collect serve music.toml --codes codes.txt
      discreet collect serve music.toml --host 0.0.0.0 --name data.example.org --cert cert.pem --key key.pem

    It listens on this computer alone, unless it has a certificate. Ctrl-C stops it; reports are on the disk by then.
    """
    from discreet.service.settings import Settings
    from discreet.verbs.collect.survey.file import load
    from discreet.verbs.collect.survey.inbox import Inbox, default_reports_path, read_codes

    settings = Settings(host, port, cert, key, tuple(name or ()), insecure, most_body=100_000)
    require_parts("fastapi", "uvicorn")
    survey = load(file)
    with Inbox(survey, reports or default_reports_path(file), None if codes is None else read_codes(codes)) as inbox:

        def ready(address: str) -> None:
            typer.echo(f"People answer {survey.title} at {address}")
            typer.echo(f"{len(inbox):,} reports are in {reports or default_reports_path(file)}. Ctrl-C stops it.")
            if codes is None:
                typer.echo("There are no one-time codes: whoever likes can answer more than once.")

        serve_survey(survey, inbox, settings, ready=ready)


@app.command("estimate")
def estimate(
    file: File,
    reports: Annotated[
        list[Path] | None,
        Argument(help="Reports (JSON lines or Parquet); default: those beside the survey.", metavar="[REPORTS]..."),
    ] = None,
    *,
    confidence: Annotated[float, Option(help="How sure each error bar is.")] = 0.95,
    postprocess: Annotated[
        str | None,
        Option(
            help="Post-process shares by norm-sub, norm-cut, base-cut, cls, power or ibu; they may be biased then.",
            metavar="STEP",
        ),
    ] = None,
    output: Annotated[
        Path | None, Option("--output", "-o", help="Write a release to this new folder, with a report and charts.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Estimate how many people answered what: shares, means and quantiles, with error bars and a chart.

    Reports that no answers explain raise an alarm: somebody may have made them up.

    \b
    Examples:
      discreet collect estimate music.toml
      discreet collect estimate music.toml reports.parquet -o results
      discreet collect estimate music.toml --postprocess norm-sub
    """
    from discreet.verbs.collect.survey.file import load
    from discreet.verbs.collect.survey.inbox import default_reports_path
    from discreet.verbs.collect.survey.results import estimate_survey

    survey, paths = load(file), reports or [default_reports_path(file)]
    with working("Counting reports"):
        result = estimate_survey(survey, paths, confidence=confidence, postprocess=postprocess)
        release = result.release()
    if output is not None:
        release.save(output)
    if as_json:
        rows = release.payload.to_pylist()
        raised = [{"question": name, "alarm": str(alarm)} for name, alarm in result.alarms]
        print_json(
            {"people": result.people, "statement": release.statement.to_dict(), "alarms": raised, "figures": rows}
        )
        return
    _show(result)
    for name, alarm in result.alarms:
        typer.echo(f"Alarm about {name}: {alarm} Reports may have been made up.")
    typer.echo(release.promise)
    if output is not None:
        typer.echo(f"Release written to {output}; the charts are in {output / 'report.html'}.")


@app.command("randomize")
def randomize(
    answers: Annotated[Path, Argument(help="Answers (CSV or Parquet), a column for each question.", metavar="ANSWERS")],
    *,
    survey: Annotated[Path, Option(help="The survey (TOML).")],
    output: Annotated[Path, Option("--output", "-o", help="Write reports to this new Parquet file.")],
) -> None:
    """Randomise answers that are in a file, as each respondent's device would, a part at a time.

    \b
    Examples:
      discreet collect randomize answers.parquet --survey music.toml -o reports.parquet
      discreet collect estimate music.toml reports.parquet
    """
    from discreet.verbs.collect.survey.file import load
    from discreet.verbs.collect.survey.report_files import randomize_file

    questions = load(survey)
    with working("Flipping coins"), stoppable(lambda: "Nothing was written."):
        people = randomize_file(questions, answers, output)
    in_order = replace(questions, shuffler=None)  # nobody has mixed these yet: they are in the order of the answers
    typer.echo(f"{people:,} reports are in {output}, in the order of the answers. {in_order.statement(people)}")


def _survey(questions: Any, title: str, epsilon: str, people: int, share: str | None) -> Survey:
    from discreet.core.exact import exact
    from discreet.verbs.collect.survey.survey import Survey, better_share

    made = Survey(title, exact(epsilon, "epsilon"), "split", people, tuple(questions))
    return replace(made, share=cast("Share | None", share) or better_share(made)[0])


def _typed_questions() -> list[Question]:
    """Questions as somebody types them in."""
    from discreet.verbs.collect.numbers.grid import NumberGrid
    from discreet.verbs.collect.survey.question import Question

    result: list[Question] = []
    typer.echo("Questions, one after the other; an empty name ends them.")
    while name := typer.prompt("Name (one word)", default="", show_default=False).strip():
        text = typer.prompt("Question")
        values = typer.prompt("Answers: a | b | c, or number 0 10 in 10 steps, or yes/no", default="yes/no").strip()
        if values == "yes/no":
            result.append(Question(name, text, "yes/no"))
        elif values.startswith("number"):
            words = values.replace("steps", "").replace(" in ", " ").split()[1:]
            if len(words) != 3 or not words[2].isdecimal():
                raise BadInput("Numbers are written as: number 0 10 in 10 steps")
            result.append(Question(name, text, "number", grid=NumberGrid(words[0], words[1], int(words[2]))))
        else:
            result.append(Question(name, text, "choice", tuple(value.strip() for value in values.split("|"))))
    return result


def _show(result: SurveyResults) -> None:
    out, figures = console(), result.figures
    out.print(bold(f"{result.survey.title}: {result.people:,} people took part"))
    out.print(f"From … to holds for each figure with {result.confidence:.4g}; all at once, for every figure together.")
    if result.postprocess is not None:
        out.print(f"Shares were post-processed by {result.postprocess}, and may be biased; from … to is from before.")
    for one in result.tallies:
        listing = grid(
            "", "#", "#from", "#to", "#all at once", "", title=f"{one.protocol.question.text} ({one.protocol.name})"
        )
        mine = [each for each in figures if each.question == one.protocol.name]
        most = max([each.estimate for each in mine if each.kind == "share"], default=1.0)
        for each in mine:
            listing.add_row(*_row(each, most))
        out.print(listing)


def _row(each: SurveyFigure, most: float) -> list[str]:
    def shown(value: float) -> str:
        return f"{value:.1%}" if each.kind == "share" else f"{value:,.4g}"

    bar = "█" * round(16 * max(each.estimate, 0) / most) if each.kind == "share" and most > 0 else ""
    together = f"{shown(each.low_together)} to {shown(each.high_together)}"
    return [each.figure, shown(each.estimate), shown(each.low), shown(each.high), together, bar]


def serve_survey(survey: Survey, inbox: Inbox, settings: Settings, *, ready: Callable[[str], None]) -> None:
    """Serve the page of a survey until interrupted; ``ready`` gets the address once requests are answered."""
    from discreet.service.api.guard import Guard
    from discreet.service.listen import listening
    from discreet.service.server import Server
    from discreet.verbs.collect.survey.web import make_app

    with listening(settings) as listener, suppress(KeyboardInterrupt):  # the way to stop it
        app = Guard(RateLimit(make_app(survey, inbox), settings), settings)
        server = Server(app, settings, lambda: ready(settings.address(listener.getsockname()[1])))
        server.run(sockets=[listener])


class RateLimit:
    """Middleware that limits how fast a neighbourhood of addresses may send reports: as fast as a classroom does."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        from discreet.service.api.limits import Buckets

        self._app = app
        self._buckets = Buckets(settings.rate, settings.burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer how long to wait."""
        if scope["type"] == "http" and scope["method"] == "POST":
            with extra("serve"):
                from starlette.responses import JSONResponse

            from discreet.service.api.limits import neighbourhood

            try:
                self._buckets.take(neighbourhood((scope.get("client") or ("",))[0]))
            except TooMany as error:
                body = {"message": error.message, "hint": error.hint}
                await JSONResponse(body, 503, {"Retry-After": str(error.wait)})(scope, receive, send)
                return
        await self._app(scope, receive, send)
