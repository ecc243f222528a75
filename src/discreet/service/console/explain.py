"""Explanations of terms and parameters, for the texts behind "What does this mean?" and for the glossary.

Figures are computed by ``curator/advice.py``. Blank lines divide paragraphs.
"""

from __future__ import annotations

import re

from discreet.core.exact import Number
from discreet.curator.advice import beliefs, count_error
from discreet.errors import BadInput

EPSILON = """Epsilon (ε) bounds how much one person's data can change the answer. Smaller values protect people \
better and add more noise.

The bound holds whatever else an intruder knows, now or later, and whatever they do with the answer. The ε of all \
answers adds up; the budget limits the sum."""

DELTA = """Delta (δ) is a small probability that the guarantee of ε fails. It is needed when the groups of an answer \
are not declared on the table's card: a group with a single person must stay hidden, and with probability δ it does \
not.

Choose it far below one over the number of people, such as 0.000001."""

BUDGET = """The privacy budget is the most that may ever be told about the people in a table. Every new answer takes \
a part of it. The same question again is free, because it gets the same answer. When the budget is spent, no new \
question is answered: otherwise many answers together could single someone out.

An analyst's budget is part of the table budget: both must have enough left."""

ERROR = """Every figure carries random noise that hides the presence of any one person. The error bar is a 95 % \
interval: the true figure lies within it 95 times in 100."""

SYNTHETIC = """The budget does not cover this question, so it was answered on the table's synthetic stand-in: rows of \
people who never existed, drawn so that together they look like those of the table. The stand-in was paid for when it \
was made, so asking it is free and tells nothing more about anyone.

No noise was added to these figures; they are off because the stand-in is. Where that error was measured, there is a \
95 % error bar. Where there is none, no bound is known: take the figure as a hint, and pay for the answer before you \
rely on it."""

K = """k-anonymity: every row shares its quasi-identifiers (the columns outsiders may know) with at least k−1 others. \
Rows that share them form an equivalence class, and an intruder cannot tell which row of the class belongs to whom. 5 \
is common; 10 or more for sensitive data.

It does not hide the sensitive column. If everyone in a class has the same illness, anyone who is known to be in it is \
known to have it. Add l-diversity or t-closeness against that."""

L = """l-diversity: every equivalence class has at least l different values of the sensitive column. An intruder who \
finds someone's class still does not know which value is theirs."""

T = """t-closeness: in every equivalence class the sensitive values are distributed nearly as in the whole table; t \
is the largest distance allowed. An intruder who finds someone's class learns little beyond what is known of \
everyone. 0.2 is common; smaller protects more."""

SUPPRESS = """Suppression leaves rows out so that the others keep more detail. People who stand out are the first to \
be left out, so figures about rare groups suffer most."""

THRESHOLD = """Minimum frequency: a cell with fewer people than this is sensitive, since a count of one or two points \
to someone."""

P_PERCENT = """p% rule: a cell is sensitive if the second largest contributor can estimate the largest one to within \
p per cent, by subtracting their own value from the total."""

PQ = """Prior–posterior (pq) rule: as the p% rule, for contributors who already know each other's values to within q \
per cent."""

DOMINANCE = """(n,k)-dominance: a cell is sensitive if its n largest contributors make up more than k per cent of it, \
since the total then nearly reveals their values."""

INTERVAL = """Rows and columns of a table add up, so a reader can compute a lower and an upper bound of every \
suppressed cell: its feasibility interval. A sensitive cell is protected when this interval is at least as wide as \
its rule demands."""

HIDE = """Someone who mines the release with the support and confidence given here, or higher ones, does not find \
the secrets. That is checked by mining it before it is released. Other itemsets and rules that get lost are counted \
and shown to you.

This protects no one's privacy: it is neither k-anonymity nor differential privacy, and apart from a few removed \
items people's rows are released unchanged. To protect people, use Publish.

Mining with lower thresholds may find the secrets; a safety margin makes that harder. Anyone who has the original, \
or another release of it, can compare the two."""

INTEGRAL = """Integral privacy: at least k different sets of people in the table give this very model, and no one is \
in all of them. The model does not reveal which set it was learnt from, so no one's part in it is certain.

It is not differential privacy: other sets of people give the same model, but nothing is said of how likely each of \
them is. What the model says about people in general also applies to those it was learnt from.

A coarser model (a smaller tree, a larger step) recurs more often. If none recurs often enough, nothing is released."""

ATTACK = """discreet plays an intruder who holds the release and knows the quasi-identifiers of the people in it. The \
report says how many are re-identified and how certain the figure is, beside what guessing achieves. It is about real \
people, and for the holder of the data only."""

