"""Adult: the census extract that nearly every paper on anonymisation uses."""

from __future__ import annotations

from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.read import read
from discreet.samples.public.data_files import read_data_file

_WORKCLASS = {
    "Government": ["Federal-gov", "State-gov", "Local-gov"],
    "Self-employed": ["Self-emp-inc", "Self-emp-not-inc"],
    "Employee": ["Private"],
    "Unpaid": ["Without-pay", "Never-worked"],
}
_EDUCATION = {
    "School": {
        "Primary": ["Preschool", "1st-4th", "5th-6th", "7th-8th"],
        "Secondary": ["9th", "10th", "11th", "12th", "HS-grad"],
    },
    "Higher": {
        "Undergraduate": ["Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors"],
        "Graduate": ["Masters", "Prof-school", "Doctorate"],
    },
}
_MARITAL = {
    "Married": ["Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"],
    "Not married": ["Never-married", "Divorced", "Separated", "Widowed"],
}
_RELATIONSHIP = {
    "Couple": ["Husband", "Wife"],
    "Relative": ["Own-child", "Other-relative"],
    "No family": ["Not-in-family", "Unmarried"],
}
_OCCUPATION = {
    "White collar": ["Exec-managerial", "Prof-specialty", "Adm-clerical", "Sales", "Tech-support"],
    "Blue collar": [
        "Craft-repair", "Machine-op-inspct", "Handlers-cleaners", "Transport-moving", "Farming-fishing",
    ],
    "Service": ["Other-service", "Priv-house-serv", "Protective-serv", "Armed-Forces"],
}  # fmt: skip
_COUNTRY = {
    "America": {
        "North America": ["United-States", "Outlying-US(Guam-USVI-etc)", "Canada", "Mexico"],
        "Central America": ["El-Salvador", "Guatemala", "Honduras", "Nicaragua"],
        "Caribbean": ["Puerto-Rico", "Cuba", "Jamaica", "Dominican-Republic", "Haiti", "Trinadad&Tobago"],
        "South America": ["Columbia", "Ecuador", "Peru"],
    },
    "Asia": {
        "East Asia": ["China", "Hong", "Japan", "South", "Taiwan"],
        "South-East Asia": ["Cambodia", "Laos", "Philippines", "Thailand", "Vietnam"],
        "South and West Asia": ["India", "Iran"],
    },
    "Europe": {
        "Northern Europe": ["England", "Ireland", "Scotland"],
        "Western Europe": ["France", "Germany", "Holand-Netherlands"],
        "Southern Europe": ["Greece", "Italy", "Portugal", "Yugoslavia"],
        "Eastern Europe": ["Hungary", "Poland"],
    },
}


def adult() -> Table:
    """32,561 adults of the United States census of 1994, and whether they earned more than 50,000 dollars.

    Becker and Kohavi, Adult (the training part); from the UCI Machine Learning Repository (CC BY 4.0),
    without the sampling weight. Missing values (of workclass, occupation and country) are NULL; the spelling of
    countries is the file's. Roles and hierarchies are ours.
    """
    card = Card(
        "adult",
        (
            Column("age", Kind.INTEGER, Role.QUASI, bounds=(17, 90), hierarchy=Intervals(widths=(5, 10, 20))),
            _grouped("workclass", Role.QUASI, Taxonomy.from_tree(_WORKCLASS)),
            _grouped("education", Role.QUASI, Taxonomy.from_tree(_EDUCATION)),
            Column(
                "education_num",
                Kind.INTEGER,
                Role.QUASI,
                bounds=(1, 16),
                hierarchy=Intervals(widths=(4, 8), anchor=1),
                note="education as a number: says the same",
            ),
            _grouped("marital_status", Role.QUASI, Taxonomy.from_tree(_MARITAL)),
            _grouped("occupation", Role.SENSITIVE, Taxonomy.from_tree(_OCCUPATION)),
            _grouped("relationship", Role.QUASI, Taxonomy.from_tree(_RELATIONSHIP)),
            Column(
                "race",
                Kind.TEXT,
                Role.QUASI,
                categories=("White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"),
            ),
            Column("sex", Kind.TEXT, Role.QUASI, categories=("Female", "Male")),
            Column("capital_gain", Kind.INTEGER, Role.SENSITIVE, bounds=(0, 99_999)),
            Column("capital_loss", Kind.INTEGER, Role.SENSITIVE, bounds=(0, 9_999)),
            Column("hours_per_week", Kind.INTEGER, bounds=(1, 99)),
            _grouped("native_country", Role.QUASI, Taxonomy.from_tree(_COUNTRY)),
            Column("income", Kind.TEXT, Role.SENSITIVE, categories=("<=50K", ">50K")),
        ),
    )
    return read(read_data_file("adult.csv.gz", card.columns), card)


def _grouped(name: str, role: Role, taxonomy: Taxonomy) -> Column:
    """A column whose categories are the leaves of its taxonomy."""
    return Column(name, Kind.TEXT, role, categories=taxonomy.leaves, hierarchy=taxonomy)
