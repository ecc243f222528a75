"""The survey's web page and the endpoint for its reports, as an ASGI app.

The page is plain HTML, a style sheet and two scripts, all of them from here. There is no form, so the browser itself
can send nothing; the policy lets the page talk to no one but where it came from, and run nothing but its two scripts.
The randomiser is shown on the page as it runs.

Who may call it, and how large a request may be, is decided by anyone who serves it; see `discreet collect serve`.
Nothing about a request is written down but the report that it brings: no address, no time, no browser.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from discreet.core.exact import equation, exp_upper, rounded
from discreet.core.markup import Markup, Template, script_data, tag
from discreet.core.optional import extra
from discreet.errors import BadInput, DiscreetError, NotAllowed
from discreet.verbs.collect.survey.inbox import Inbox
from discreet.verbs.collect.survey.question import browser_parameters, explain_protocol
from discreet.verbs.collect.survey.survey import QuestionProtocol, Survey

with extra("serve"):
    from anyio import CapacityLimiter, to_thread
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route


POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'"
)
FILES = {"page.js": "text/javascript", "randomise.js": "text/javascript", "page.css": "text/css"}
"""Media types of the page's files."""

_PAGE = Template("""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<link rel="stylesheet" href="page.css">
<main>
<h1>$title</h1>
$about
<div class="note">
<p><strong>Your answers stay with you.</strong> Before anything is sent, your browser flips coins for each answer. What
is sent may be your answer or another, and only you know which: $promise</p>
<p>$share The organisers can still estimate how many people gave each answer, because chance evens
out over many people.</p>
</div>
<noscript><p class="note">Your browser flips the coins, so this page needs JavaScript. Nothing is sent without it.</p>
</noscript>
<div id="questions"></div>
$code
<p><button type="button" id="flip" disabled>Flip the coins</button></p>
<p id="said" role="status" aria-live="polite"></p>
<section id="leaving" hidden>
<h2>This is all that leaves</h2>
<pre id="report" tabindex="0"></pre>
<p class="hint">The id is random, and there so that a report that is sent twice counts once.</p>
<p><button type="button" id="send">Send it</button></p>
</section>
<h2>How it is done</h2>
<details><summary>The program that changes your answers, as it runs in your browser</summary>
<pre tabindex="0">$source</pre></details>
<details><summary>The exact guarantee, and what it depends on</summary>
<p>$exactly</p></details>
</main>
<script type="application/json" id="survey">$survey</script>
<script type="module" src="page.js"></script>
</html>
""")
_CODE = Markup("""<fieldset><legend>Your one-time code</legend><input type="text" id="code" autocomplete="off" \
aria-label="Your one-time code"><p class="hint">It works once. It is sent with your report, but not \
stored with it.</p></fieldset>""")
_SHARES = {
    "split": "Each question has a part of that.",
    "sampled": "Your browser drew one of the questions at random, and asks only that one.",
}


@cache
def source(name: str) -> str:
    """Text of one of the page's files."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def page(survey: Survey, *, codes: bool) -> str:
    """HTML page of a survey, which asks for a one-time code or not."""
    loss = survey.loss
    promise = (
        f"whatever you answer, no report is more than {rounded(exp_upper(loss.epsilon), 3)} times as likely as it "
        f"would be with any other answers ({equation('ε', loss.epsilon)})."
    )
    return _PAGE.filled(
        title=survey.title,
        about=tag("p", survey.about) if survey.about else None,
        promise=promise,
        share=_SHARES[survey.share] if len(survey.questions) > 1 else None,
        code=_CODE if codes else None,
        source=source("randomise.js"),
        exactly=str(survey.statement(survey.people, codes=codes)),
        survey=script_data(public(survey, codes=codes)),
    )


def public(survey: Survey, *, codes: bool) -> dict[str, Any]:
    """Public data of a survey that the page needs."""
    questions = [_public_question(protocol) for protocol in survey.protocols]
    return {"fingerprint": survey.fingerprint, "share": survey.share, "codes": codes, "questions": questions}


def _public_question(protocol: QuestionProtocol) -> dict[str, Any]:
    question, mechanism = protocol.question, protocol.mechanism
    about = {
        "name": question.name,
        "text": question.text,
        "how": browser_parameters(mechanism),
        "says": explain_protocol(mechanism),
    }
    if question.grid is None:
        return about | {"values": list(question.domain.values)}
    ends = {"low": _decimal(question.grid.low), "high": _decimal(question.grid.high)}
    return about | {"steps": ends | {"steps": question.grid.steps}, "whole": question.whole}


def _decimal(number: Fraction) -> str:
    """A bound as a decimal number, written out."""
    digits = next((many for many in range(10) if (number * 10**many).denominator == 1), None)
    if digits is None:
        raise BadInput(f"A bound may have at most nine decimal places, got {number}.")
    return f"{float(number):.{digits}f}" if digits else str(number)


def make_app(survey: Survey, inbox: Inbox) -> Starlette:
    """ASGI app of a survey whose reports go into an inbox."""
    shown = page(survey, codes=inbox.needs_code)
    writer = CapacityLimiter(1)  # reports are written one after another; those that wait take no thread of others

    async def front(_: Request) -> Response:
        return Response(shown, media_type="text/html", headers={"Content-Security-Policy": POLICY})

    async def receive(request: Request) -> Response:
        try:
            await to_thread.run_sync(inbox.receive, await _json(request), limiter=writer)
        except ClientDisconnect:  # no one is there to be answered, and the server's log would say when
            return Response(status_code=400)
        except DiscreetError as error:
            status = 403 if isinstance(error, NotAllowed) else 400 if isinstance(error, BadInput) else 503
            message = error.message.encode("utf-8", "replace").decode()  # it may quote what was sent
            return JSONResponse({"message": message, "hint": error.hint}, status)
        except OSError:
            return JSONResponse({"message": "The report could not be stored.", "hint": "Please try again later."}, 503)
        return JSONResponse({"message": "Received."})

    files = [Route(f"/{name}", _file(name, kind)) for name, kind in FILES.items()]
    none = Route("/favicon.ico", lambda _: Response(status_code=204))
    app = Starlette(routes=[Route("/", front), *files, none, Route("/reports", receive, methods=["POST"])])
    app.router.redirect_slashes = False  # to the same name without the survey's folder before it
    return app


def _file(name: str, kind: str) -> Any:
    text = source(name)
    return lambda _: Response(text, media_type=kind, headers={"Content-Security-Policy": POLICY})


async def _json(request: Request) -> Any:
    if request.headers.get("content-type") != "application/json":
        raise BadInput("A report must be JSON.")
    try:
        return await request.json()
    except (ValueError, RecursionError):
        raise BadInput("A report must be JSON.") from None
