"""The verb publish: recode or mask a table, check the models on what was written, and release it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.core.families import MASKING, PEOPLE, RECODERS
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.core.text import meant
from discreet.errors import BadInput
from discreet.models.model import Model, parse_all
from discreet.releases.method import Method, Progress, silent
from discreet.releases.pipeline import release, require_places
from discreet.verbs.publish.earlier_releases import Earlier
from discreet.verbs.publish.generalize import Generalize
from discreet.verbs.publish.mask.masker import Masker
from discreet.verbs.publish.mask.method import Masking
from discreet.verbs.publish.people import (
    DrawnRows,
    OneRow,
    People,
    RecodePeople,
    joint_card,
    prepare_other,
    require_people_option,
)
from discreet.verbs.publish.recode import Recode
from discreet.verbs.publish.recoding import Recoder, prepare, require_table

if TYPE_CHECKING:
    from discreet.core.card import Card


def publish(
    table: Table,
    method: str | Recoder | Masker | Model | Sequence[Model] = "generalize",
    require: str | Model | Sequence[str | Model] = (),
    *,
    people: str | People | None = None,
    earlier: Sequence[Earlier] = (),
    seed: int | None = None,
    to: str | Path | None = None,
    csv: bool = False,
    holder: str | Path | None = None,
    progress: Progress = silent,
) -> Release[Any]:
    """Make a release of ``table`` for which every privacy model in ``require`` holds, recoded or masked by ``method``.

    Methods and models are objects, or texts as on the command line: ``publish(table, "local", ["k=5", "l=3 on
    disease"])``, ``publish(table, "rank-swap p=5 on age")``. Models alone are reached by generalisation:
    ``publish(table, "k=5")``.

    ``people`` says what leaves of people with several rows: ``"one-row"`` of each, drawn at random, or all of them,
    ``"unlinked"`` or ``"linked"`` by a fresh pseudonym; then whole people share their rows (``Generalize`` only). With
    ``Linked(other=patients)`` a second table of the same people leaves with it.

    ``earlier`` are earlier releases of the same table: the models must hold for what all of them show together, or it
    is refused. With ``to``, a new folder, the release is written there (``csv``: also as CSV) and its rows are never
    held in memory. Identifiers and the unit stay behind; the order of rows tells nothing.

    ``holder`` is a new file for the holder's copy, which must never leave: where each class gets labels of its own,
    what became of whom, for ``earlier=[(release, file)]``; of a masked release, which released row is whose. A masked
    release needs no model. With a ``seed`` the masking can be repeated, by anyone.
    """
    require_table(table, "publish")
    treatment = PEOPLE.parse(people, table.card) if isinstance(people, str) else people
    chosen, models = _method_and_models(joint_card(table.card, treatment), method, require)
    require_places(to, csv=csv, holder=holder)
    require_usable(chosen, earlier=earlier, seed=seed, holder=holder, people=treatment)
    named = _named_columns(chosen, models)
    table, treatment = prepare(table, named, quasi=not isinstance(chosen, Masker)), prepare_other(treatment, named)
    maker: Method[Any]
    if isinstance(chosen, Masker):
        maker = Masking(chosen, models, seed)
    elif treatment is None or isinstance(treatment, OneRow):
        maker = Recode(chosen, models, earlier)
    else:
        maker = RecodePeople(chosen, models, people=treatment)
    if isinstance(treatment, OneRow):
        maker = DrawnRows(maker)
    return release(maker, table, to=to, csv=csv, holder=holder, progress=progress)


def require_usable(
    method: Recoder | Masker,
    *,
    earlier: Sequence[Earlier],
    seed: int | None,
    holder: str | Path | None,
    people: People | None = None,
) -> None:
    """An error before any work is done, if an option does not apply to the method."""
    if people is not None:
        require_people_option(people, method, earlier)
        if seed is not None:
            raise BadInput(
                "Rows of people are drawn from secure randomness, which no seed repeats.", hint="Leave the seed out."
            )
    if earlier and isinstance(method, Masker):
        raise BadInput("Masked releases cannot be checked together with others.", hint="Attack them jointly.")
    if seed is not None and not isinstance(method, Masker):
        raise BadInput("A seed is for masking only: nothing here is random.", hint="Leave it out.")
    if holder is not None and people is None and not isinstance(method, Masker) and not method.own_labels:
        raise BadInput(
            f"{type(method).__name__} has no holder's copy: the release itself contains everything.",
            hint="Leave holder out; earlier takes the release alone.",
        )


def _method_and_models(
    card: Card,
    method: str | Recoder | Masker | Model | Sequence[Model],
    require: str | Model | Sequence[str | Model],
) -> tuple[Recoder | Masker, tuple[Model, ...]]:
    """The method and the models; where models stand in the method's place, they are reached by generalisation."""
    if isinstance(method, Model | list | tuple) or (isinstance(method, str) and "=" in method.split(" ")[0]):
        require, method = [*_as_list(method), *_as_list(require)], Generalize()
    models = tuple(one if isinstance(one, Model) else parse_all([one], card)[0] for one in _as_list(require))
    if isinstance(method, str):
        refuse_other_verbs(method)
    chosen: Any = parse_method(method, card) if isinstance(method, str) else method
    if not isinstance(chosen, Masker) and not hasattr(chosen, "recode"):
        raise BadInput(
            f"{type(chosen).__name__} is not a method of publish.",
            hint="dc.synthesize makes synthetic rows, dc.learn a model.",
        )
    if not models and not isinstance(chosen, Masker):
        raise BadInput("No privacy model given.", hint="Add one, for example require=[KAnonymity(5)] or --model k=5.")
    return chosen, models


def refuse_other_verbs(method: str) -> None:
    """An error that says where to go, if a method's text begins with a verb of its own."""
    verb = method.split(" ", maxsplit=1)[0]
    if verb in ("synthesize", "learn"):
        raise BadInput(
            f"{verb} is a separate verb, not a method of publish.",
            hint=f"dc.{verb}(table, method), or discreet {verb} --method METHOD.",
        )


def _as_list(models: Any) -> list[Any]:
    return list(models) if isinstance(models, list | tuple) else [models]


def _named_columns(method: object, models: Sequence[Model]) -> set[str]:
    """The columns that the method and the models name."""
    named = [*getattr(method, "columns", ()), *getattr(method, "given", ()), *(n for m in models for n in m.sensitive)]
    return {name for name in named if isinstance(name, str)}


_FLAGS = {"levels": "level", "weights": "weight", "time_limit": "time-limit"}


def parse_method(
    text: str, card: Card, options: Mapping[str, Any] | None = None, *, dashes: str = ""
) -> Recoder | Masker:
    """The method that ``text`` names, with additional ``options``; ``dashes`` are the prefix of options where
    an error will be read."""
    family = MASKING if MASKING.has(text) else RECODERS
    if not family.has(text):
        known = (*(one.name for one in RECODERS.entries()), *MASKING.names(), "synthesize", "learn")
        near = meant(text.lower().partition(" ")[0], known)
        raise BadInput(f"There is no method {text!r}{near}.", hint=f"Choose from {', '.join(known)}.")
    entry, rest = family.find(text)
    takes = {one.name for one in entry.parameters}
    for name in options or ():
        if name not in takes:
            flag = f"{dashes}{_FLAGS.get(name, name)}"
            raise BadInput(f"{flag} does not apply to {dashes}method {entry.name}.", hint="Leave it out.")
    made: Recoder | Masker = entry.parse(rest, card, options=options)
    return made
