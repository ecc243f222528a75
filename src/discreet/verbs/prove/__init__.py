"""Is this program really private? A proof that a person can read, or two neighbouring inputs that break it.

    print(discreet.verbs.prove.check("svt.dp"))

    @discreet.verbs.prove.private(adjacent="one", claim="eps")
    def count(x: prove.Private[float]) -> float:
        noise = Laplace(1 / eps)
        return x + noise

    print(discreet.verbs.prove.check(count))

Each name is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.verbs.prove import finite
    from discreet.verbs.prove.certificate import Certificate
    from discreet.verbs.prove.checking import check, infer, recheck
    from discreet.verbs.prove.picture import drawn
    from discreet.verbs.prove.python import Private, private
    from discreet.verbs.prove.refuter.counterexample import Counterexample
    from discreet.verbs.prove.saving import read_certificate, write_certificate
    from discreet.verbs.prove.verdicts import Proved, Refuted, Unknown, Verdict

_HOMES = {
    "certificate": ("Certificate",),
    "checking": ("check", "infer", "recheck"),
    "picture": ("drawn",),
    "python": ("Private", "private"),
    "refuter.counterexample": ("Counterexample",),
    "saving": ("read_certificate", "write_certificate"),
    "verdicts": ("Proved", "Refuted", "Unknown", "Verdict"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Certificate",
    "Counterexample",
    "Private",
    "Proved",
    "Refuted",
    "Unknown",
    "Verdict",
    "check",
    "drawn",
    "finite",
    "infer",
    "private",
    "read_certificate",
    "recheck",
    "write_certificate",
]


def __getattr__(name: str) -> Any:
    if name == "finite":
        return import_module("discreet.verbs.prove.finite")
    if name not in _HOME:
        raise AttributeError(f"discreet.prove has no {name!r}")
    return getattr(import_module(f"discreet.prove.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
