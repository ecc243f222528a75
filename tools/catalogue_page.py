"""The catalogue's page of the documentation, made from the declarations whenever the documentation is built."""

from typing import Any

from mkdocs.structure.files import File, Files

from discreet.core.catalogue import Entry, Family
from discreet.core.families import FAMILIES

HEAD = """# Catalogue

Every method, model, rule and attack, as it is declared beside its code. `discreet methods NAME` says the same, and
`/v1/catalogue` has it for machines. In what is written, words in brackets may be left out.
"""


def on_files(files: Files, config: Any) -> Files:
    """Add the page, as MkDocs asks of a hook."""
    files.append(File.generated(config, "catalogue.md", content=page()))
    return files


def page(families: tuple[Family, ...] = FAMILIES) -> str:
    """The whole page."""
    return "\n".join((HEAD, *(part for family in families for part in _family(family))))


def _family(family: Family) -> list[str]:
    taken = ", ".join(f"`discreet {command}`" for command in family.commands)
    head = [f"## {family.title}", "", *([f"For {taken}.", ""] if taken else [])]
    return [*head, *(line for entry in family.entries() for line in _entry(entry))]


def _entry(entry: Entry) -> list[str]:
    lines = [f"### {entry.title}", "", _escaped(entry.summary), "", f"`{entry.usage}`", ""]
    shown = [one for one in entry.parameters if one.usage]
    if shown:
        lines += ["| parameter | values | meaning |", "|---|---|---|"]
        for one in shown:
            values = f"{_escaped(one.described)}{_default(one.default)}"
            lines.append(f"| `{one.word}` | {values} | {_escaped(one.sentence)} |")
        lines += [""]
    about = [f"Paper: {entry.paper}."] if entry.paper else []
    about += [f"Needs `discreet[{entry.extra}]`."] if entry.extra else []
    return lines + ([" ".join(about), ""] if about else [])


def _default(default: object) -> str:
    return f"; default {default}" if isinstance(default, str | int | float) and default not in ("", False) else ""


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
