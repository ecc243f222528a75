"""Is this program really private? A proof that a person can read, or two neighbouring inputs that break it.

The modules by subject: ``prove`` (the verb), ``programs`` (texts, files, Python functions), ``checker`` and ``kernel``
(what has to be right for a PROVED), ``prover`` and ``refuter`` (searches that nothing relies on), ``distributions``
(what can be drawn), ``finite`` (exact distances and couplings of finite programs).

The names below are loaded when they are first used.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "certificate": ("Certificate", "read_certificate", "write_certificate"),
    "prove": ("infer_epsilon", "recheck"),
    "picture": ("draw_verdict",),
    "python_programs": ("Private", "private"),
    "refuter.counterexample": ("Counterexample",),
    "verdicts": ("ProofVerdict", "Proved", "Refuted", "Unknown"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(["check", "finite", *_HOME])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name == "finite":
        return import_module("discreet.verbs.prove.finite")
    if name == "check":
        return import_module("discreet.verbs.prove.prove").prove
    if name not in _HOME:
        raise AttributeError(f"discreet.prove has no {name!r}")
    return getattr(import_module(f"discreet.prove.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
