"""Explanations of parameters for users who are not statisticians: the texts behind "What does this promise?".

Figures are worked out by ``curator/advice.py``. Blank lines divide paragraphs.
"""

from __future__ import annotations

from discreet.core.exact import Number
from discreet.curator.advice import beliefs, count_error
from discreet.errors import BadInput

EPSILON = """Epsilon (ε) says how much any one person's data may change what comes out. The smaller it is, the \
better everybody is protected, and the further off the figures are.

It holds whatever else somebody knows, now or later, and whatever they do with the answer. What is spent adds up: \
that is why there is a budget."""

DELTA = """Delta (δ) is a small chance that the promise of epsilon does not hold. It is needed when the groups of an \
answer are not listed on the table's card: a group that only one person is in must stay hidden, and with chance δ it \
does not.

Choose it far below one in the number of people, such as 0.000001."""

BUDGET = """A budget is all that may ever be told about the people in a table. Every new answer takes a part of it; \
the same question again costs nothing, because it gets the same answer. When the budget is gone, no new question is \
answered, so that nobody can put answers together until somebody is found out.

An analyst's own budget lies below the table's: both must have enough left."""

ERROR = """Every figure has noise added to it, so that no single person shows. The error bar says how far off it may \
be: 95 times in 100 the true figure lies within it."""

SYNTHETIC = """The budget does not cover this question, so it was answered on the table's synthetic stand-in: rows of \
people who never existed, drawn so that many of them together look like those of the table. The stand-in was paid for \
when it was made, so asking it costs nothing and nobody loses anything by it.

No noise was added to these figures: they are off because the stand-in is. Where it was measured how far, an error bar \
says so: 95 times in 100 the table's own figure lies within it. Where there is no error bar, no bound is known: \
take the figure as a hint, and pay for the answer before you rely on it."""

K = """k-anonymity: whoever knows the columns that outsiders may know about somebody (such as age, sex and place) \
finds at least k rows that look the same, and cannot tell which is theirs.

It says nothing about what those rows have in common: if all of them have the same illness, everybody in the group \
is known to have it. Ask for diversity (l) or closeness (t) too."""

L = """l-diversity: in every group of rows that look the same, the sensitive column has at least l different values. \
So whoever finds somebody's group still does not know which value is theirs."""

T = """t-closeness: in every group of rows that look the same, the sensitive values are spread nearly as in the \
whole table; t says how far they may differ. Whoever finds somebody's group learns little more than everybody knows. \
0.2 is common; smaller protects more."""

SUPPRESS = """How many rows may be left out so that the others can stay more detailed. People who stand out are \
usually those left out: figures about rare groups suffer."""

THRESHOLD = """A cell with fewer people than this is hidden: a count of one or two points at somebody."""

P_PERCENT = """p% rule: a cell is hidden if the second largest contributor could work out the largest one's figure \
to within p per cent, by taking their own away from the total."""

PQ = """pq rule: as the p% rule, when everybody knew the others' figures to within q per cent before."""

DOMINANCE = """Dominance: a cell is hidden if the n largest contributors make up more than k per cent of it, since \
then it tells nearly what they have."""

INTERVAL = """Whoever reads the table knows that rows and columns add up. The interval is what they can work out of \
a hidden cell, at best. It is wide enough when it holds by the rules that were chosen."""

HIDE = """Whoever mines what leaves, with the support and the confidence you give here (or more), does not find \
the secrets. That is checked by mining it before it leaves. What else a miner then misses is counted, and told to you.

It protects nobody's privacy. Nobody is anonymous by it, and it is no differential privacy: but for a few items, \
people's rows leave as they are. Publish makes rows in which nobody can be singled out.

Whoever asks for less than you gave here may find the secrets; a margin makes that harder. Whoever has the original, \
or another release of it, can compare."""

ATTACK = """discreet plays the intruder: somebody who has the release, and knows something about the people in it. \
The report says how many of them are found, and how surely. It is about real people, and for the holder alone."""

RISK_MAP = """Each point is a way to change the table. The further to the right, the more an intruder learns; the \
further up, the more of it is lost. The line joins the best there are: for each of the other points there is one \
that is better in both."""


MODELS = {
    "k-anonymity": K,
    "l-diversity": L,
    "t-closeness": T,
    "entropy l-diversity": "As l-diversity, and no value may be so common in a class that guessing it is nearly always "
    "right: the mix is at least as even as l equally likely values.",
    "recursive (c,l)-diversity": "In every class the commonest value is less than c times as frequent as the rare ones "
    "together, so that somebody who can rule a few values out still cannot be sure.",
    "(α,k)-anonymity": "Every class has at least k rows, and no sensitive value makes up more than the share alpha of "
    "it: nobody can be surer of a value than that.",
    "β-likeness": "In no class does a sensitive value become likelier than in the whole table by more than beta times. "
    "This protects rare values, which t-closeness may not.",
    "δ-disclosure": "Every sensitive value occurs in every class, neither likelier nor less likely than in the whole "
    "table by a factor of 2 to the delta. The strictest of these: small tables seldom allow it.",
    "prosecutor risk": "Somebody who knows that a person is in the table, and all that outsiders may know of them, "
    "points at the right row with at most this chance. It is k-anonymity, said as a chance: 0.2 is a class of five.",
    "average risk": "The chance to be found, on average over everybody. It bounds nobody's own chance: one person may "
    "still stand alone. Use it beside another model.",
    "population uniqueness": "An estimate of how many people would be unique among all those the rows were drawn from. "
    "It is a guess from the sizes of classes, and promises nothing to any one person.",
}
"""Explanations of privacy models by name in the catalogue; the catalogue's summaries explain the others."""
RULES = {"minimum frequency": THRESHOLD, "p%": P_PERCENT, "prior-posterior": PQ, "(n,k)-dominance": DOMINANCE}
"""Explanations of sensitivity rules for cells, by name in the catalogue."""


def epsilon(value: Number) -> str:
    """Meaning of an epsilon, in figures; a general text if it is not a valid epsilon."""
    try:
        even = next(one for one in beliefs(value) if one.prior == 0.5)
        rare = next(one for one in beliefs(value) if one.prior == 0.01)
        off = count_error(value)
    except BadInput:
        return EPSILON
    return (
        f"{EPSILON}\n\nAt ε = {value}: somebody who held it as likely as not that a person has an illness, say, holds "
        f"it {_chance(even.least)} to {_chance(even.most)} likely after seeing the answer, whatever it is. Who held it "
        f"1 % likely holds it at most {_chance(rare.most)} likely.\n\nA count of people is off by at most {off:,.1f}, "
        "95 times in 100, if each person has one row."
    )


def _chance(share: float) -> str:
    return f"{100 * share:.3g} %"


BUILDER = """Everything you choose from is on the table's card: columns, listed values, bounds. No row is looked at \
before you ask.

Filter: which rows count; all filters must hold. Compute: a number of rows or people, or the average, sum or median of \
a column whose bounds are declared. Several figures share the price, so each has a larger error than alone.

Group by: one figure for each group. Dates are grouped by year, quarter, month or day, numbers by bins of equal width; \
a bin is named by where it begins. Groups that the card does not list need a delta (δ), and small ones stay hidden."""
