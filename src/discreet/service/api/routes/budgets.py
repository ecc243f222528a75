"""Budgets, and the ledger of what was spent."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from fastapi import APIRouter, Path, Query
from pydantic import StringConstraints

from discreet.service.api.caller import EarlyRoute, Manager, Overseer, Reader
from discreet.service.api.failures import READS, WRITES, answers
from discreet.service.api.records import BudgetOut, Entry, Verdict
from discreet.service.api.schemas import NewLimit

router = APIRouter(route_class=EarlyRoute, prefix="/v1", tags=["budgets"])
_ACCOUNT = r"^[A-Za-z_][A-Za-z0-9_]{0,39}(/[^/\x00-\x1f\x7f]{1,60})?$"
Account: TypeAlias = Annotated[str, StringConstraints(pattern=_ACCOUNT)]


@router.get("/budgets", responses=READS, summary="Budgets")
def budgets(caller: Reader) -> list[BudgetOut]:
    """All accounts; analysts see their own, and those of their tables."""
    return [BudgetOut.of(view) for view in caller.desk.budgets.accounts(caller.who)]


@router.put("/budgets/{account:path}", responses=WRITES, summary="Set an account's limit")
def set_limit(
    account: Annotated[Account, Path(examples=["visits/ann"])], given: NewLimit, caller: Manager
) -> BudgetOut:
    """What was spent stays spent. The reason goes to the ledger."""
    return BudgetOut.of(caller.desk.budgets.set_limit(caller.who, account, given.budget.budget(), why=given.why))


@router.get("/ledger", responses=READS | answers(404), summary="The last ledger entries")
def ledger(
    caller: Reader,
    account: Annotated[Account | None, Query(description="Only this account.")] = None,
    most: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> list[Entry]:
    """Newest first; analysts see those of their own accounts."""
    return [Entry.of(line) for line in caller.desk.budgets.lines(caller.who, account=account, most=most)]


@router.post("/ledger/verify", responses=READS, summary="Check the ledger")
def verify(caller: Overseer) -> Verdict:
    """Check ledger and audit log line by line, and compare them with every answer that was given."""
    return Verdict.of(caller.desk.budgets.verify(caller.who))
