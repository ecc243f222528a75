"""What the OpenAPI document says holds: schemathesis makes up requests, and no answer is undocumented or a fault."""

from __future__ import annotations

from dataclasses import replace

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import integers
from schemathesis import GenerationMode
from schemathesis.checks import (
    allow_header_conformance,
    content_type_conformance,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.python.asgi import HOST
from tests.service.serving import MANY

from discreet.core.loss import Pure
from discreet.service.api.logs import Log
from discreet.service.app import make_app
from discreet.service.jobs.specs import Publish
from discreet.service.views import Spend

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    allow_header_conformance,
]


QUESTIONS = [
    "SELECT sex, count(*) AS n FROM patients GROUP BY sex",
    "SELECT zip, count(*) AS n FROM patients GROUP BY zip",
]


@pytest.fixture(scope="module")
def known(clinic):
    """What there is: fields of paths and bodies that made-up requests would never hit."""
    desk, steward = clinic.desk, clinic.steward
    desk.access.give_budget(steward, "steward", Pure(2))
    [answer] = desk.ask(steward, QUESTIONS[:1], Spend("0.01"))
    job = desk.submit(steward, Publish("patients", ("k=2",)))
    desk.cancel(steward, job.id)  # whoever follows one that waits would wait, too
    names = {"/v1/tables/{name}": "patients", "/v1/people/{name}": "ann", "/v1/people/{name}/budgets": "ann"}
    token = desk.access.new_token(steward, "to be ended", 1).id
    return {"release": answer.identity, "job": job.id, "account": "patients/ann", "token": token}, names


@pytest.fixture(scope="module")
def operations(clinic, tmp_path_factory):
    with (tmp_path_factory.mktemp("schema") / "log").open("w") as log:
        app = make_app(clinic.desk, replace(MANY, names=(HOST,)), log=Log(log), console=False)
        document = schemathesis.openapi.from_asgi("/v1/openapi.json", app)
        yield [found.ok() for found in document.get_all_operations()]


def conform(operations, clinic, known, examples):
    """Try every operation with so many requests that are right, and as many wrong ones; most about what there is."""
    headers = {"Authorization": f"Bearer {clinic.tokens['steward']}"}
    for operation in operations:
        tries(operation.as_strategy(), headers, known, examples)
        if operation.body or list(operation.iter_parameters()):
            tries(operation.as_strategy(generation_mode=GenerationMode.NEGATIVE), headers, known, examples)


def tries(cases, headers, known, examples):
    @settings(
        max_examples=examples, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(case=cases, turn=integers(0, 3))
    def tried(case, turn):
        if turn:
            make_real(case, turn, *known)
        case.call_and_validate(headers=headers, checks=CHECKS)

    tried()


def make_real(case, turn, fields, names):
    """Have a request be about what there is, as far as it is about something."""
    if case.path_parameters:
        there = fields | {"name": names[case.path]} if case.path in names else fields
        case.path_parameters = {name: there.get(name, made) for name, made in case.path_parameters.items()}
    if isinstance(case.body, dict):
        there = {"questions": QUESTIONS[: 1 + turn % 2], "question": QUESTIONS[turn % 2], "table": "visits"}
        there |= {"release": fields["release"]}
        case.body = {name: there.get(name, made) for name, made in case.body.items()}


def test_no_answer_is_undocumented(operations, clinic, known):
    conform(operations, clinic, known, 4)


@pytest.mark.slow
def test_no_answer_is_undocumented_in_the_long_run(operations, clinic, known):
    conform(operations, clinic, known, 60)
