"""Surveys: made, opened and closed, and their figures."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from fastapi import APIRouter, Path
from pydantic import StringConstraints

from discreet.service.api.caller import EarlyRoute, Holder, Manager
from discreet.service.api.failures import READS, WRITES, answers
from discreet.service.api.records import FigureOut, SurveyOut, SurveyRelease
from discreet.service.api.schemas import NewSurvey, OpenSurvey
from discreet.verbs.collect.survey.file import loads

router = APIRouter(route_class=EarlyRoute, prefix="/v1/surveys", tags=["surveys"])
SurveyId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$"), Path(examples=["0123456789abcdef"])]


@router.post("", status_code=201, responses=WRITES, summary="Make a survey")
async def make(given: NewSurvey, caller: Manager) -> SurveyOut:
    """From a survey file. No one can answer it before it is opened; people answer at `/s/ID/`, without signing in."""
    return SurveyOut.of(await caller.work(lambda: caller.desk.surveys.make(caller.who, loads(given.survey))))


@router.get("", responses=READS, summary="Surveys")
def surveys(caller: Holder) -> list[SurveyOut]:
    """Newest first."""
    return [SurveyOut.of(view) for view in caller.desk.surveys.all(caller.who)]


@router.get("/{survey}", responses=READS | answers(404), summary="A survey")
def survey(survey: SurveyId, caller: Holder) -> SurveyOut:
    """Whether it is open, and the number of reports."""
    return SurveyOut.of(caller.desk.surveys.find(caller.who, survey))


@router.put("/{survey}/open", responses=WRITES, summary="Open or close a survey")
def set_open(survey: SurveyId, given: OpenSurvey, caller: Manager) -> SurveyOut:
    """A survey that is closed takes no reports; it may be opened again."""
    return SurveyOut.of(caller.desk.surveys.set_open(caller.who, survey, open=given.open))


@router.get("/{survey}/estimates", responses=READS | answers(400, 404), summary="Estimates of a survey")
async def estimates(survey: SurveyId, caller: Holder) -> list[FigureOut]:
    """Shares, means and quantiles so far, each with its interval."""
    found = await caller.work(lambda: caller.desk.surveys.estimates(caller.who, survey).figures)
    return [FigureOut.of(one) for one in found]


@router.post("/{survey}/release", status_code=201, responses=WRITES, summary="Release the figures of a survey")
async def release(survey: SurveyId, caller: Manager) -> SurveyRelease:
    """As they are now. Only stewards have the release until it is shared."""
    return SurveyRelease(release=await caller.work(lambda: caller.desk.surveys.release(caller.who, survey)))
