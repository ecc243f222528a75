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


def test_what_came_of_it_is_told_in_words():
    asked = AuditLine(3, AT, "ann", "ask for publish", {"job": "j"}, True, "")
    ended = AuditLine(4, AT, "ann", "publish", {"job": "j", "ended": "failed"}, False, "")
    assert [audit.outcome(line) for line in (*LINES, asked, ended)] == ["done", "refused", "asked for", "failed"]
    assert [audit.about(line) for line in (LINES[1], ended)] == ["error: the budget does not cover it", "job: j"]
    fault = AuditLine(5, AT, "ann", "ask", {"error": "LoginFailed"}, False, "")
    assert audit.about(fault) == "error: login failed"


def test_an_auditor_reads_the_log_and_verifies_the_books(console):
    async def act(user):
        await user.open("/audit")
        assert "sign in" in text(user)
        press(user, "audit-verify")
        await until(lambda: "of the audit log, all valid" in text(user))
        with user:
            seen(user, "audit-text")[0].set_value("verify")
        await until(lambda: "sign in" not in text(user))
        with user:
            seen(user, "audit-text")[0].set_value("nothing of this kind")
        await until(lambda: "No line matches" in text(user))

    console.visit("auditor", act)


def test_analysts_do_not_read_it(console):
    async def act(user):
        await user.open("/audit")
        assert "may not open this page" in text(user)

    console.visit("ann", act)
