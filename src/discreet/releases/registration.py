"""Registration: a release is weighed together with all earlier ones, and written down before it leaves."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet.core.card import Card, Role, plain
from discreet.core.document import loads
from discreet.core.kind import Kind
from discreet.core.loss import Loss
from discreet.core.statement import Statement
from discreet.core.table import Table
from discreet.core.text import number
from discreet.errors import BadInput, DiscreetError, Exposed, Taken, Unsound
from discreet.releases.exposure import Checked, Exposure, check
from discreet.releases.facts import Facts, Lossy, Opaque
from discreet.releases.linking import Known
from discreet.releases.method import Made, Method
from discreet.releases.records import Answered
from discreet.releases.register import (
    RECIPIENT,
    REGISTER,
    Entry,
    Register,
    entry_of,
    same_people,
    with_registers_beside,
)

_TRIES = 5
_GIVE_A_REASON = "give a reason (--despite, table.despite, or “Override exposure” in the console)"
_final: ContextVar[Path | None] = ContextVar("final", default=None)
_rehearsed: ContextVar[list[Weighed] | None] = ContextVar("rehearsed", default=None)


@contextmanager
def released_to(folder: Path) -> Iterator[None]:
    """Register what is released meanwhile under ``folder``, to which it will be moved."""
    token = _final.set(folder)
    try:
        yield
    finally:
        _final.reset(token)


@contextmanager
def rehearsal() -> Iterator[list[Weighed]]:
    """Weigh what is made meanwhile, and register nothing: it must go no further. Gives what was weighed."""
    found: list[Weighed] = []
    token = _rehearsed.set(found)
    try:
        yield found
    finally:
        _rehearsed.reset(token)


def attempts() -> Iterator[int]:
    """Attempts to register while others register releases of the same people; ``Taken`` after the last."""
    yield from range(_TRIES)
    raise Taken("Other processes keep registering releases of the same people.", hint="Try again.")


@dataclass(frozen=True)
class Weighed:
    """What a release tells, and what became of it in each register of its table."""

    table: Table
    facts: Facts | tuple[Answered, ...]
    title: str
    checks: tuple[tuple[str, int, Checked, tuple[Entry, ...]], ...]
    """For each register its place, the last line that was looked at, the verdict and the earlier releases."""
    judged: bool = True
    """Whether it was judged what it tells together with earlier ones."""
    attack: str = ""
    """What came of attacking it together with those it was not checked with; for the data steward alone."""

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the statement says of earlier releases."""
        said = []
        for _, _, checked, earlier in self.checks:
            exposure = checked.exposure
            if left := _unchecked(checked, earlier):
                others = number(len(left), "earlier release")
                said.append(f"Not checked together with {others} of the same people: {self._why_not(left)}.")
            releases = [one for one in earlier if one.number in exposure.checked and RECIPIENT not in one.told]
            if releases and exposure.safe:
                group = self.table.policy.smallest_group
                others = number(len(releases), "earlier release")
                said.append(
                    f"Checked together with {others} of the same people: together they reveal no count of a "
                    f"group of fewer than {group} people that a single one does not."
                )
            if not exposure.safe:
                left = [one for one in earlier if RECIPIENT not in one.told]
                problem = _problem(self.table, exposure, left, self.title)
                said.append(f"Released although {problem[0].lower()}{problem[1:]} Reason given: {self._reason}.")
        return tuple(dict.fromkeys(said))

    @property
    def _reason(self) -> str:
        """Why this leaves although something speaks against it."""
        return self.table.policy.despite.rstrip(".") or "the policy allows undecided cases"

    def _why_not(self, left: Sequence[Entry]) -> str:
        """Why this was not checked together with some earlier releases."""
        if isinstance(self.facts, Opaque):
            return self.facts.why
        if isinstance(self.facts, Lossy):
            return "its privacy loss adds up with other losses"
        if not any(one.tells for one in self.facts):
            return "it reveals no person's value"
        opaque = sum(one.facts == "opaque" for one in left)
        states = len(left) - opaque
        said = [f"{opaque:,} whose facts are not figures"] if opaque else []
        said += [f"{states:,} of another state of the table, other rows, or other roles"] if states else []
        return " and ".join(said)

    @property
    def left_out(self) -> list[Entry]:
        """Earlier releases that this one was not checked with, those with a privacy loss included."""
        return [
            one for *_, found, earlier in self.checks for one in earlier if one.number not in found.exposure.checked
        ]

    @property
    def unchecked(self) -> list[Entry]:
        """Earlier releases that this one was to be checked with, and was not."""
        if isinstance(self.facts, Lossy):
            return []
        return [one for *_, found, earlier in self.checks for one in _unchecked(found, earlier)]

    @property
    def notices(self) -> tuple[str, ...]:
        """For the data steward alone: tables that recipients hold, with which this was to be checked, and was not."""
        if isinstance(self.facts, Lossy) or (
            not isinstance(self.facts, Opaque) and not any(x.tells for x in self.facts)
        ):
            return ()
        held = [one for one in self.left_out if RECIPIENT in one.told]
        return (
            (f"Not checked together with {_listed(list(map(quoted, held)))}: {self._why_not(held)}.",) if held else ()
        )

    def register(
        self, folder: Path | None, method: str, rows: int, *, lines: Sequence[Entry] = (), **more: object
    ) -> list[Entry]:
        """Write the release down in every register, weighed again if others came in between; ``more`` is said of it.

        ``lines`` are those of the same release of other tables. ``Taken`` if it was not checked together with one that
        came in between: its statement does not say so.
        """
        if (rehearsed := _rehearsed.get()) is not None:
            rehearsed.append(self)
            return []
        at = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")  # one moment, in however many registers
        entry = entry_of(self.table, _final.get() or folder, method, rows, at=at, title=self.title, told=more)
        added = [self._add(entry, weighed, lines) for weighed in self.checks]
        if self.judged and with_registers_beside(self.table).registers != self.table.registers:
            raise Taken(
                "Another card of the same rows got its first register meanwhile, and this was not checked with that.",
                hint="Try again.",
            )  # who registers looks for others afterwards: of two at the same moment, one sees the other
        return added

    def _add(self, entry: Entry, weighed: tuple[str, int, Checked, tuple[Entry, ...]], lines: Sequence[Entry]) -> Entry:
        before = weighed[3]
        for _ in attempts():
            place, after, checked, _ = weighed
            kind, told = _described(self.facts, checked)
            sensitive = [one.name for one in self.table.card.having(Role.SENSITIVE)]
            told |= {
                **entry.told,
                **({"attack": self.attack} if self.attack else {}),
                "unit": self.table.card.unit,
                "checked": list(checked.exposure.checked),
                "sensitive": sensitive,
                "where": [one.sql() for one in self.table.chosen],
                "roles": {one.name: one.role.value for one in self.table.card.columns},
            }
            note = "" if checked.exposure.safe else self._reason
            try:
                with Register(place) as register:
                    added = register.add(
                        replace(entry, facts=kind, told=told, note=note), checked.told, checked.people, after=after
                    )
                break
            except Taken:
                again = weigh(replace(self.table, registers=(place,)), self.facts, self.title, judge=self.judged)
                (weighed,) = again.checks
                if self.judged and any(one not in (*before, *lines) for one in again.unchecked):
                    raise
        return added


