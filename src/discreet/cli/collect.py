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
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.service.settings import Settings
    from discreet.verbs.collect.survey.inbox import Inbox
    from discreet.verbs.collect.survey.question import Question
    from discreet.verbs.collect.survey.results import SurveyFigure, SurveyResults
    from discreet.verbs.collect.survey.survey import Share, Survey

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Local differential privacy: survey statistics from answers that are randomised on each respondent's device.

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
    title: Annotated[str, Option(help="Title of the survey.")] = "Music",
    epsilon: Annotated[str, Option(help="Privacy loss ε of each person, all questions together.")] = "2",
    people: Annotated[int, Option(min=1, help="Expected number of respondents.")] = 1000,
    share: Annotated[
        str | None,
        Option(help="How epsilon is shared among the questions: split or sampled; default: the more accurate."),
    ] = None,
    codes: Annotated[Path | None, Option(help="Also write a one-time code for each person to this new file.")] = None,
    example: Annotated[
        bool, Option("--example", help="No dialogue: write an example with four questions to edit.")
    ] = False,
) -> None:
    """Write a survey: questions, privacy loss, and the protocols chosen, with the reasons.

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
    typer.echo(f"Written to {file}. Edit it before the first person answers.")
    for protocol in survey.protocols:
        typer.echo(f"  {protocol.name}: {protocol.reason}")
    if codes is not None:
        from discreet.noise.entropy import token

        write(codes, "".join(f"{token(9)}\n" for _ in range(people)).encode(), private=True)
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
    """Show how exact the figures of a survey will be, before anyone is asked.

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
    """Denominator of an error as a share: the range of a mean, or all people."""
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
        Path | None, Option(help="File of one-time codes, one per line: each person uses one, and counts once.")
    ] = None,
    reports: Annotated[Path | None, Option(help="File for the reports; default: next to the survey.")] = None,
) -> None:
    """Let people answer in their browsers, where their answers are randomised. Only reports arrive here.

    \b
    Examples:
      discreet collect serve music.toml
      discreet collect serve music.toml --codes codes.txt
      discreet collect serve music.toml --host 0.0.0.0 --name data.example.org --cert cert.pem --key key.pem

    Without a certificate it listens on this computer only. Ctrl-C stops it; reports are on the disk by then.
    """
    from discreet.service.settings import Settings
    from discreet.verbs.collect.survey.file import load
    from discreet.verbs.collect.survey.inbox import REPORT_BYTES, Inbox, default_reports_path, read_codes

    settings = Settings(host, port, cert, key, tuple(name or ()), insecure, most_body=REPORT_BYTES)
    require_parts("fastapi", "uvicorn")
    survey = load(file)
    with Inbox(survey, reports or default_reports_path(file), None if codes is None else read_codes(codes)) as inbox:

        def ready(address: str) -> None:
            typer.echo(f"People answer {survey.title} at {address}")
            typer.echo(f"{len(inbox):,} reports are in {reports or default_reports_path(file)}. Ctrl-C stops it.")
            if codes is None:
                typer.echo("Without one-time codes, people can answer more than once.")

        serve_survey(survey, inbox, settings, ready=ready)


@app.command("estimate")
def estimate(
    file: File,
    reports: Annotated[
        list[Path] | None,
        Argument(help="Reports (JSON lines or Parquet); default: those next to the survey.", metavar="[REPORTS]..."),
    ] = None,
    *,
    confidence: Annotated[float, Option(help="Confidence level of each error bar.")] = 0.95,
    postprocess: Annotated[
        str | None,
        Option(
            help="Post-process shares (may bias them): norm-sub, norm-cut, base-cut, cls, power or ibu.",
            metavar="STEP",
        ),
    ] = None,
    output: Annotated[
        Path | None, Option("--output", "-o", help="Write a release to this new folder, with a report and charts.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Estimate how many people answered what: shares, means and quantiles, with error bars and a chart.

    Reports that no answers explain raise an alarm: someone may have made them up.

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
        typer.echo(f"Warning about {name}: {alarm} Reports may be forged.")
    typer.echo(release.promise)
    if output is not None:
        typer.echo(f"Release written to {output}; the charts are in {output / 'report.html'}.")


@app.command("randomize")
def randomize(
    answers: Annotated[Path, Argument(help="Answers (CSV or Parquet), one column per question.", metavar="ANSWERS")],
    *,
    survey: Annotated[Path, Option(help="The survey (TOML).")],
    output: Annotated[Path, Option("--output", "-o", help="Write reports to this new Parquet file.")],
) -> None:
    """Randomise the answers in a file, as each respondent's device would.

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
    in_order = replace(questions, shuffler=None)  # no one has mixed these yet: they are in the order of the answers
    typer.echo(f"{people:,} reports are in {output}, in the order of the answers. {in_order.statement(people)}")


def _survey(questions: Any, title: str, epsilon: str, people: int, share: str | None) -> Survey:
    from discreet.core.exact import exact
    from discreet.verbs.collect.survey.survey import Survey, better_share

    made = Survey(title, exact(epsilon, "epsilon"), "split", people, tuple(questions))
    return replace(made, share=cast("Share | None", share) or better_share(made)[0])


def _typed_questions() -> list[Question]:
    """Questions typed in at a terminal."""
    from discreet.verbs.collect.numbers.grid import NumberGrid
    from discreet.verbs.collect.survey.question import Question

    result: list[Question] = []
    typer.echo("Enter the questions one by one; an empty name ends the list.")
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
    out.print(f"All intervals together contain the true figures with probability {result.confidence:.4g}.")
    if result.postprocess is not None:
        out.print(
            f"Shares were post-processed by {result.postprocess}, and may be biased; intervals are from before that."
        )
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
    from discreet.service.listen import Certificate, listening
    from discreet.service.server import Server
    from discreet.service.survey_pages import RateLimit
    from discreet.verbs.collect.survey.web import make_app

    with listening(settings) as listener, suppress(KeyboardInterrupt):  # the way to stop it
        app = Guard(RateLimit(make_app(survey, inbox), settings), settings)
        address = settings.address(listener.getsockname()[1])
        server = Server(app, settings, lambda: ready(address), Certificate.of(settings))
        server.run(sockets=[listener])
