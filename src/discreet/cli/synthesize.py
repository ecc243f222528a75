"""`discreet synthesize`: make synthetic data."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from discreet.cli.options import (
    CardFile,
    CardTable,
    Despite,
    Holder,
    Json,
    Output,
    RegisterIn,
    Source,
    named_or_only,
    refuse_options,
    require_card,
    require_output,
)
from discreet.cli.output import (
    bold,
    console,
    grid,
    percent,
    plain_release,
    print_json,
    print_making,
    print_release,
    stoppable,
    tracking,
    working,
)
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.core.card import Card
    from discreet.core.release import Release, Rows
    from discreet.core.table import Table
    from discreet.verbs.attack.report import Report
    from discreet.verbs.synthesize.private import Synthesize

_LISTED = 8
_LESS = 0.8
"""Noise ratio from which a delta is suggested."""


def synthesize(
    source: Source,
    card: CardFile = None,
    table: CardTable = None,
    *,
    method: Annotated[
        str,
        Option(help="Differentially private: 'epsilon=1 delta=1e-9 by=aim'; without a guarantee: 'cart', 'copula'."),
    ] = "epsilon=1 delta=1e-9",
    output: Output = None,
    holder: Holder = None,
    workspace: RegisterIn = None,
    despite: Despite = None,
    seed: Annotated[
        int | None,
        Option(
            min=0, help="Without a guarantee: random seed. Makes the result repeatable by anyone: for research only."
        ),
    ] = None,
    csv: Annotated[bool, Option("--csv", help="Also write the rows as CSV.")] = False,
    as_json: Json = False,
) -> None:
    """Make synthetic data that resembles a table.

    \b
    Examples:
      discreet synthesize patients.parquet --card patients.toml --method "epsilon=1 delta=1e-9" -o synthetic
      discreet synthesize clinic --table visits --method "epsilon=1 delta=1e-9" -o synthetic
      discreet synthesize patients.parquet --card patients.toml --method "cart given sex, age" -o synthetic

    With an epsilon the rows are differentially private: the loss is charged to the table's budget if DATA is a
    workspace, and to no one otherwise. Methods without one promise nothing; their rows are attacked before they leave,
    and the holder's copy has the findings.
    """
    from discreet.engines.read import read

    output = require_output(output)
    text = method if method.split(" ", maxsplit=1)[0] == "synthesize" else f"synthesize {method}"
    if (Path(source) / "workspace.toml").is_file():
        refuse_options("a table of a workspace", despite=despite)
        _from_workspace(source, table, text, output, seed=seed, holder=holder, csv=csv, as_json=as_json)
        return
    opened = read(source, require_card(card), table=table)
    opened = opened if despite is None else opened.despite(despite)
    _from_file(opened, text, output, workspace=workspace, seed=seed, holder=holder, csv=csv, as_json=as_json)


def warn_of_distances(rows: Release[Any] | Rows, card: Card) -> None:
    """Warn if synthetic rows are too far from the table to be of use."""
    from discreet.verbs.synthesize.distances import distances
    from discreet.verbs.synthesize.synthesize import warning

    if told := warning(distances(rows), card):
        console(stderr=True).print(bold("Warning."), told)


def _from_workspace(
    source: str,
    table: str | None,
    text: str,
    output: Path,
    *,
    seed: int | None,
    holder: Path | None,
    csv: bool,
    as_json: bool,
) -> None:
    """Charged to the table."""
    from discreet.core.release import Rows
    from discreet.curator.curator import Curator
    from discreet.releases.pipeline import require_places
    from discreet.verbs.synthesize.private import parse_private

    with Curator(source) as curator:
        name = named_or_only(table, curator.workspace.private)
        card = curator.workspace.card(name)
        method = parse_private(text, card)
        _require_unseeded(seed, holder)
        require_places(output)
        _hint(method)
        with stoppable(lambda: "The charge stands; the same command again is free."), working("Synthesizing"):
            given = curator.make_synthetic(method, name)
        place = curator.workspace.releases / given.identity / "payload.parquet"
        with TemporaryDirectory(prefix=".discreet-", dir=output.absolute().parent) as scratch:
            copy = Path(shutil.copy(place, scratch))
            folder = replace(given.release, payload=Rows(copy)).save(output, csv=csv)
    release = replace(given.release, payload=Rows(folder / "payload.parquet"))
    _print(release, output, as_json)
    warn_of_distances(release, card)
    if not as_json:
        console().print(f"It is now the synthetic stand-in of {name}: it answers questions when a budget is spent.")


def _from_file(
    opened: Table,
    text: str,
    output: Path,
    *,
    workspace: Path | None,
    seed: int | None,
    holder: Path | None,
    csv: bool,
    as_json: bool,
) -> None:
    """Without a ledger: registered beside the card."""
    from discreet.cli.publish import registered_in, warn_of_others
    from discreet.core.holder_copy import holder_file
    from discreet.releases.pipeline import require_places
    from discreet.releases.uncharged import NO_LEDGER
    from discreet.verbs.synthesize.private import Synthesize, parse_synthesizer
    from discreet.verbs.synthesize.synthesize import synthesize as make

    method = parse_synthesizer(text, opened.card)
    private = isinstance(method, Synthesize)
    if isinstance(method, Synthesize):
        _require_unseeded(seed, holder)
        if workspace is not None:
            raise BadInput(
                f"{workspace} has a ledger, but synthetic data made from a file is not charged to it.",
                hint=f"Use its table, which is charged: discreet synthesize {workspace} --table "
                f"{opened.card.name} --method {text.partition(' ')[2]!r} -o {output}; or discreet workspace stand-in "
                f"{workspace} {opened.card.name} …",
            )
        _hint(method)
    place = None if private else holder or holder_file(output)
    require_places(output, csv=csv, holder=place)
    opened = registered_in(opened, workspace)
    warn_of_others(opened, output, (), "synthetic")
    with stoppable(lambda: "Nothing was released."), tracking("Synthesizing") as at:
        release = make(opened, method, seed=seed, to=output, csv=csv, holder=place, progress=at)
    if private:
        _print(release, output, as_json)
        if not as_json:
            console(stderr=True).print(NO_LEDGER)
        return
    alarms = [one for one in release.notices if one.startswith("WARNING")]
    for alarm in alarms:
        console(stderr=True).print(alarm)
    report: Report = release.holder.details  # type: ignore[union-attr]  # just made
    if as_json:
        print_json(plain_release(release, output) | {"attacked": report.to_dict(), "alarms": alarms})
        return
    print_release(release, output, place)
    console().print(f"Attacked before release. {report.summary}")


def _require_unseeded(seed: int | None, holder: Path | None) -> None:
    """Refuse options that undo the noise or would store people's rows."""
    if seed is not None:
        raise BadInput(
            "--seed is not allowed with noise: anyone who knows the seed can remove it.", hint="Leave --seed out."
        )
    if holder is not None:
        raise BadInput("Synthetic rows belong to no one: there is no holder's copy.", hint="Leave --holder out.")