def _unchecked(checked: Checked, earlier: Sequence[Entry]) -> list[Entry]:
    """Earlier releases that one was to be checked with, and was not."""
    others = (one for one in earlier if one.facts != "loss" and RECIPIENT not in one.told)
    return [one for one in others if one.number not in checked.exposure.checked]


def _described(facts: Facts | tuple[Answered, ...], checked: Checked) -> tuple[str, dict[str, Any]]:
    if isinstance(facts, Lossy):
        return "loss", {"loss": facts.loss.to_dict()}
    if isinstance(facts, Opaque):
        return "opaque", {"why": facts.why, "tells": list(facts.tells)}
    if checked.told is None:
        return "opaque", {"why": "; ".join(checked.exposure.undecided) or "it reveals no person's value"}
    return "figures", {"tells": sorted({name for one in facts for name in one.tells})}


def facts_of(method: Method[Any], made: Made[Any], table: Table, loss: Loss | None) -> Facts:
    """What a release tells; only looked at where there is a register to keep it in."""
    if loss is not None:
        return Lossy(loss)
    if not table.registers:
        return Opaque("there is no register")
    return method.facts(made, table)


def weigh(
    table: Table,
    facts: Facts | tuple[Answered, ...],
    title: str,
    remedies: Callable[[Sequence[Entry]], Sequence[str]] = lambda clashing: (),
    *,
    judge: bool = True,
) -> Weighed:
    """Check a release together with all earlier ones; ``Exposed`` if they give too much away.

    ``remedies`` says, for the earlier releases that it clashes with, what would pass. Without ``judge`` it is only
    linked with them: something else decides whether it may leave.
    """
    _require_known_values(table)
    checks = []
    for place in table.registers:
        known, mine, earlier = known_at(table, place)
        checked = check(facts, title, table.card, known, table.policy, judge=judge)
        alike = {one.number for one in mine if _same_roles(table, one)}
        lines = tuple(line for line in checked.exposure.checked if line in alike)
        checked = replace(checked, exposure=replace(checked.exposure, checked=lines))
        checks.append((place, earlier[-1].number if earlier else 0, checked, tuple(earlier)))
        exposure = checked.exposure
        refused = exposure.findings or (exposure.undecided and table.policy.undecided == "refuse")
        if refused and not table.policy.despite:
            lines = tuple({line for finding in exposure.findings for line in finding.releases})
            tried = remedies([one for one in mine if one.number in lines]) if lines else ()
            raise Exposed(_problem(table, exposure, earlier, title), hint=_hint(exposure, tried))
    return Weighed(table, facts, title, tuple(checks), judged=judge)


