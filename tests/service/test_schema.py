"""What the OpenAPI document says holds: schemathesis makes up requests, and no answer is undocumented or a fault."""

from __future__ import annotations

from dataclasses import replace

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
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

from discreet.service.api.logs import Log
from discreet.service.app import make_app

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    allow_header_conformance,
]


@pytest.fixture(scope="module")
def operations(clinic, tmp_path_factory):
    with (tmp_path_factory.mktemp("schema") / "log").open("w") as log:
        app = make_app(clinic.desk, replace(MANY, names=(HOST,)), log=Log(log), console=False)
        document = schemathesis.openapi.from_asgi("/v1/openapi.json", app)
        yield [found.ok() for found in document.get_all_operations()]


def conform(operations, clinic, examples):
    """Try every operation with so many requests that are right, and as many that are wrong."""
    headers = {"Authorization": f"Bearer {clinic.tokens['steward']}"}
    patient = settings(
        max_examples=examples, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    for operation in operations:
        for mode in GenerationMode:

            @patient
            @given(case=operation.as_strategy(generation_mode=mode))
            def tried(case):
                case.call_and_validate(headers=headers, checks=CHECKS)

            if mode is GenerationMode.POSITIVE or operation.body or list(operation.iter_parameters()):
                tried()


def test_no_answer_is_undocumented(operations, clinic):
    conform(operations, clinic, 3)


@pytest.mark.slow
def test_no_answer_is_undocumented_in_the_long_run(operations, clinic):
    conform(operations, clinic, 100)
