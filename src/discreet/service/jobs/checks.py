"""What can be said against a job before it is begun: nothing here looks at a row."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from discreet.core.card import Card, Role
from discreet.core.exact import share_of
from discreet.core.families import HIDING, MASKING, PEOPLE, SYNTHESIZERS, TABLE_METHODS
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.curator.release_index import SYNTHETIC, Shelf
from discreet.curator.workspace import Workspace
from discreet.errors import BadInput, NotFound
from discreet.service.jobs.specs import (
    MOST_SECONDS,
    Attack,
    Combine,
    Compare,
    Hide,
    Learn,
    Prove,
    Publish,
    Spec,
    Synthesize,
    Tabulate,
)

if TYPE_CHECKING:
    from discreet.models.model import Model
    from discreet.verbs.learn.learner import Learn as Learning
    from discreet.verbs.learn.private.learner import PrivateLearner
    from discreet.verbs.prove.programs import LoadedProgram
    from discreet.verbs.publish.mask.masker import Masker
    from discreet.verbs.publish.people import People
    from discreet.verbs.publish.recoding import Recoder
    from discreet.verbs.synthesize.non_private.synthesizer import Synthesizer

PUBLISHED, TABULATED, HIDDEN = "published", "tabulated", "hidden"
_MANY = 10**15
_LONGEST_NAME = 60
"""Characters of a program's name in lists of jobs."""


def table_of(spec: Spec, workspace: Workspace, shelf: Shelf) -> str:
    """The table, session or program that a job is about, once nothing can be said against the job."""
    if isinstance(spec, Attack):
        return _attacked(spec, shelf)
    if isinstance(spec, Combine):
        from discreet.service.sessions import require_playable

        require_playable(workspace, spec.session, spec.brings)
        return spec.session
    if isinstance(spec, Prove):
        if not 1 <= spec.seconds <= MOST_SECONDS:
            raise BadInput(f"The time limit is 1 to {MOST_SECONDS} seconds, not {spec.seconds:,}.")
        return program_of(spec).program.name[:_LONGEST_NAME]
    if spec.table not in workspace.private:
        known = ", ".join(workspace.private)
        raise NotFound(f"There is no table about people called {spec.table!r}; there are {known}.")
    if isinstance(spec, Synthesize):
        from discreet.verbs.synthesize.private import parse_private

        card = workspace.card(spec.table)
        parse_private(spec.method, card).promise(card)
        return spec.table
    if isinstance(spec, Learn) and is_private(spec):
        card = workspace.card(spec.table)
        learner_of(spec, card).promise(card)
        if spec.despite:
            raise BadInput("despite does not apply to a model with a privacy loss.", hint="Leave it out.")
        return spec.table
    workspace.source(spec.table)
    card = workspace.full_card(spec.table)
    if isinstance(spec, Publish):
        people = people_of(spec, workspace)
        if people is not None:
            from discreet.verbs.publish.people import joint_card, require_people_option

            card = joint_card(card, people)
            require_people_option(people, method_of(spec, card), ())
        models_of(spec, card)
        method_of(spec, card)
    elif isinstance(spec, Tabulate):
        _require_tables(spec, card)
    elif isinstance(spec, Hide):
        _require_secrets(spec, card)
    elif isinstance(spec, Learn):
        learning_of(spec, card)
    else:
        _require_maskings(spec, card)
    return spec.table


def is_private(spec: Learn) -> bool:
    """Whether a model is to be learnt for a privacy loss, which is charged; else with integral privacy."""
    from discreet.verbs.learn.learn import names_private

    return names_private(spec.method)


def learner_of(spec: Learn, card: Card) -> PrivateLearner:
    """What is to be learnt for a privacy loss."""
    from discreet.verbs.learn.learn import parse_private

    return parse_private(spec.method, card)


def learning_of(spec: Learn, card: Card) -> Learning:
    """What is to be learnt with integral privacy, and how long to look; one process is left for those who ask."""
    from discreet.verbs.learn.learn import parse_learner

    found = cast("Learning", parse_learner(spec.method, card))
    return replace(found, processes=min(found.processes, max(1, (os.cpu_count() or 1) - 1)))


def program_of(spec: Prove) -> LoadedProgram:
    """The program that is to be proved, parsed and type-checked. Nothing of it is run."""
    from discreet.verbs.prove.programs import load_text

    return load_text(spec.program, python=spec.language == "python")


def item_columns(card: Card) -> list[str]:
    """The columns that items can be made of: those that do not say who someone is."""
    return [one.name for one in card.columns if one.role is not Role.IDENTIFIER and one.name != card.unit]


