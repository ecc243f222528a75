"""Make the notebooks of the tutorials from their pages: ``python tools/notebooks.py``.

Text becomes Markdown cells, ``python`` blocks code cells; a command becomes a line behind ``!``, and a block with a
title the file of that name (``%%writefile``).
"""

import json
import re
from pathlib import Path

TUTORIALS = Path(__file__).parent.parent / "docs" / "tutorials"
NAMES = ("analyst", "engineer", "lecturer")
BLOCK = re.compile(r"^```(\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\.md(#[^)]*)?\)")


def notebook(page: str) -> str:
    """The notebook of a page, as JSON."""
    cells, place = [], 0
    for block in BLOCK.finditer(page):
        cells += _markdown(page[place : block.start()])
        cells += _block(block[1], block["title"], block["body"])
        place = block.end()
    cells += _markdown(page[place:])
    for number, cell in enumerate(cells, 1):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    made = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def _block(kind: str, title: str | None, body: str) -> list[dict[str, object]]:
    if title:
        return [_code(f"%%writefile {title}\n{body}")]
    if kind == "console":
        return [_code("\n".join("!" + line[2:] for line in body.splitlines() if line.startswith("$ ")))]
    return [_code(body)] if kind == "python" else _markdown(f"```{kind}\n{body}```")


def _code(text: str) -> dict[str, object]:
    source = text.rstrip("\n").splitlines(keepends=True)
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}


def _markdown(text: str) -> list[dict[str, object]]:
    plain = LINK.sub(lambda found: f"]({found[1]}.html{found[2] or ''})", text.strip("\n"))
    return (
        [{"cell_type": "markdown", "metadata": {}, "source": plain.splitlines(keepends=True)}] if plain.strip() else []
    )


if __name__ == "__main__":
    for name in NAMES:
        (TUTORIALS / f"{name}.ipynb").write_text(notebook((TUTORIALS / f"{name}.md").read_text()))
