"""A release as one HTML page that opens offline, or as a piece of a notebook.

No script, no request to anywhere: the page's own policy forbids both. Everything that comes from data is
escaped, and pictures are shown as images, so that nothing in them can run.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from discreet.core.atomic_files import owned
from discreet.core.markup import Child, Markup, listed, markup, style, table, tag
from discreet.core.markup import page as whole_page
from discreet.core.statement import weakness

if TYPE_CHECKING:
    from discreet.core.release import Release

_ROWS = 10
_COLUMNS = 12
_WORDS = {
    "at_random": "rounded at random",
    "factor_mean": "mean of the factors",
    "factor_variance": "variance of the factors",
    "noise_covariance": "covariance of the noise",
    "noise_mean": "mean of the noise",
    "noise_variance": "variance of the noise",
    "optimal": "proved to be optimal",
    "quasi_identifiers": "quasi-identifiers",
    "made": "rows that were made",
    "rows": "rows of the original",
    "suppress": "share of rows that may be suppressed",
    "suppressed": "suppressed rows",
    "time_limit": "time limit, in seconds",
}
"""What a parameter of a recipe is called for people, where its name says too little."""
_ANSWERS = (bool, int, float, str, Decimal, Fraction, dt.date)


def render(release: Release[object]) -> Markup:
    """The whole page."""
    return page(release.title, fragment(release))


def fragment(release: Release[object]) -> Markup:
    """The same without the page around it."""
    word, colour = badge(release)
    sections = [
        heading(release.title, word, colour),
        section("What is promised", _promise(release)),
        section("What is released", release.layout or _payload(release.payload)),
        *(section(picture.title, picture.figure) for picture in release.pictures),
        section("How it was made", _recipe(release)),
    ]
    if release.receipt is not None:
        receipt = release.receipt
        charged = {
            "account": receipt.account,
            "loss": str(receipt.loss),
            "line": f"{receipt.line:,}",
            "at": receipt.at.isoformat(sep=" ", timespec="seconds"),
            "key": receipt.key,
            "digest": receipt.digest,
        }
        sections.append(section("What was charged", pairs(charged.items())))
    return styled(sections)


def page(title: str, content: Child) -> Markup:
    """A page of ``content`` that opens offline and can run or fetch nothing."""
    return whole_page(title, content, sheet=_PAGE)


def write_page(path: str | Path, title: str, content: Child) -> Path:
    """Write a page for its owner alone."""
    place = Path(path)
    with open(place, "w", encoding="utf-8", opener=owned) as file:
        file.write(page(title, content))
    return place


def styled(sections: Iterable[Child]) -> Markup:
    """Sections in the look of all reports."""
    inside = (markup(one, "\n") for one in sections)
    return tag("div", style(_STYLE), "\n", inside, class_="discreet-release")


def notes(texts: Sequence[str]) -> Markup:
    """Sentences that the holder should read first; nothing if there are none."""
    return styled([section("Before you hand it over", (tag("p", text) for text in texts))]) if texts else Markup()


def heading(title: str, word: str = "", colour: str = "bad") -> Markup:
    """The title of a report, and a word about it in a coloured pill."""
    return tag("header", tag("h1", title), pill(word, colour) if word else None)


def pill(word: str, colour: str = "bad") -> Markup:
    """A word in a coloured pill: ``good``, ``bad`` or ``none``."""
    return tag("span", word, class_=f"badge {colour}")


def section(title: str, *content: Child) -> Markup:
    """A part of a report."""
    return tag("section", tag("h2", title), content)


def pairs(facts: Iterable[tuple[str, str]]) -> Markup:
    """Names and what they stand for."""
    return tag("dl", ((tag("dt", name), tag("dd", value)) for name, value in facts))


def listing(heads: Sequence[str], kinds: Sequence[str], rows: Iterable[Sequence[str | None]]) -> Markup:
    """A table: each column is ``text``, ``number`` (to the right) or ``prose`` (in lines, in full); None is NULL."""
    head = (tag("th", _cell(name), scope="col", class_=kind) for name, kind in zip(heads, kinds, strict=True))
    body = (
        [
            tag("td", cell if kind == "prose" and cell else _cell(cell), class_=kind)
            for cell, kind in zip(row, kinds, strict=True)
        ]
        for row in rows
    )
    return tag("div", table(head, body), class_="scroll")


def plain(value: object) -> str:
    """A figure, or several in lists and mappings, as people read it."""
    if isinstance(value, list | tuple):
        return ", ".join(plain(item) for item in value)
    if isinstance(value, dict):
        return "; ".join(f"{name}: {plain(item)}" for name, item in value.items())
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def shortened(text: str, most: int) -> str:
    """``text``, cut to ``most`` characters with a mark that it was."""
    return text if len(text) <= most else text[: most - 1] + "…"


def badge(release: Release[object]) -> tuple[str, Literal["good", "bad", "none"]]:
    """The promise of a release in a few words, and whether that is good news."""
    if release.recipe.seed is not None or release.recipe.from_data:
        return "Not private", "bad"
    if release.statement.loss is not None and not release.statement.models and weakness(release.statement.loss):
        return "Next to nothing promised", "bad"
    if release.private:
        return "Privacy promised", "good"
    return ("Secrets hidden; nobody is protected" if release.statement.promises else "No promise"), "none"


def _promise(release: Release[object]) -> Markup:
    statement = release.statement
    first, *notes = release.lines
    does = "hides" if statement.of_holder else "protects"
    facts = [(does, f"each {statement.unit}"), ("evidence", statement.evidence.value)]
    if statement.loss is not None:
        facts.insert(1, ("loss", str(statement.loss)))
    facts += [("model", claim.text) for claim in statement.models]
    return markup(tag("p", first), listed(notes), pairs(facts) if statement.promises else None)


def _recipe(release: Release[object]) -> Markup:
    recipe = release.recipe
    facts = [("method", recipe.method)]
    said = {name: value for name, value in recipe.parameters.items() if not _for_machines(value)}
    words = _WORDS if recipe.method != "synthesize" else _WORDS | {"rows": "synthetic rows"}
    facts += [(words.get(name) or name.replace("_", " "), shortened(plain(value), 400)) for name, value in said.items()]
    if recipe.seed is not None:
        facts.append(("seed", f"{recipe.seed} (every random choice can be repeated)"))
    facts.append(("made with", ", ".join(f"{name} {version}" for name, version in recipe.versions.items())))
    return markup(pairs(facts), tag("ol", (tag("li", step) for step in recipe.steps)) if recipe.steps else None)


def _for_machines(value: object) -> bool:
    """Whether there is nothing to read in a parameter: it is empty, or a list of structures."""
    return value in (None, "", (), [], {}) or (isinstance(value, list) and any(isinstance(one, dict) for one in value))


def _payload(payload: object) -> Markup:
    if isinstance(payload, pa.Table):
        return _table(payload)
    if payload is None or isinstance(payload, _ANSWERS):
        return tag("p", _cell(None if payload is None else str(payload)), class_="answer")
    if isinstance(payload, dict):
        return pairs((str(name), shortened(plain(value), 400)) for name, value in payload.items())
    return tag("p", shortened(plain(payload), 4000))


def _table(payload: pa.Table) -> Markup:
    shown = payload.slice(0, _ROWS).select(range(min(_COLUMNS, payload.num_columns)))
    kinds = ["number" if _is_number(field.type) else "text" for field in shown.schema]
    columns = [_texts(column) for column in shown.columns]
    rows = ([column[row] for column in columns] for row in range(shown.num_rows))
    size = f"{payload.num_rows:,} rows, {payload.num_columns:,} columns"
    if (shown.num_rows, shown.num_columns) != (payload.num_rows, payload.num_columns):
        size += f"; the first {shown.num_rows} rows and {shown.num_columns} columns are shown"
    return markup(listing(shown.column_names, kinds, rows), tag("p", f"{size}.", class_="size"))


def _texts(column: pa.ChunkedArray[Any]) -> list[str | None]:
    if pa.types.is_temporal(column.type) and not pa.types.is_duration(column.type):
        column = column.cast(pa.string())  # Python has no nanoseconds
    return [None if value is None else str(value) for value in column.to_pylist()]


def _cell(text: str | None) -> str:
    return tag("span", "NULL", class_="null") if text is None else shortened(text, 120)


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


_PAGE = "body{margin:0;background:#eef1f4}@media(prefers-color-scheme:dark){body{background:#0f141a}}"
_STYLE = """
.discreet-release{--ink:#1d2733;--soft:#5b6876;--line:#dbe1e7;--paper:#fff;--good:#14683f;--good-bg:#ddf3e6;
--bad:#9b1c1c;--bad-bg:#fde4e1;--none:#7a5200;--none-bg:#fdf0d0;color-scheme:light dark;
font:15px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:860px;
margin:24px auto;padding:28px 36px;border:1px solid var(--line);border-radius:10px}
@media(prefers-color-scheme:dark){.discreet-release{--ink:#e3e9ef;--soft:#97a5b3;--line:#2b3540;--paper:#171d24;
--good:#8be0b1;--good-bg:#123825;--bad:#ffaaa2;--bad-bg:#4a1717;--none:#f3cf7a;--none-bg:#43330c}}
.discreet-release header{display:flex;gap:16px;align-items:center;
justify-content:space-between;flex-wrap:wrap}
.discreet-release h1{font-size:24px;line-height:1.25;margin:0;overflow-wrap:anywhere}
.discreet-release h2{font-size:15px;margin:0 0 8px;overflow-wrap:anywhere}
.discreet-release section{border-top:1px solid var(--line);margin-top:20px;padding-top:16px}
.discreet-release p{margin:0 0 10px;overflow-wrap:anywhere}
.discreet-release .badge{font-weight:600;padding:4px 14px;border-radius:999px;white-space:nowrap}
.discreet-release .good{color:var(--good);background:var(--good-bg)}
.discreet-release .bad{color:var(--bad);background:var(--bad-bg)}
.discreet-release .none{color:var(--none);background:var(--none-bg)}
.discreet-release dl{display:grid;grid-template-columns:max-content 1fr;gap:3px 18px;margin:0}
.discreet-release dt{color:var(--soft)}
.discreet-release dd{margin:0;overflow-wrap:anywhere}
.discreet-release .scroll{overflow-x:auto}
.discreet-release table{border-collapse:collapse;font-size:14px}
.discreet-release th,.discreet-release td{padding:5px 14px 5px 0;text-align:left;white-space:nowrap;
border-bottom:1px solid var(--line)}
.discreet-release .prose{white-space:normal;min-width:14em}
.discreet-release .number{text-align:right;font-variant-numeric:tabular-nums}
.discreet-release .null,.discreet-release .size{color:var(--soft);font-size:13px}
.discreet-release .null{font-style:italic}
.discreet-release .size{margin:8px 0 0}
.discreet-release .answer{font-size:28px;font-weight:600}
.discreet-release figure{margin:0}
.discreet-release img{max-width:100%;height:auto}
.discreet-release figcaption{color:var(--soft);font-size:14px}
.discreet-release ol{margin:10px 0 0;padding-left:20px}
.discreet-release ul{margin:0 0 10px;padding-left:20px}
"""