RISK_MAP = """Each point is a masking method. Further right means higher disclosure risk, further up more information \
lost; the best corner is at the lower left. The line is the efficient frontier: every point off it is beaten by one \
on it that has less risk and no more loss, or less loss and no more risk."""

LOCAL = """Local differential privacy: answers are randomised in the respondent's browser before anything is sent. \
Whatever someone answers, no report is more than e^ε times as likely as it would be with any other answers. So \
no one who sees the reports, you included, can be sure of anyone's answer.

Chance evens out over many people: shares and means can be estimated, with error bars. The smaller ε, the stronger the \
promise and the more people it takes: 1 to 2 is usual, and above 5 little is hidden. With ε = 2 and 200 people, the \
share of a single yes-or-no question is off by about 3 percentage points.

It is promised once for all questions together. Anyone who answers twice loses twice as much, and counts twice."""

PROVE = """A program names its private inputs, draws noise, and shows something (emit, return). Its first lines are \
the claim: “adjacent one by 1” makes two inputs neighbours if one item differs by at most 1; “claim eps” says that no \
output is more than e^eps times as likely for an input as for its neighbour. “claim 1/2, 1/1000” has a delta, too.

“z := $ Laplace(1/eps, 0)” draws Laplace noise of scale 1/eps around 0. There are also DLaplace (whole numbers), \
Exp, Gaussian, Bernoulli, Uniform and ExpMech (the exponential mechanism). The language of programs, in the \
documentation, defines all of it.

Python works, too: functions marked with @private, which are read and never run."""

VERDICTS = {
    "PROVED": "The claim holds for all inputs that the program may be given, of any length. The proof relates two runs "
    "on neighbouring inputs, draw by draw: each draw of the first run is coupled with one of the second so that both "
    "show the same, and the costs of all couplings together are at most the claim.\n\nThe proof was checked by a "
    "program that does not trust the search. It is about the program as it is written, with exact arithmetic: an "
    "implementation with floating-point noise may leak more.",
    "REFUTED": "The claim is false. Two neighbouring inputs and an event are shown whose probabilities differ by more "
    "than the claim allows. The counterexample was computed again before it was shown.",
    "UNKNOWN": "Neither a proof nor a counterexample was found within the time limit. The claim may be true or false: "
    "allow more time, or make the program simpler.",
}
"""Explanations of verdicts on a program."""

TERMS = {
    "Card": "Declares each column of a table: its type, its possible values and its role. Guarantees rest on it.",
    "Identifier": "A column that names a person, such as a name or a patient number. It is never released.",
    "Quasi-identifier": "A column that outsiders may know of a person, such as age or postcode. Several together may "
    "single a person out.",
    "Sensitive column": "A column whose value must not be learned about a person, such as a diagnosis.",
    "Equivalence class": "The rows that share their quasi-identifiers.",
    "Privacy model": "A condition that released rows must satisfy, such as k-anonymity. It is checked before release.",
    "Epsilon (ε)": EPSILON,
    "Delta (δ)": DELTA,
    "Privacy budget": BUDGET,
    "Error bar": ERROR,
    "Ledger": "The append-only record of every charge to a budget.",
    "Synthetic stand-in": "Made-up rows, drawn with a privacy loss, that answer questions when a budget is spent.",
    "Suppression": SUPPRESS,
    "Sensitive cell": "A cell of a table that would tell too much about a contributor, by a rule such as minimum "
    "frequency or p%.",
    "Primary and secondary suppression": "Primary suppression hides sensitive cells. Secondary suppression hides "
    "others, so that the sensitive ones cannot be computed from totals.",
    "Feasibility interval": INTERVAL,
    "Joint exposure": "What several releases about the same people tell together. Each may be safe alone.",
    "Record linkage": "An attack that matches released rows with people by the values an intruder knows.",
    "Differential privacy": "A guarantee that no output is much more likely with a person's data than without: at most "
    "e^ε times, up to δ. It holds whatever an intruder knows.",
    "Neighbouring inputs": "Two inputs that differ in one person's data. A claim of differential privacy is about all "
    "pairs of them.",
    "Counterexample": "Two neighbouring inputs and an event whose probabilities differ by more than a claim allows.",
    "Certificate": "A proof as a file, which anyone can check again without searching for it.",
    "Local differential privacy": LOCAL,
    "Integral privacy": INTEGRAL,
    "Risk–utility map": RISK_MAP,
    "Masking": "Changing the values of rows, for example by noise or by swapping, instead of making them coarser.",
    "Itemsets and association rules": "An itemset is a set of items that occur together in transactions. A rule, "
    "bread → butter, says that transactions with the first often have the second.",
    "Support and confidence": "The support of an itemset is the share of transactions that contain it. The confidence "
    "of a rule is the share of transactions with its first part that also have its second.",
    "Coalition": "Parties that pool what they have seen. A session says what each coalition could learn.",
    "Re-identification": "Finding out to whom a released row belongs.",
    "Steward, analyst, auditor": "A steward manages data and releases, an analyst asks within a budget, an auditor "
    "reads the records.",
    "Token": "A secret by which a program signs in with your rights, or fewer.",
    "Audit log": "The append-only record of who did what, and when.",
    "Statement": "What a release guarantees, to whom, on what evidence, and under which assumptions.",
    "Recipe": "Everything needed to repeat a release: method, parameters and versions.",
}
"""Terms of the glossary page, with their explanations."""