def known_at(table: Table, place: str) -> tuple[Known, list[Entry], list[Entry]]:
    """What a register knows of a table's people, the lines of their population, and all that are of the same people.

    Lines of tables that someone holds are none of the releases.
    """
    with Register(place) as register:
        return known_lines(register, table.card, entry_of(table, None, "", 0))


def known_lines(register: Register, card: Card, release: Entry) -> tuple[Known, list[Entry], list[Entry]]:
    """As ``known_at``, of the people of a release, in a register that is open."""
    for _ in attempts():
        people = register.people(card.people)
        entries = [one for one in register.entries() if same_people(release, one)]
        mine = [one for one in entries if one.population == card.people]
        newest = max((one.number for one in mine if one.facts == "figures"), default=0)
        if newest == (0 if people is None else people[0]):  # else another was registered while this was read
            break
    _require_same_unit(card, mine)
    figures = [(one, register.facts(one.number)) for one in mine if one.facts == "figures"]
    known = Known(
        [(one.number, quoted(one), data) for one, data in figures if data is not None],
        people[1] if people is not None else None,
        any(one.source == release.source for one, _ in figures),
        {name for one in mine for name in one.told.get("sensitive", ())},
        {one.number: str(one.told[RECIPIENT]) for one in mine if RECIPIENT in one.told},
    )
    return known, mine, entries


def _require_known_values(table: Table) -> None:
    """An error if the policy counts a value that no one can have: then none would be counted."""
    for name, values in table.policy.values.items():
        column = next((one for one in table.card.columns if one.name == name), None)
        known = None if column is None else (False, True) if column.kind is Kind.BOOLEAN else column.categories
        strange = [] if known is None else [str(one) for one in values if plain(one) not in set(map(plain, known))]
        if strange:
            raise BadInput(
                f"The exposure policy names {', '.join(strange)} of {name}, which is not one of its categories.",
                hint="Write values as the card does.",
            )


