"""People, their tokens, and what everyone did."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from fastapi import APIRouter, Depends, Path, Query
from pydantic import StringConstraints

from discreet.curator.people.person import Role, Scope
from discreet.errors import BadInput
from discreet.service.api.caller import Caller, EarlyRoute, Manager, Needs, Overseer, Reader, require_session
from discreet.service.api.failures import READS, WRITES
from discreet.service.api.records import AuditOut, BudgetOut, PersonOut, TokenOut, TokenText, Welcomed
from discreet.service.api.schemas import ChangedPerson, NewBudget, NewPerson, NewToken, PersonName

router = APIRouter(route_class=EarlyRoute, prefix="/v1", tags=["people"])
Name: TypeAlias = Annotated[PersonName, Path()]
TokenId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8,64}$"), Path()]


@router.get("/people", responses=READS, summary="People who may sign in")
def people(caller: Overseer) -> list[PersonOut]:
    """For stewards and auditors."""
    return [PersonOut.of(one) for one in caller.desk.access.persons(caller.who)]


@router.post("/people", status_code=201, responses=WRITES, summary="Add a person")
def add(given: NewPerson, caller: Annotated[Caller, Depends(Needs(roles=(Role.STEWARD,), token=False))]) -> Welcomed:
    """The reply has their one-time password: it is shown once, valid for seven days, and changed at the first sign-in.

    With a session: a token lets no one in.
    """
    budget = None if given.budget is None else given.budget.budget()
    password = caller.desk.access.add_person(
        caller.who, given.name, Role(given.role), budget=budget, tables=given.tables
    )
    return Welcomed(person=_named(given.name, caller), password=password)


@router.put("/people/{name}", responses=WRITES, summary="Disable or enable an account, or reset its password")
def change(name: Name, given: ChangedPerson, caller: Manager) -> Welcomed:
    """What they spent stays spent. A new one-time password is shown once, and never to a token."""
    if given.reset:
        require_session(caller)
    if given.disabled is None and not given.reset:
        raise BadInput("The request changes nothing.", hint="Send disabled, or reset.")
    if given.disabled is not None:
        caller.desk.access.disable(caller.who, name, given.disabled)
    password = caller.desk.access.reset_password(caller.who, name) if given.reset else None
    return Welcomed(person=_named(name, caller), password=password)


@router.put("/people/{name}/budgets", responses=WRITES, summary="Give an analyst a budget")
def give_budget(name: Name, given: NewBudget, caller: Manager) -> list[BudgetOut]:
    """A budget on each table that is given; the reply lists all they have. To change one: PUT /v1/budgets.

    The table's own budget counts too: no one can spend more than the smaller of the two.
    """
    caller.desk.access.give_budget(caller.who, name, given.budget.budget(), given.tables)
    return [BudgetOut.of(view) for view in caller.desk.budgets.accounts(caller.who) if view.analyst == name]


@router.get("/tokens", responses=READS, summary="Tokens")
def tokens(caller: Reader) -> list[TokenOut]:
    """Your own; stewards and auditors see everyone's. Their texts are not stored."""
    return [TokenOut.of(token) for token in caller.desk.access.tokens(caller.who)]


@router.post("/tokens", status_code=201, responses=WRITES, summary="A new token")
def new_token(given: NewToken, caller: Annotated[Caller, Depends(Needs(token=False))]) -> TokenText:
    """For programs, with your rights within its scopes. Its text is shown once.

    With a session: a token makes no token.
    """
    scopes = [Scope(one) for one in given.scopes]
    return TokenText.of(caller.desk.access.new_token(caller.who, given.label, given.days, scopes))


@router.delete("/tokens/{token}", status_code=204, responses=WRITES, summary="End a token")
def revoke(token: TokenId, caller: Annotated[Caller, Depends(Needs(Scope.MANAGE))]) -> None:
    """Your own or, as a steward, anyone's."""
    caller.desk.access.revoke(caller.who, token)


@router.get("/audit", responses=READS, summary="The audit log")
def audit(
    caller: Overseer,
    after: Annotated[int, Query(ge=0, le=10**15, description="Entries after this one, in the requested order.")] = 0,
    most: Annotated[int, Query(ge=1, le=1000)] = 200,
    newest_first: Annotated[bool, Query()] = True,
    by: Annotated[str | None, Query(max_length=60, description="Only this person.")] = None,
) -> list[AuditOut]:
    """For stewards and auditors."""
    lines = caller.desk.access.audit(caller.who, after=after, most=most, newest_first=newest_first, by=by)
    return [AuditOut.of(line) for line in lines]


def _named(name: str, caller: Caller) -> PersonOut:
    return PersonOut.of(caller.desk.people.find(name))
