"""Differentially private synthetic rows, drawn from a model of noisy marginals."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from math import sqrt
from typing import Any, ClassVar

import pyarrow as pa

from discreet.budget.convert import largest_concentrated
from discreet.core.card import Card
from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.exact import Number
from discreet.core.families import PRIVATE_SYNTHESIS, SYNTHESIZERS
from discreet.core.loss import Approximate, Concentrated, Pure
from discreet.core.release import Rows
from discreet.core.report import Picture, bars
from discreet.core.statement import Statement, weakness
from discreet.core.table import Table
from discreet.errors import BadInput, NotDeclared
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.masking import generator
from discreet.releases.method import Method, Progress, kept_rows, loss_with_delta, promised, rows_per_unit, silent
from discreet.verbs.synthesize.distances import COMPARED, WITHIN, distances, exact_columns, measure_distances, too_many
from discreet.verbs.synthesize.domain import BINS, Domain, merge_rare, regroup_measurement
from discreet.verbs.synthesize.graph.fitting import fit
from discreet.verbs.synthesize.graph.measurement import Measurement, Zeros
from discreet.verbs.synthesize.graph.tree import cells
from discreet.verbs.synthesize.non_private.synthesizer import Synthesizer
from discreet.verbs.synthesize.select import FIRST, aim, bayes, independent, mst, mwem
from discreet.verbs.synthesize.spending import Allowance, Meter, Step, counting, least_noise
from discreet.verbs.synthesize.streaming import Households, Source, Tally, card_of_units, units_of, write_blocks
from discreet.verbs.synthesize.structural_zeros import Impossible

WAYS: Mapping[str, Callable[[Meter, Sequence[Measurement]], list[Measurement]]] = {
    "aim": aim.select,
    "mst": mst.select,
    "mwem": mwem.select,
    "bayes": bayes.select,
    "independent": independent.select,
}
"""Selections of marginals by name, the best first."""
_WIDE = 8
"""Number of codes above which rare ones are merged."""
_LARGEST = 1 << 24
_WIDEST = 2.0**22
_BARS = 20
_MOST_ROWS = 10**10
_TRIED = 10_000
"""Rows drawn evenly to see whether the impossible conditions leave any."""


@declare(PRIVATE_SYNTHESIS, "synthesize", example="synthesize epsilon=1 delta=1e-9", paper="McKenna and others 2022")
class Synthesize(Method[pa.Table | Rows]):
    """Synthetic rows under differential privacy.

    ``epsilon`` alone promises pure differential privacy, ``epsilon`` with ``delta`` approximate, ``rho`` concentrated;
    with a ``delta`` there is far less noise. ``by`` says how marginals are chosen: ``aim`` is the most exact, ``mst``
    the fastest. ``rows`` is how many there will be; without it about as many as the table has. Columns with bounds are
    cut into ``bins`` of equal width, those in ``quantiles`` into ones that hold about as many rows each. ``columns``
    are those that leave, by default all but identifiers and the unit.

    Where a unit has several rows, ``person`` are the columns that are the same in all of them: then people are drawn
    and rows for each (``streaming.py``), with a number that says whose a row is. Without it rows stand alone.

    Why this is private: the ``Meter`` (``spending.py``, where it is argued) is the only one to look at counts of the
    table, and its answers lose the allowance at most: ε; or ρ, which is the largest whose restatement is (ε, δ) where
    that is promised (``budget/convert.py``). Which codes there are is declared. Merging codes, fitting a model,
    drawing rows from it and decoding them is done to what the meter gave: it loses nothing more.
    """

    name: ClassVar[str]
    epsilon: Number | None = parameter("Privacy loss ε per person.", default=None)
    delta: Number | None = parameter("Delta (δ): even a small one allows far less noise.", default=None)
    rho: Number | None = parameter("Concentrated privacy loss ρ, instead of epsilon.", default=None)
    by: str = parameter("Selection of marginals: aim is more accurate, mst faster.", default="aim", choices=tuple(WAYS))
    rows: int | None = parameter(
        "Number of rows; default: about as many as in the original.", default=None, least=1, most=_MOST_ROWS
    )
    columns: Sequence[str] = parameter(
        "Columns to synthesize; default: all that may be released.", default=(), clause="on"
    )
    bins: int | Mapping[str, int] | None = parameter("Bins of columns with bounds.", default=None)
    quantiles: Sequence[str] = parameter("Columns with quantile bins.", default=(), column="any")
    person: Sequence[str] = parameter("Columns that are constant within a unit.", default=(), column="any")

    def __post_init__(self) -> None:
        for field_ in ("columns", "quantiles", "person"):
            said = getattr(self, field_)
            if isinstance(said, str):
                raise BadInput(f"{field_} must be a list of names, not the text {said!r}.", hint=f"Write [{said!r}].")
            object.__setattr__(self, field_, tuple(said))
        check_parameters(self)
        if self.rows is not None and self.person:
            raise BadInput("The number of rows follows from the people that are drawn.", hint="Leave rows out.")
        _ = self.loss  # which says what is wrong with it

    @property
    def parameters(self) -> Mapping[str, Any]:
        """All parameters that determine the result, except rows, noise and loss."""
        return {
            "by": self.by,
            "rows": self.rows,
            "columns": list(self.columns),
            "bins": dict(self.bins) if isinstance(self.bins, Mapping) else self.bins,
            "quantiles": list(self.quantiles),
            "person": list(self.person),
        }

    def promise(self, card: Card) -> Statement:
        """The loss that was asked for; an error if the card does not declare what rows are drawn from."""
        if card.from_data:
            raise NotDeclared(
                f"The card of {card.name} has fields taken from the data: {', '.join(card.from_data)}.",
                hint="Declare them from public knowledge, and remove from_data from the card.",
            )
        domain = self.domain(card)
        impossible = Impossible.of(card, domain)
        if impossible.conditions:
            _require_possible(domain, impossible)
        if self.noise(card) > _WIDEST:
            raise BadInput(
                f"{self.loss} is so small that the result would be pure noise.",
                hint="Spend more, or synthesize fewer columns.",
            )
        caveats = ["The rows are synthetic. Columns that were not measured together are drawn as independent."]
        if told := weakness(self.loss):
            caveats.append(told)
        if self.person:
            self._require_people(card, domain)
            same = ", ".join(self.person)
            caveats.append(
                f"Rows of one {card.unit} have {same} in common; other relations between them are not synthesised."
            )
        elif card.unit is not None and rows_per_unit(card) > 1:
            caveats.append(f"Rows are not linked: which of them belong to the same {card.unit} is not synthesised.")
        caveats += [f"This impossible condition of the card is not enforced: {text}." for text in impossible.left_out]
        return replace(promised(self.loss, card), caveats=tuple(caveats))

    def noise(self, card: Card) -> float:
        """The standard deviation of the noise that each column's counts get at first."""
        share = FIRST / len(self.domain(card).sizes)
        return sqrt(least_noise(self.allowance, share, rows_per_unit(card)).variance)

    def makes(self, card: Card) -> tuple[str, ...]:
        """The columns that leave; with people also the unit's."""
        names = self.domain(card).names
        return (str(card.unit), *names) if self.person else names

    def steps(self, card: Card) -> tuple[str, ...]:
        """The steps, in words."""
        domain = self.domain(card)
        wide = [domain.names[place] for place in self._wide(domain)]
        done = [kept_rows(card), f"columns were coded as declared: {', '.join(domain.names)}"]
        if wide:
            done.append(f"rare codes of {', '.join(wide)} were merged, by counts with noise")
        if card.impossible:
            done.append("rows that the card declares impossible were redrawn")
        told = "the distances are in the rows' metadata, and hold with 95 % confidence each"
        if within := [name for name in domain.names if name not in exact_columns(domain)]:
            told += f"; of {', '.join(within)} only whole intervals were compared"
        if left_out := too_many(domain):
            told += f"; not compared, since there are too many combinations: {', '.join(left_out)}"
        drawn = (
            "about as many rows as the table has were drawn" if self.rows is None else f"{self.rows:,} rows were drawn"
        )
        if self.person:
            same = ", ".join(self.person)
            drawn = f"people were drawn ({same}, and their number of rows), and for each of them rows with the same"
        return (
            *done,
            f"marginals were chosen by {self.by} and counted with exact noise; a graphical model was fitted to them",
            drawn,
            f"{COMPARED} of the budget was spent on comparing columns and pairs of columns with the table; {told}",
        )

    def run(
        self, table: Table, entropy: Entropy = SYSTEM, progress: Progress | None = None, trail: list[Step] | None = None
    ) -> pa.Table | Rows:
        """Count on the engine, fit, draw, compare. ``trail`` is given all that was asked of the data, for audits.

        The table must be bounded (``engines/bounded_table.py``): no one has more rows in it than its card says, and no
        value is beyond its bounds. Else nothing is promised. A ``Curator`` sees to that, and charges the loss.
        """
        say = progress or silent
        say(0.0, "counting")
        fine = self.domain(table.card)
        with ExitStack() as until:
            counts = until.enter_context(counting(table, fine))
            meter = Meter(counts, self.allowance, rows_per_unit(table.card), entropy, trail)
            later = meter.part(COMPARED)
            say(0.1, "choosing and measuring")
            tally = Tally(fine)
            if self.person:
                self._require_people(table.card, fine)
                units = units_of(table, self.person)
                known = until.enter_context(counting(units, self._units(table.card)))
                people = self._source(meter.part(meter.left / 2, known, 1), units)
                both = Households(people, self._source(meter.part(meter.left), table), str(table.card.unit))
                rows, schema = both.expected, both.schema
                blocks = both.drawn(round(people.model.total), generator())
            else:
                source = self._source(meter.part(meter.left), table)
                rows, schema = round(source.model.total) if self.rows is None else self.rows, fine.schema
                blocks = source.drawn(rows, generator())
            say(0.7, "drawing")
            finished = until.enter_context(write_blocks(blocks, schema, tally, rows))
            say(0.9, "comparing")
            made = finished(measure_distances(later, tally, self.by).to_dict())
        say(1.0, "done")
        return made

    def _source(self, meter: Meter, table: Table) -> Source:
        """A model of a table to draw rows from; it costs all that the meter has left."""
        fine = meter.domain
        impossible = Impossible.of(table.card, fine)
        domain, found = self._first(meter, impossible)
        with ExitStack() as until:
            narrow = None if domain is fine else until.enter_context(counting(table, domain))
            found += WAYS[self.by](meter.part(meter.left, narrow), tuple(found))
        zeros = _small(domain, [one.columns for one in found], impossible)
        model = fit(domain.sizes, found, zeros=zeros, largest=_LARGEST)
        return Source(model, domain, fine, impossible)

    def _require_people(self, card: Card, domain: Domain) -> None:
        if card.unit is None:
            raise BadInput("Without a unit each row is a different person.", hint="Leave person out.")
        for name in self.person:
            if name not in domain.names:
                raise BadInput(f"{name} is not a released column, so it cannot describe a person.")
        self._units(card)

    def _units(self, card: Card) -> Domain:
        """The codes that people are made of: those of their columns, and a number of rows."""
        bins = self.bins
        if isinstance(bins, Mapping):
            bins = {name: many for name, many in bins.items() if name in self.person}
        quantiles = [name for name in self.quantiles if name in self.person]
        return Domain.of(card_of_units(card, self.person), (), bins, quantiles)

    def pictures(self, payload: pa.Table | Rows) -> tuple[Picture, ...]:
        """Bounds on the error of counts, the largest first."""
        near = distances(payload)
        far = sorted(near.distance.items(), key=lambda one: -one[1])[:_BARS]
        if not far:
            return ()
        return (
            bars(
                "Error bounds of counts",
                [near.called(columns) for columns, _ in far],
                [100 * min(one, 1.0) for _, one in far],
                caption="Bounds: any count over these columns differs by at most this per cent of "
                f"the rows, with 95 % confidence each; worst first. 100 means no bound. With “{WITHIN}” it "
                "holds for whole intervals only.",
            ),
        )

    def domain(self, card: Card) -> Domain:
        """The codes that rows are made of."""
        return Domain.of(card, self.columns, self.bins, self.quantiles)

    @property
    def allowance(self) -> Allowance:
        """The allowance of the meter: of (ε, δ) the largest ρ that is within it."""
        loss = self.loss
        return largest_concentrated(loss) if isinstance(loss, Approximate) else loss

    @property
    def loss(self) -> Pure | Concentrated | Approximate:
        """The promised loss."""
        return loss_with_delta(self.epsilon, self.delta, self.rho)

    def _wide(self, domain: Domain) -> list[int]:
        """The columns of which what is rare is merged."""
        named = zip(domain.names, domain.sizes, strict=True)
        return [place for place, (name, size) in enumerate(named) if size > _WIDE or name in self.quantiles]

    def _first(self, meter: Meter, impossible: Impossible) -> tuple[Domain, list[Measurement]]:
        """Every column for itself: the domain without what is rare, and what was measured, in its codes."""
        domain, found, apart = meter.domain, [], impossible.apart(meter.domain)
        for place, name in enumerate(domain.names):
            one = meter.measure((place,), FIRST / len(domain.sizes))
            if place in self._wide(meter.domain):
                asked = self.bins.get(name, BINS) if isinstance(self.bins, Mapping) else self.bins or BINS
                most = asked if name in self.quantiles else None
                narrow = merge_rare(domain.attributes[place], one.counts, one.deviation, most, apart[place])
                if narrow is not domain.attributes[place]:
                    domain, one = domain.with_merged(place, narrow), regroup_measurement(narrow, one)
            found.append(one)
        return domain, found