def _require_same_unit(card: Card, earlier: Sequence[Entry]) -> None:
    for one in earlier:
        unit = one.told.get("unit", card.unit)
        if one.facts == "figures" and unit != card.unit:
            raise BadInput(
                f"The unit of {card.people} was {unit or 'the row'} when entry {one.number} of the register "
                f"was written, and is {card.unit or 'the row'} now: people cannot be matched.",
                hint="Declare the unit as it was, or a different population on the card.",
            )


def _same_roles(table: Table, earlier: Entry) -> bool:
    """Whether what everyone knows, and what no one shall learn, is what it was for an earlier release."""
    roles = {name: Role(role) for name, role in earlier.told.get("roles", {}).items() if name in table.card}
    return all(
        role is table.card[name].role
        or not ({role, table.card[name].role} & {Role.QUASI, Role.IDENTIFIER} or role is Role.SENSITIVE)
        for name, role in roles.items()
    )


def _problem(table: Table, exposure: Exposure, earlier: Sequence[Entry], title: str) -> str:
    """What speaks against a release, in words that tell nothing of anyone."""
    said = []
    named = {one.number: quoted(one) for one in earlier}
    for finding in exposure.findings:
        others = [named[line] for line in finding.releases if line in named]
        others = others or (["what a recipient knows"] if finding.releases else [])
        company = f", together with {_listed(others)}," if others else " by itself"
        group = number(finding.people, "person", "people")
        said.append(f"“{title}”{company} reveals {finding.column} of a group of {group}")
    if not said:
        why = "; ".join(exposure.undecided)
        return f"It could not be decided what “{title}” reveals together with earlier releases: {why}."
    joined = "; ".join(said)
    exposed = number(exposure.exposed, "person", "people")
    rule = f"groups of fewer than {table.policy.smallest_group} people must stay unknown"
    return f"{joined}; {rule}. This exposes {exposed}."


def _hint(exposure: Exposure, tried: Sequence[str]) -> str:
    passing = f"This would pass: {' or '.join(tried)}. " if tried else ""
    if exposure.findings and not any(finding.releases for finding in exposure.findings):
        remedy = (
            "Its own figures reveal too much about each other. Start a dimension at a coarser level (region@1), or try "
            'another method (--method "suppress how=modular", or adjust).'
        )
    else:
        remedy = "Release it for the same rows as the earlier one, with coarser groups, or ask with noise instead."
    return f"{passing}{remedy} To release it anyway, {_GIVE_A_REASON}."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def quoted(entry: Entry) -> str:
    """A release as messages name it."""
    return f"“{entry.title or entry.method}” of {entry.at[:10]} (release {entry.number})"


NO_REGISTER = (
    "Not checked together with other releases of the same people: they have no register. Read the table with "
    "its card file."
)


def require_register(table: Table, earlier: Sequence[Entry]) -> tuple[str, ...]:
    """An error if registered releases lie there and no register knows of any: then it was lost, and not a first one is
    made. With a reason, what the statement says of that."""
    lying = [one for one in earlier if not one.number and _was_registered(Path(one.release))]
    if not table.registers or not lying or any(one.number for one in earlier):
        return ()
    names = ", ".join(Path(one.release).name for one in lying)
    problem = f"{names} had been registered for {table.card.people}, but the register is empty: it was lost or removed."
    if not table.policy.despite:
        raise Unsound(
            problem,
            hint="If the card was copied or renamed, use it under its old name: the register is in its folder. "
            f"{REGISTER.remedy} To start a new one, {_GIVE_A_REASON}.",
        )
    return (f"Not checked together with {names}: {problem} The reason to go on: {table.policy.despite.rstrip('.')}.",)


def _was_registered(folder: Path) -> bool:
    """Whether a release that lies there was registered when it was made, and counts as a fact and not by its loss."""
    with suppress(DiscreetError, OSError, UnicodeDecodeError):
        said = Statement.from_dict(loads((folder / "statement.json").read_text(encoding="utf-8")))
        return said.loss is None and NO_REGISTER not in said.caveats
    return False
