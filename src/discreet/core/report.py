"""A release as one HTML page that opens offline, or as a piece of a notebook.

No script, no request to anywhere: the page's own policy forbids both. Everything that comes from data is
escaped, and pictures are shown as images, so that nothing in them can run.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from discreet.core.statement import weakness

if TYPE_CHECKING:
    from discreet.core.release import Release

_ROWS = 10
_COLUMNS = 12
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
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


def render(release: Release[object]) -> str:
    """The whole page."""
    return page(release.title, fragment(release))


def fragment(release: Release[object]) -> str:
    """The same without the page around it."""
    word, colour = badge(release)
    sections = [
        f'<header><h1>{escape(release.title)}</h1><span class="badge {colour}">{word}</span></header>',
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


def page(title: str, content: str) -> str:
    """A page of ``content``, which is HTML already, that opens offline and can run or fetch nothing."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_PAGE}</style>\n</head>\n<body>\n"
        f"{content}\n</body>\n</html>\n"
    )


def styled(sections: Iterable[str]) -> str:
    """Sections, which are HTML already, in the look of all reports."""
    return f'<div class="discreet-release"><style>{_STYLE}</style>\n' + "\n".join(sections) + "\n</div>"


def section(title: str, content: str) -> str:
    """A part of a report: ``content`` is HTML already."""
    return f"<section><h2>{escape(title)}</h2>{content}</section>"


def notes(texts: Sequence[str]) -> str:
    """Sentences that the holder should read first, as HTML; nothing if there are none."""
    return (
        styled([section("Before you hand it over", "".join(f"<p>{escape(one)}</p>" for one in texts))]) if texts else ""
    )


def pairs(facts: Iterable[tuple[str, str]]) -> str:
    """Names and what they stand for, as HTML."""
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts) + "</dl>"


def listing(heads: Sequence[str], kinds: Sequence[str], rows: Iterable[Sequence[str | None]]) -> str:
    """A table as HTML: each column is ``text``, ``number`` (to the right) or ``prose`` (in lines, in full); None
    is NULL."""
    head = "".join(
        f'<th scope="col" class="{kind}">{_cell(name)}</th>' for name, kind in zip(heads, kinds, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td class="{kind}">{escape(cell) if kind == "prose" and cell else _cell(cell)}</td>'
            for cell, kind in zip(row, kinds, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


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


def _promise(release: Release[object]) -> str:
    statement = release.statement
    first, *notes = release.lines
    said = f"<p>{escape(first)}</p>"
    said += f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in notes)}</ul>" if notes else ""
    does = "hides" if statement.of_holder else "protects"
    facts = [(does, f"each {statement.unit}"), ("evidence", statement.evidence.value)]
    if statement.loss is not None:
        facts.insert(1, ("loss", str(statement.loss)))
    facts += [("model", claim.text) for claim in statement.models]
    listing = pairs(facts) if statement.promises else ""
    return said + listing


def _recipe(release: Release[object]) -> str:
    recipe = release.recipe
    steps = "".join(f"<li>{escape(step)}</li>" for step in recipe.steps)
    facts = [("method", recipe.method)]
    said = {name: value for name, value in recipe.parameters.items() if not _for_machines(value)}
    words = _WORDS if recipe.method != "synthesize" else _WORDS | {"rows": "synthetic rows"}
    facts += [(words.get(name) or name.replace("_", " "), shortened(plain(value), 400)) for name, value in said.items()]
    if recipe.seed is not None:
        facts.append(("seed", f"{recipe.seed} (every random choice can be repeated)"))
    facts.append(("made with", ", ".join(f"{name} {version}" for name, version in recipe.versions.items())))
    return pairs(facts) + (f"<ol>{steps}</ol>" if steps else "")


def _for_machines(value: object) -> bool:
    """Whether there is nothing to read in a parameter: it is empty, or a list of structures."""
    return value in (None, "", (), [], {}) or (isinstance(value, list) and any(isinstance(one, dict) for one in value))


def _payload(payload: object) -> str:
    if isinstance(payload, pa.Table):
        return _table(payload)
    if payload is None or isinstance(payload, _ANSWERS):
        return f'<p class="answer">{_cell(None if payload is None else str(payload))}</p>'
    if isinstance(payload, dict):
        return pairs((str(name), shortened(plain(value), 400)) for name, value in payload.items())
    return f"<p>{escape(shortened(plain(payload), 4000))}</p>"


def _table(table: pa.Table) -> str:
    shown = table.slice(0, _ROWS).select(range(min(_COLUMNS, table.num_columns)))
    kinds = ["number" if _is_number(field.type) else "text" for field in shown.schema]
    columns = [_texts(column) for column in shown.columns]
    rows = ([column[row] for column in columns] for row in range(shown.num_rows))
    size = f"{table.num_rows:,} rows, {table.num_columns:,} columns"
    if (shown.num_rows, shown.num_columns) != (table.num_rows, table.num_columns):
        size += f"; the first {shown.num_rows} rows and {shown.num_columns} columns are shown"
    return f'{listing(shown.column_names, kinds, rows)}<p class="size">{size}.</p>'


def _texts(column: pa.ChunkedArray[Any]) -> list[str | None]:
    if pa.types.is_temporal(column.type) and not pa.types.is_duration(column.type):
        column = column.cast(pa.string())  # Python has no nanoseconds
    return [None if value is None else str(value) for value in column.to_pylist()]


def _cell(text: str | None) -> str:
    return '<span class="null">NULL</span>' if text is None else escape(shortened(text, 120))


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
