"""Knowledge hiding in transactions, association-rule mining, and rules that discriminate.

    clean = discreet.hide("baskets.csv", support="2%", confidence="60%", itemsets=["bread, wine"])

Each name is loaded when it is first used.
"""

from discreet.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