def _hint(method: Synthesize) -> None:
    """Warn of a loss without delta, and of one so large that it protects hardly anyone."""
    from fractions import Fraction

    from discreet.core.loss import Pure
    from discreet.core.statement import weakness
    from discreet.verbs.synthesize.spending import least_noise

    if told := weakness(method.loss):
        console(stderr=True).print(bold("Warning."), told)
    if not isinstance(method.allowance, Pure):
        return
    with_delta = replace(method, delta="1e-9").allowance
    share = Fraction(1, 100)
    ratio = (least_noise(with_delta, share, 1).variance / least_noise(method.allowance, share, 1).variance) ** 0.5
    if ratio < _LESS:
        console(stderr=True).print(
            "Without a delta the noise is large. With delta=1e-9 it would be about "
            f"{ratio:.0%} of that, if a hundred sets of counts are measured."
        )


def _print(release: Release[Any], folder: Path, as_json: bool) -> None:
    from discreet.verbs.synthesize.distances import WITHIN, distances

    near = distances(release)
    if as_json:
        print_json(plain_release(release, folder) | {"synthetic": near.to_dict()})
        return
    out = console()
    out.print(bold(release.title), f"in {folder}")
    out.print(*release.statement.lines, sep="\n")
    out.print(f"\n{near.rows:,} synthetic rows.")
    listing = grid("counts over", "#off by at most", title="Error of counts, with 95 % confidence")
    worst = sorted(near.distance.items(), key=lambda one: -one[1])
    for columns, far in worst[:_LISTED]:
        listing.add_row(near.called(columns), percent(far, 1) if far < 1 else "no bound")
    out.print(listing)
    if set(near.columns) - set(near.exact):
        out.print(f"{WITHIN}: only for counts of whole intervals.")
    if near.left_out:
        out.print(f"Not compared, since there are too many combinations: {', '.join(map(near.called, near.left_out))}.")
    if len(worst) > _LISTED:
        out.print(f"All others have smaller errors; {folder / 'report.html'} and the rows' own metadata have more.")
    print_making(release, folder)
