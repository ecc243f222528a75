"""Is this program really private? A proof that a person can read, or two neighbouring inputs that break it.

    from discreet.verbs import prove

    print(prove.check("svt.dp"))

    @prove.private(adjacent="one", claim="eps")
    def count(x: prove.Private[float]) -> float:
        noise = Laplace(1 / eps)
        return x + noise

    print(prove.check(count))

Each name is loaded when it is first used.
"""

from discreet.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
