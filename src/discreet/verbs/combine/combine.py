"""Combine: several holders compute together and share only the result (secure multiparty computation)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.core.exact import Number
from discreet.core.statement import Statement
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.core.release import Release
    from discreet.verbs.combine.session import Charge

SIMULATED = (
    "This was a simulation: one process held every party's data and saw every message, so nothing was kept secret "
    "between parties."
)
NOISE_NOT_CHARGED = "The result has noise in it, and no privacy loss is promised: no ledger was charged for it."


def combine(
    source: Mapping[str, Any] | str | Path,
    data: Any = None,
    *,
    protocol: str = "masks",
    function: str = "sum",
    bounds: tuple[Number, Number] | str | None = None,
    decimals: int = 0,
    threshold: int = 0,
    adder: str = "",
    epsilon: Number | None = None,
    delta: Number = 0,
    honest: int = 0,
    unit: str = "person",
    drops: Mapping[str, str] | None = None,
    seed: int | None = None,
    name: str | None = None,
    keys: str | Path | None = None,
    unit_column: str | None = None,
    charge: Charge | None = None,
    progress: Callable[[str], None] | None = None,
) -> Release[Any]:
    """Compute a function of several holders' data: take part in a session, or simulate all parties in this process.

    With a manifest, ``combine("pay.toml", 31_000, name="north")``, this process is one party, and ``data`` is what it
    brings: a number, a list of numbers, columns by name, a data frame, a table of ``dc.read``, or the path of a file.
    The manifest says what is computed. ``name`` is the party, by default the one whose key lies in ``keys`` (by
    default beside the manifest). If there is noise inside, ``unit_column`` says whose each row of a file is (``-`` if
    each row is another person's), and ``charge``, a ``LedgerCharge``, charges the loss before the first message.
    Called again after a crash, it resumes; ``Aborted`` says who was missing or broke the rules, and what was charged.

    With all parties' data, ``combine({"north": 3, "south": 4})``, every party runs in this process, for teaching and
    tests: the statement says so, and promises nothing. ``protocol``, ``function`` and the others are the session's
    terms, ``drops`` and ``seed`` those of ``simulate``.

    ``release.payload`` is the result, ``release.holder`` the transcript of what this process saw: of one party, or of
    all (``release.holder.details`` is then the ``Simulation``).
    """
    terms: dict[str, Any] = {"function": function, "bounds": bounds, "decimals": decimals, "threshold": threshold}
    terms |= {"adder": adder, "epsilon": epsilon, "delta": delta, "honest": honest, "unit": unit}
    terms |= {"drops": drops, "seed": seed}
    of_a_party = {"data": data, "name": name, "keys": keys, "unit_column": unit_column, "charge": charge}
    if isinstance(source, str | Path):
        defaults = signature(combine).parameters
        given = {"protocol": protocol, **terms}
        if wrong := [option for option, value in given.items() if value != defaults[option].default]:
            raise BadInput(
                f"{', '.join(wrong)}: the manifest says what is computed.", hint="Leave it out, or make a new manifest."
            )
        from discreet.verbs.combine.participation import take_part

        return take_part(source, data, name=name, keys=keys, unit_column=unit_column, charge=charge, progress=progress)
    if wrong := [option for option, value in of_a_party.items() if value is not None]:
        raise BadInput(
            f"{', '.join(wrong)}: for one party of a session between hosts, and these are all parties.",
            hint='Give the manifest, such as dc.combine("pay.toml", 31_000), or leave it out.',
        )
    from discreet.verbs.combine.release import release_session, transcript_copy
    from discreet.verbs.combine.simulation import simulate

    simulation = simulate(protocol, source, **terms)
    noise = (NOISE_NOT_CHARGED,) if epsilon is not None else ()
    caveats = (SIMULATED, *noise, *simulation.notes, *simulation.result.revealed)
    return release_session(
        simulation.terms,
        simulation.result,
        Statement(unit, caveats=caveats),
        transcript_copy(simulation.messages, simulation.show, simulation),
        title=simulation.title,
        seed=seed,
    )
