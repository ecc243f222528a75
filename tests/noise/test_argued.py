"""Every mechanism says why it is private, and every sampler why it is right."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

from discreet import noise

MODULES = [importlib.import_module(f"discreet.noise.{found.name}") for found in pkgutil.iter_modules(noise.__path__)]
MECHANISMS = [
    member
    for module in MODULES
    for _, member in inspect.getmembers(module, inspect.isclass)
    if member.__module__ == module.__name__ and "loss" in vars(member) | vars(member.__mro__[1])
    if not inspect.isabstract(member)
]


def test_mechanisms_are_found() -> None:
    assert {"DiscreteGaussian", "DiscreteLaplace", "Exponential", "SparseVector"} <= {
        one.__name__ for one in MECHANISMS
    }
    assert len(MECHANISMS) >= 7


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.__name__)
def test_a_mechanism_says_why_it_is_private(mechanism: type) -> None:
    assert "Why this is private:" in (mechanism.__doc__ or "")


def test_only_the_entropy_asks_the_operating_system() -> None:
    for module in MODULES:
        if not module.__name__.endswith(".entropy"):
            for forbidden in ("urandom", "secrets", "import random"):
                assert forbidden not in inspect.getsource(module)


def test_only_masking_which_promises_nothing_draws_from_numpy() -> None:
    drawing = {module.__name__ for module in MODULES if "np.random" in inspect.getsource(module)}
    assert drawing == {"discreet.noise.masking"}
