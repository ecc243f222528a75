"""The Python reference under the names people type: `dc.read`, not `discreet.engines.read.read`."""

import re
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parent.parent / "src" / "discreet"
EXPORT = re.compile(r"^from (\S+) import (\w+) as (\w+)$", re.MULTILINE)
DIRECTIVE = re.compile(r"^::: (discreet\.\S+)$", re.MULTILINE)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Give each object of the reference its public name as a heading, as MkDocs asks of a hook."""
    return with_public_names(markdown) if page.file.src_uri == "reference.md" else markdown


def with_public_names(markdown: str) -> str:
    """The reference with public names as headings; an object that no package exports keeps its own name."""
    names = public_names()
    return DIRECTIVE.sub(lambda found: _directive(found[1], names.get(found[1], found[1].split(".")[-1])), markdown)


def public_names() -> dict[str, str]:
    """Public name of each exported object, by its defining module; the root package wins over a verb."""
    names = _exports(SOURCE / "utility" / "__init__.pyi", "dc.utility")
    for stub in sorted(SOURCE.glob("verbs/**/__init__.pyi")):
        prefix = ".".join(stub.parent.relative_to(SOURCE / "verbs").parts)
        names |= _exports(stub, prefix)
    return names | _exports(SOURCE / "__init__.pyi", "dc")


def _exports(stub: Path, prefix: str) -> dict[str, str]:
    return {f"{module}.{name}": f"{prefix}.{public}" for module, name, public in EXPORT.findall(stub.read_text())}


def _directive(path: str, name: str) -> str:
    return f"::: {path}\n    options:\n      heading: {name}\n      toc_label: {name}"