MODELS = {
    "k-anonymity": K,
    "l-diversity": L,
    "t-closeness": T,
    "entropy l-diversity": "As l-diversity, and no sensitive value may dominate an equivalence class: its values are "
    "at least as evenly spread as l equally likely ones.",
    "recursive (c,l)-diversity": "In every equivalence class the commonest sensitive value is less than c times as "
    "frequent as the rare ones together. An intruder who can rule out a few values still cannot be sure.",
    "(α,k)-anonymity": "Every equivalence class has at least k rows, and no sensitive value makes up more than the "
    "share α of it: no one can be surer of a value than that.",
    "β-likeness": "In no equivalence class may a sensitive value be more than β times likelier than in the whole "
    "table. This protects rare values, which t-closeness may not.",
    "δ-disclosure": "In every equivalence class each sensitive value is as likely as in the whole table, up to a "
    "factor of 2 to the power δ. The strictest of these models: small tables seldom satisfy it.",
    "prosecutor risk": "An intruder who knows that a person is in the table, and their quasi-identifiers, finds the "
    "right row with at most this probability. It is k-anonymity as a probability: 0.2 means classes of five.",
    "average risk": "The probability of re-identification, averaged over everyone. It bounds no single person's risk: "
    "one may still be unique. Combine it with another model.",
    "population uniqueness": "An estimate of how many people are unique in the population that rows were drawn from. "
    "It rests on a statistical model of class sizes, and guarantees nothing to any one person.",
}
"""Explanations of privacy models by name in the catalogue; the catalogue's summaries explain the others."""
RULES = {"minimum frequency": THRESHOLD, "p%": P_PERCENT, "prior-posterior": PQ, "(n,k)-dominance": DOMINANCE}
"""Explanations of sensitivity rules for cells, by name in the catalogue."""


def _models() -> dict[str, str]:
    """Privacy models and rules for cells by name: that which an explanation begins with, or that of the catalogue."""
    found = {}
    for name, text in (MODELS | RULES).items():
        begun = re.match(r"([^:.]{1,30}): ", text)
        term = begun[1] if begun else name
        has_symbol = not term[1].isalpha()  # k-anonymity, p% rule
        found[term if has_symbol else _capital(term)] = _capital(text[begun.end() :] if begun else text)
    return found


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


GLOSSARY = dict(sorted({**TERMS, **_models()}.items(), key=lambda term: term[0].casefold()))
"""All terms that the console explains, in order."""


def term_id(name: str) -> str:
    """The anchor of a term on the glossary page."""
    return re.sub(r"\W+", "-", name.casefold()).strip("-")


def epsilon(value: Number) -> str:
    """Meaning of an epsilon, in figures; a general text if it is not a valid epsilon."""
    try:
        even = next(one for one in beliefs(value) if one.prior == 0.5)
        rare = next(one for one in beliefs(value) if one.prior == 0.01)
        off = count_error(value)
    except BadInput:
        return EPSILON
    return (
        f"{EPSILON}\n\nAt ε = {value}: an intruder who thinks it 50 % likely that a person has some illness thinks so "
        f"with {_chance(even.least)} to {_chance(even.most)} after any answer; one who thinks it 1 % likely, with at "
        f"most {_chance(rare.most)}.\n\nA count of people is off by at most {off:,.1f}, 95 times in 100, if each "
        "person has one row."
    )


def _chance(share: float) -> str:
    return f"{100 * share:.3g} %"


BUILDER = """Everything you choose from is on the table's card: columns, listed values, bounds. No row is looked at \
before you ask.

Filter: which rows count; all filters must hold. Compute: a number of rows or people, or the average, sum or median of \
a column whose bounds are declared. Several figures share the price, so each has a larger error than alone.

Group by: one figure for each group. Dates are grouped by year, quarter, month or day, numbers by bins of equal width; \
a bin is named by where it begins. Groups that the card does not list need a delta (δ), and small ones stay hidden."""
