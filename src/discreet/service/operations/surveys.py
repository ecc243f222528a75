"""Operations on surveys: made, opened and closed by stewards, answered by anyone who has the link.

    surveys/<id>.toml             the survey
    surveys/<id>.reports.jsonl    its reports, one a line, for the owner of the workspace alone
    surveys/<id>.open             is there while people may answer

Reports are randomised in the respondents' browsers (``verbs/collect/survey``), so that their promise holds towards the
workspace, too. Nothing but the report is kept of a respondent: no address, no time, no name.
"""

from __future__ import annotations

import datetime as dt
import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.core.document import write
from discreet.core.release import save
from discreet.curator.people.person import Person
from discreet.curator.release_index import Shelf, Shelved
from discreet.curator.workspace import Workspace
from discreet.errors import BadInput, NotFound
from discreet.noise.entropy import SYSTEM
from discreet.service.operations.permissions import Permissions

if TYPE_CHECKING:
    from discreet.verbs.collect.survey.inbox import Inbox
    from discreet.verbs.collect.survey.results import SurveyResults
    from discreet.verbs.collect.survey.survey import Survey

FOLDER = "surveys"
COLLECTED = "collected"
"""Kind of a survey's figures in the release index."""
MOST_QUESTIONS = 50
LONGEST_TITLE = 120
"""Characters of a survey's title."""
LONGEST_TEXT = 500
"""Characters of a question, of an answer, and of what is said about the survey."""
_ID = re.compile(r"[0-9a-f]{16}")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")


@dataclass(frozen=True)
class SurveyView:
    """A survey as a steward sees it."""

    id: str
    survey: Survey
    open: bool
    reports: int


