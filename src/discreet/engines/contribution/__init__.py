"""Contribution bounding: the code on which the sensitivity of every measurement of private rows rests.

It works on SQL trees and numbers and knows nothing of how they were worked out: what an expression is said to be, its
bounds, its kind, whether it is ever NULL, is a proposal here, and never believed
(``docs/decisions/0008-enforced-contributions.md`` has the whole argument).
"""