def models_of(spec: Publish, card: Card) -> list[Model]:
    """The models that must hold. None may name a file: that would be one of this machine's."""
    from discreet.models.model import parse_all

    if not spec.models and not MASKING.has(spec.method) and not _made_up(spec):
        raise BadInput("No privacy model given: add models.", hint='For example "k=5" or "l=3 on disease".')
    for text in spec.models:
        if re.search(r"\sin\s", text, re.IGNORECASE):
            raise BadInput(
                f"{text!r} needs a population, which the service cannot take.",
                hint="Choose a model without a population, or use the command: discreet publish",
            )
    return parse_all(spec.models, card)


def method_of(spec: Publish, card: Card) -> Recoder | Masker | Synthesizer:
    """How to get there."""
    from discreet.verbs.publish.publish import parse_method

    if _made_up(spec):
        return _made_up_by(spec, card)
    quality = "" if spec.quality == Publish.quality else spec.quality
    said = {"suppress": share_of(spec.suppress, "suppress"), "quality": quality}
    return parse_method(spec.method, card, {name: value for name, value in said.items() if value})


def people_of(spec: Publish, workspace: Workspace) -> People | None:
    """What leaves of people with several rows."""

    def other(name: str) -> Table:
        if name not in workspace.private:
            known = ", ".join(workspace.private)
            raise NotFound(f"There is no table about people called {name!r}; there are {known}.")
        return workspace.original(name)

    if not spec.people:
        return None
    if _made_up(spec):
        raise BadInput("people does not apply to synthetic rows.", hint="Leave people out.")
    found: People = PEOPLE.parse(spec.people, workspace.full_card(spec.table), {Table: other})
    return found


def _made_up(spec: Publish) -> bool:
    """Whether rows are to be made up."""
    return spec.method.lower().split()[:1] == ["synthesize"]


def _made_up_by(spec: Publish, card: Card) -> Synthesizer:
    from discreet.verbs.synthesize.non_private.synthesizer import refuse_models

    if not SYNTHESIZERS.has(spec.method):
        raise BadInput(
            f"{spec.method!r} is not a synthesizer without a privacy promise.",
            hint=f"Choose from {', '.join(one.title for one in SYNTHESIZERS.entries())}; for differential "
            "privacy make the table's synthetic stand-in.",
        )
    refuse_models(models_of(spec, card))
    made: Synthesizer = SYNTHESIZERS.parse(spec.method, card)
    return made


def _require_tables(spec: Tabulate, card: Card) -> None:
    from discreet.verbs.tabulate.rules import parse_rules
    from discreet.verbs.tabulate.tabulate import sides_of

    for column in {name for sides in sides_of(spec.by) for name in sides} | ({spec.value} if spec.value else set()):
        card[column.partition("@")[0]]
    parse_rules("; ".join(spec.rules)) if spec.rules else ()
    if TABLE_METHODS.parse(spec.method).needs_sensitivity_rules and not spec.rules:
        raise BadInput("No sensitivity rule given: add rules.", hint='Such as "p=10", "n=1,k=0.7" or "min=3".')


def _require_secrets(spec: Hide, card: Card) -> None:
    from discreet.verbs.hide.secrets import Thresholds, parse_secrets, require_items

    for name in spec.columns:
        if card[name].role is Role.IDENTIFIER or name == card.unit:
            raise BadInput(f"{name!r} is an identifier: its values cannot be items.", hint="Leave it out.")
    if len(set(spec.columns)) < len(spec.columns):
        raise BadInput("A column is named twice.", hint="Name each column once.")
    HIDING.parse(spec.method)
    items = _Items(card, spec.columns)
    parse_secrets(
        items, spec.itemsets, spec.rules, Thresholds.of(items.rows, spec.support, spec.confidence, spec.margin)
    )
    require_items(items, spec.keep)


class _Items:
    """The items that rows can have by their card: which values there are is not looked at."""

    rows = _MANY
    """No one counted them."""

    def __init__(self, card: Card, columns: Sequence[str]) -> None:
        named = columns or item_columns(card)
        self._bare = card.unit is not None and len(named) == 1
        self._truths = {name for name in named if card[name].kind is Kind.BOOLEAN}
        self._others = [name for name in named if name not in self._truths]

    def codes(self, itemset: Iterable[str]) -> list[int]:
        """An error for an item of another column."""
        for item in itemset:
            of_column = any(item.startswith(f"{name}=") for name in self._others)
            if not (self._bare or item in self._truths or of_column):
                raise BadInput(
                    f"{item!r} is not an item of these columns.",
                    hint=f"Items are {', '.join([*self._truths, *(f'{name}=…' for name in self._others)])}.",
                )
        return []


def _require_maskings(spec: Compare, card: Card) -> None:
    for text in spec.methods:
        MASKING.parse(text, card)


def _attacked(spec: Attack, shelf: Shelf) -> str:
    found = shelf.find(spec.release)
    if found.kind not in (PUBLISHED, SYNTHETIC) or len(found.tables) != 1:
        raise BadInput(
            f"Attacks need published rows; this release is of the kind {found.kind}.",
            hint="For a table see its holder's page; a differentially private release needs no attack.",
        )
    return found.tables[0]
