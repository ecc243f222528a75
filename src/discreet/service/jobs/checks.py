"""What can be said against a job before it is begun: nothing here looks at a row."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from discreet.core.card import Card
from discreet.core.exact import share_of
from discreet.curator.shelf import Shelf
from discreet.curator.workspace import Workspace
from discreet.errors import BadInput, NotFound
from discreet.service.jobs.specs import Attack, Combine, Compare, Publish, Spec, Tabulate

if TYPE_CHECKING:
    from discreet.models.model import Model
    from discreet.publish.masking import Masker
    from discreet.publish.recoding import Recoder

PUBLISHED, TABULATED = "published", "tabulated"


def table_of(spec: Spec, workspace: Workspace, shelf: Shelf) -> str:
    """The table, or the session, that a job is about, once nothing can be said against the job."""
    if isinstance(spec, Attack):
        return _attacked(spec, shelf)
    if isinstance(spec, Combine):
        from discreet.service.sessions import require_playable

        require_playable(workspace, spec.session, spec.brings)
        return spec.session
    if spec.table not in workspace.private:
        known = ", ".join(workspace.private)
        raise NotFound(f"There is no table about people called {spec.table!r}; there are {known}.")
    workspace.source(spec.table)
    card = workspace.full_card(spec.table)
    if isinstance(spec, Publish):
        models_of(spec, card)
        method_of(spec, card)
    elif isinstance(spec, Tabulate):
        _require_tables(spec, card)
    else:
        _require_maskings(spec, card)
    return spec.table


def models_of(spec: Publish, card: Card) -> list[Model]:
    """The models that must hold. None may name a file: that would be one of this machine's."""
    from discreet.models.parse import parse_all
    from discreet.publish.mask.parse import is_mask

    if not spec.models and not is_mask(spec.method):
        raise BadInput("Say what must hold: give models.", hint='Such as "k=5" or "l=3 on disease".')
    for text in spec.models:
        if re.search(r"\sin\s", text, re.IGNORECASE):
            raise BadInput(
                f"{text!r} speaks of a population, which cannot be given to the service.",
                hint="Choose a model of the table alone, or use the command: discreet publish",
            )
    return parse_all(spec.models, card)


def method_of(spec: Publish, card: Card) -> Recoder | Masker:
    """How to get there."""
    from discreet.publish.methods import Wish, parse_method

    return parse_method(spec.method, card, Wish(share_of(spec.suppress, "suppress"), spec.quality))


def _require_tables(spec: Tabulate, card: Card) -> None:
    from discreet.tabulate.methods.parse import parse_method
    from discreet.tabulate.rules import parse_rules
    from discreet.tabulate.tabulate import sides_of

    for column in {name for sides in sides_of(spec.by) for name in sides} | ({spec.value} if spec.value else set()):
        card[column.partition("@")[0]]
    parse_rules("; ".join(spec.rules)) if spec.rules else ()
    if parse_method(spec.method).protects and not spec.rules:
        raise BadInput("Say which cells are sensitive: give rules.", hint='Such as "p=10", "n=1,k=0.7" or "min=3".')


def _require_maskings(spec: Compare, card: Card) -> None:
    from discreet.publish.mask.parse import parse

    for text in spec.methods:
        parse(text, card)


def _attacked(spec: Attack, shelf: Shelf) -> str:
    found = shelf.find(spec.release)
    if found.kind != PUBLISHED or len(found.tables) != 1:
        raise BadInput(
            f"Attacks are run on published rows, and this release is of the kind {found.kind}.",
            hint="What can be told of a printed table is on its holder's page; noise is paid for, and needs no attack.",
        )
    return found.tables[0]
