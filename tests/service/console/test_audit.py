"""The Audit page: the log, what of it is shown, and whether the books are sound."""

import datetime as dt

from tests.service.console.conftest import press, seen, text, until

from discreet.curator.people.audit import AuditLine
from discreet.service.console import audit

AT = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
LINES = [
    AuditLine(1, AT, "ann", "ask", {"tables": "visits"}, True, ""),
    AuditLine(2, AT, "bob", "ask", {"error": "BudgetExceeded"}, False, ""),
]


def test_lines_are_found_by_what_is_in_them_and_by_what_came_of_them():
    assert audit.seen(LINES, "", failed=False) == LINES
    assert audit.seen(LINES, " VISITS", failed=False) == LINES[:1]
    assert audit.seen(LINES, "", failed=True) == LINES[1:]
    assert audit.seen(LINES, "visits", failed=True) == []


def test_an_auditor_reads_the_log_and_verifies_the_books(console):
    async def act(user):
        await user.open("/audit")
        assert "sign in" in text(user)
        press(user, "audit-verify")
        await until(lambda: "all sound" in text(user))
        with user:
            seen(user, "audit-text")[0].set_value("verify")
        await until(lambda: "sign in" not in text(user))
        with user:
            seen(user, "audit-text")[0].set_value("nothing of this kind")
        await until(lambda: "no such line" in text(user))

    console.visit("auditor", act)


def test_analysts_do_not_read_it(console):
    async def act(user):
        await user.open("/audit")
        assert "not for you" in text(user)

    console.visit("ann", act)
