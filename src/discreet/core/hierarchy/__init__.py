"""Hierarchies: labels that make a value coarser, level by level, up to ``*``; one module for each kind."""

from discreet.core.hierarchy.coding import Coding
from discreet.core.hierarchy.dates import Dates
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.hierarchy.mask import Mask
from discreet.core.hierarchy.ordered import Ordered
from discreet.core.hierarchy.ranges import Range, Ranges
from discreet.core.hierarchy.taxonomy import Taxonomy

__all__ = ["Coding", "Dates", "Intervals", "Mask", "Ordered", "Range", "Ranges", "Taxonomy"]
