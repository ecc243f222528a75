"""Data to try things on.

- Small worked cases with known answers: ``inpatient``, ``got``, ``tarragona5``, ``age6``, ``students``,
  ``psychiatric``, ``drug_trial``, ``bits``, ``block7``, ``municipality`` and ``municipality_totals``, ``transactions``.
- A made-up hospital of any size, with a public voter list beside it: ``hospital``; made-up firms: ``firms``.
- Real public data: ``abalone``, ``adult``, ``contraceptive``, ``german_credit``, ``titanic``.

Each is a function that gives a `Table` with a fully declared card (``hospital`` gives several). Nothing heavy
is imported before one is called for.
"""

from discreet.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