class SurveyOperations:
    """The surveys of a workspace. Threads may share this."""

    def __init__(self, workspace: Workspace, shelf: Shelf, may: Permissions) -> None:
        self._workspace, self._shelf, self._may = workspace, shelf, may
        self._folder = workspace.folder / FOLDER
        self._lock = threading.RLock()
        self._collecting: dict[str, tuple[Survey, Inbox]] = {}
        """The surveys that this process takes reports for."""

    # What stewards do

    def make(self, who: Person, survey: Survey) -> SurveyView:
        """Keep a new survey; no one can answer it before it is opened."""
        from discreet.verbs.collect.survey.file import dumps, loads

        with self._may.noted(who.name, "make survey") as about:
            self._may.require_steward(who)
            _require_plain(survey)
            text = dumps(survey)
            loads(text)
            self._folder.mkdir(mode=0o700, exist_ok=True)
            id = SYSTEM.bytes(8).hex()
            write(self._file(id, "toml"), text.encode(), private=True)
            about["survey"] = id
            return self._view(id)

    def all(self, who: Person) -> list[SurveyView]:
        """All surveys, newest first."""
        self._may.require_steward(who)
        files = [file for file in self._folder.glob("*.toml") if _ID.fullmatch(file.stem)]
        return [self._view(file.stem) for file in sorted(files, key=lambda file: -file.stat().st_mtime)]

    def find(self, who: Person, id: str) -> SurveyView:
        """One of them."""
        self._may.require_steward(who)
        return self._view(id)

    def set_open(self, who: Person, id: str, *, open: bool) -> SurveyView:
        """Let people answer a survey from now on, or no longer. It may be opened again."""
        with self._may.noted(who.name, "open survey" if open else "close survey", survey=id):
            self._may.require_steward(who)
            self._load(id)
            mark = self._file(id, "open")
            if open:
                mark.touch(mode=0o600)
            else:
                mark.unlink(missing_ok=True)
                self._let_go(id)
            return self._view(id)

    def estimates(self, who: Person, id: str) -> SurveyResults:
        """Figures of a survey so far, with error bars; an error while there are too few reports."""
        with self._may.noted(who.name, "read estimates", survey=id):
            self._may.require_steward(who)
            return self._estimate(id)

    def release(self, who: Person, id: str) -> str:
        """Release the figures of a survey as they are now: the release's name. Stewards alone have it until shared."""
        from discreet.service.jobs.places import Places

        with self._may.noted(who.name, "release survey", survey=id) as about:
            self._may.require_steward(who)
            release = self._estimate(id).release()
            places, at = Places(self._workspace.folder), dt.datetime.now(dt.UTC)
            places.prepare()
            name = f"{at:%Y%m%d}-survey-{SYSTEM.bytes(4).hex()}"
            save(release, places.release(name), private=True)
            entry = Shelved(
                id=name,
                kind=COLLECTED,
                title=release.title,
                tables=(),
                by=who.name,
                at=at,
                method=release.recipe.method,
                loss=release.statement.loss,
                private=release.private,
                shared=False,
                place=str(places.release(name).relative_to(self._workspace.folder)),
            )
            self._shelf.put(entry)
            about["release"] = name
            return name

    # What anyone does who has the link

    def collecting(self, id: str) -> tuple[Survey, Inbox]:
        """An open survey and its inbox, for anyone who has the link; an error if there is none or it is closed."""
        from discreet.verbs.collect.survey.inbox import Inbox

        with self._lock:
            if not _ID.fullmatch(id) or not self._file(id, "open").exists():
                self._let_go(id)
                raise NotFound("There is no open survey here.", hint="Ask the person who sent you the link.")
            if id not in self._collecting:
                survey = self._load(id)
                self._collecting[id] = survey, Inbox(survey, self._file(id, "reports.jsonl"))
            return self._collecting[id]

    def stop(self) -> None:
        """Take no more reports in this process."""
        for id in list(self._collecting):
            self._let_go(id)

    def _let_go(self, id: str) -> None:
        with self._lock:
            if id in self._collecting:
                _, inbox = self._collecting.pop(id)
                inbox.__exit__()

    def _estimate(self, id: str) -> SurveyResults:
        from discreet.verbs.collect.survey.results import estimate_survey

        survey, reports = self._load(id), self._file(id, "reports.jsonl")
        if not reports.exists():
            raise BadInput("There are no reports yet.", hint="Open the survey, and pass its link on.")
        return estimate_survey(survey, [reports])

    def _view(self, id: str) -> SurveyView:
        survey = self._load(id)
        collecting = self._collecting.get(id)
        reports = _count(self._file(id, "reports.jsonl")) if collecting is None else len(collecting[1])
        return SurveyView(id, survey, self._file(id, "open").exists(), reports)

    def _load(self, id: str) -> Survey:
        from discreet.verbs.collect.survey.file import loads

        if not _ID.fullmatch(id) or not self._file(id, "toml").is_file():
            raise NotFound("There is no such survey here.")
        return loads(self._file(id, "toml").read_text(encoding="utf-8"))

    def _file(self, id: str, ending: str) -> Path:
        return self._folder / f"{id}.{ending}"


def _require_plain(survey: Survey) -> None:
    """An error unless a page can show a survey, and the service keeps what the survey says of it."""
    if survey.shuffler is not None:
        raise BadInput("The service keeps reports as they come, and does not shuffle them.", hint="Leave shuffler out.")
    if len(survey.questions) > MOST_QUESTIONS:
        raise BadInput(f"A survey has at most {MOST_QUESTIONS} questions, not {len(survey.questions)}.")
    if not survey.title.strip():
        raise BadInput("The survey has no title.")
    _require_short("The title", survey.title, LONGEST_TITLE)
    _require_short("What is said about the survey", survey.about, LONGEST_TEXT)
    for question in survey.questions:
        if not _NAME.fullmatch(question.name):
            raise BadInput(f"{question.name!r} cannot be the name of a question.", hint="Use letters, digits and “_”.")
        if not question.text.strip() or not all(value.strip() for value in question.values):
            raise BadInput(f"{question.name}: the question, or one of its answers, is empty.")
        _require_all_short(question.name, (question.text, *question.values))


def _require_all_short(name: str, texts: Iterable[str]) -> None:
    for text in texts:
        _require_short(f"{name}: a text", text, LONGEST_TEXT)


def _require_short(what: str, text: str, longest: int) -> None:
    if len(text) > longest or not text.isprintable():
        raise BadInput(f"{what} is one line of at most {longest} characters.")


def _count(reports: Path) -> int:
    """Number of reports in a file: all lines but the first."""
    try:
        with reports.open("rb") as file:
            return max(sum(line.endswith(b"\n") for line in file) - 1, 0)
    except FileNotFoundError:
        return 0
