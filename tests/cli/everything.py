"""Every command once, in one folder, on whatever is installed: ``python -m tests.cli.everything FOLDER [HIDDEN …]``.

Prints a JSON object a command: its words, exit status and what it wrote to standard error; the help of every command
comes first. Modules named as hidden cannot be imported, as if they were not installed. Nothing but discreet is needed,
so that it runs on a plain install.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

COMMANDS = """
demo hospital demo --rows 500
demo messy messy --rows 50
init people.csv --yes -o begun.toml
card draft people.csv -o drafted.toml
card check people.toml --data people.csv
card schema
card from-arx missing.deid
show people.csv --card people.toml
check people.csv --card people.toml --model k=2
publish people.csv --card people.toml --method 'shuffle on age' -o shuffled
publish people.csv --card people.toml --model k=3 --suppress 1 -o release
synthesize people.csv --card people.toml --method 'epsilon=1 by=independent on sex' -o synthetic
learn people.csv --card people.toml --method 'statistics of=mean integral=2 on age' -o model
learn people.csv --card people.toml --method 'ridge target=age epsilon=1 on sex' -o ridge
show postgresql://nobody@localhost:1/none#people --card people.toml
show sc://localhost:1#people --card people.toml
compare people.csv people.csv --card people.toml -o compared.html
attack release --original people.csv --card people.toml
tabulate people.csv --card people.toml --by 'zip × sex' --rule min=3 -o printed
tabulate audit printed
exposure --card people.toml
tabulate table people.csv --card people.toml --by 'zip × sex' --rule min=3 -o book --xlsx book.xlsx
hide baskets.txt --support 20% --itemset 'bread, wine' -o hidden
hide secrets baskets.txt --support 20% --itemset 'bread, wine' --dry-run
hide mine baskets.txt --support 20%
hide discrimination baskets.txt --support 20% --protected bread --decision wine
methods masking
prove program.dp
workspace init clinic --table people=people.csv --card people.toml --budget epsilon=3 --analyst ann
workspace show clinic
workspace add-table clinic others=people.csv --card people.toml --budget epsilon=1
workspace revise clinic others --card people.toml --data people.csv
workspace add-analyst clinic ben --budget epsilon=1
ask clinic 'SELECT COUNT(*) FROM people' --epsilon 0.1 --analyst ben
workspace stand-in clinic people --method 'epsilon=0.5 on sex'
stream start clinic people arrivals --steps 3 --epsilon 0.1 --analyst ben
stream advance clinic people arrivals people.csv --step 1
stream show clinic people arrivals
stream list clinic
workspace check clinic
workspace move-ledger clinic --to postgresql://127.0.0.1:9/none
workspace trim clinic --jobs 90 --dry-run
workspace upgrade clinic --dry-run
workspace backup clinic clinic.copy
workspace restore clinic.copy restored --yes-spent-is-forgotten
workspace init audited --table people=people.csv --card people.toml --budget epsilon=3
workspace audit audited people --columns age
budget show clinic
budget limit clinic people --budget epsilon=4 --why more --yes
budget verify clinic
exposure clinic -o exposure.html
budget advise --epsilon 1
collect new survey.toml --example --codes codes.txt
collect plan survey.toml --people 300
collect randomize answers.csv --survey survey.toml -o reports.parquet
collect estimate survey.toml reports.parquet
collect serve survey.toml --cert missing.pem --key missing.pem
combine keys a
combine keys b
combine new session.toml --parties a,b --bounds 0:10 --start-within 1 --protocol ring
combine run session.toml --input number.txt --as a
combine relay session.toml
combine show session --as a
combine coalition session.toml --of a
combine verify session.a
combine protocols
combine functions
people add clinic cleo --role auditor
people list clinic
people reset clinic cleo
people disable clinic cleo
people enable clinic cleo
people link clinic cleo 1 --issuer https://login.example.org
people token clinic cleo
people revoke clinic 1
mcp clinic --analyst nobody --cap epsilon=1
serve clinic --check
serve clinic --cert missing.pem --key missing.pem
"""
CARD = """
[tables.people.columns]
zip = { kind = "text", role = "quasi", categories = ["13000", "13001"], hierarchy = { type = "mask", length = 5 } }
sex = { kind = "text", role = "quasi", categories = ["f", "m"] }
condition = { kind = "text", role = "sensitive", categories = ["flu", "heart", "none"] }

[tables.people.columns.age]
kind = "integer"
role = "quasi"
bounds = [0, 100]
required = true
hierarchy = { type = "intervals", widths = [10, 20] }
"""
PROGRAM = """
adjacent one by 1
claim eps
noisy(x : private real) : real
  y := $ Laplace(1/eps, x)
  return y
"""


class Hidden(MetaPathFinder):
    """An import of one of these modules fails, as if it were not installed."""

    def __init__(self, modules: Sequence[str]) -> None:
        self.modules = frozenset(modules)

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        """Nothing of the hidden modules is found, whoever would look after this finder."""
        if fullname.partition(".")[0] in self.modules:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def command_names(command: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """The words of every command below this one of typer."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield " ".join(path)
    for name, one in (inner or {}).items():
        yield from command_names(one, (*path, name))


def prepare(folder: Path) -> None:
    """Write what the commands read."""
    people = [(13000 + n % 2, "fm"[n // 2 % 2], 20 + n % 40, ("flu", "heart", "none")[n % 3]) for n in range(240)]
    rows = {"people.csv": ["zip,sex,age,condition", *(",".join(map(str, person)) for person in people)]}
    rows["answers.csv"] = ["like,albums,gender,age", *("yes,3,female,30" for _ in range(9_000))]
    rows["baskets.txt"] = ["bread wine"] * 5 + ["bread beer"] * 5 + ["beer"] * 10
    rows["number.txt"] = ["3"]
    for name, lines in rows.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    (folder / "people.toml").write_text(CARD)
    (folder / "program.dp").write_text(PROGRAM)


def main(place: str, *hidden: str) -> None:
    """Run all commands in a folder, under a umask that closes nothing."""
    os.umask(0)
    sys.meta_path.insert(0, Hidden(hidden))
    import typer
    from tests.called import called

    from discreet.cli.main import app

    prepare(Path(place))
    helps = [f"{name} --help".strip() for name in ("", *command_names(typer.main.get_command(app)))]
    for line in [*helps, *COMMANDS.strip().splitlines()]:
        found = called(shlex.split(line), Path(place))
        print(json.dumps({"command": line, "code": found.code, "said": found.stderr}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