def _require_possible(domain: Domain, impossible: Impossible) -> None:
    """An error if no row that may be is found by drawing any that are declared; the data have no part in it."""
    anything = fit(domain.sizes, [], total=1.0, zeros=_small(domain, [], impossible))  # it says so if nothing is left
    rng = generator()
    if len(impossible.met(domain.decoded(anything.sample(_TRIED, rng), rng))) == _TRIED:
        raise BadInput(
            f"Every drawn row is impossible by the table's card: {'; '.join(impossible.conditions)}.",
            hint="Check the impossible conditions on the card.",
        )


def _small(domain: Domain, cliques: Sequence[tuple[int, ...]], impossible: Impossible) -> list[Zeros]:
    """The structural zeros that a model has room for; for the others rows are drawn again."""
    kept: list[Zeros] = []
    for one in impossible.zeros(domain):
        if cells(domain.sizes, [*cliques, *(other.columns for other in (*kept, one))]) <= _LARGEST:
            kept.append(one)
    return kept


def parse_synthesizer(text: str, card: Card) -> Synthesize | Synthesizer:
    """The synthesizer that ``text`` names: with a privacy loss, or one that promises nothing."""
    words = re.sub(r"\s*=\s*", "=", text).split()
    words = words[1:] if words[:1] == ["synthesize"] else words
    family = SYNTHESIZERS if words and "=" not in words[0] and words[0] != "on" else PRIVATE_SYNTHESIS
    made: Synthesize | Synthesizer = family.parse(" ".join(("synthesize", *words)), card)
    return made


def parse_private(method: str, card: Card) -> Synthesize:
    """The synthesizer that ``method`` names, with or without its verb; an error unless it has a privacy loss."""
    named = method.partition(" ")[0] == "synthesize"
    made = parse_synthesizer(method if named else f"synthesize {method}", card)
    if not isinstance(made, Synthesize):
        raise BadInput(
            f"{method!r} has no privacy guarantee, which a workspace requires.",
            hint="Add an epsilon: epsilon=1 delta=1e-9.",
        )
    return made
