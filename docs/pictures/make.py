"""Draw the pictures of the documentation: ``python docs/pictures/make.py``. A test draws them again and compares."""

import json
import math
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from pathlib import Path

import pyarrow as pa

import discreet as dc
from discreet.budget.convert import to_approximate
from discreet.core.loss import Concentrated, Pure
from discreet.core.markup import Markup, drawing, tag
from discreet.core.report import Axis, bars, curves
from discreet.curator.advice import drawn_beliefs, lee_clifton
from discreet.noise.laplace import DiscreteLaplace
from discreet.verbs import collect, combine

HERE = Path(__file__).parent


def unique() -> str:
    """How many patients of a made-up town are alone with what an outsider may know of them."""
    patients = dc.samples.hospital(rows=100_000, seed=1).table("patients")
    rows = patients.count()
    known = {
        "date of birth": {},
        "month of birth": {"birth_date": 1},
        "year of birth": {"birth_date": 3},
        "year, zip cut to 3": {"zip": 2, "birth_date": 3},
    }
    shares = []
    for levels in known.values():
        sizes = patients.histogram("zip", "sex", "birth_date", levels=levels)["n"].to_pylist()
        shares.append(100 * sizes.count(1) / rows)
    return bars("Share of people who are unique on zip, sex and …, in per cent", list(known), shares).svg


EPSILONS = ("0.05", "0.1", "0.5", "1", "2")


def error() -> str:
    """Error of a count for several epsilons; a larger epsilon is less private and more accurate."""
    errors = [DiscreteLaplace.for_loss(Pure(epsilon)).error("0.05") for epsilon in EPSILONS]
    labels = [f"ε = {epsilon}" for epsilon in EPSILONS]
    return bars("Error of a count at 95 % confidence", labels, errors).svg


def belief() -> str:
    """Highest posterior belief of an adversary with a prior of one in ten."""
    prior = 0.1
    beliefs = [100 * prior * math.exp(float(e)) / (1 - prior + prior * math.exp(float(e))) for e in EPSILONS]
    labels = ["before", *(f"ε = {epsilon}" for epsilon in EPSILONS)]
    return bars("Upper bound on an adversary's belief, per cent", labels, [100 * prior, *beliefs]).svg


def with_and_without() -> str:
    """Probability of each noisy count with and without one person, at an epsilon of one half."""
    q = math.exp(-0.5)

    def chance(noise: int) -> float:
        return (1 - q) / (1 + q) * q ** abs(noise)

    answers = range(92, 110)
    return curves(
        "Distribution of a noisy count, ε = 0.5",
        Axis("noisy count", range(92, 111, 2)),
        Axis("probability", (0.0, 0.05, 0.1, 0.15, 0.2, 0.25)),
        {
            "100 people": [(answer, chance(answer - 100)) for answer in answers],
            "with you: 101": [(answer, chance(answer - 101)) for answer in answers],
        },
    ).svg


def posterior() -> str:
    """What an adversary can believe after all that an epsilon of one pays for."""
    return drawn_beliefs(1).svg


def composition() -> str:
    """Cost of the joint distribution of three bits, asked in three ways with the same epsilon per count."""
    ways = ["eight running counts", "three single bits", "one histogram"]
    return bars("Total cost, in multiples of one question's epsilon", ways, [8, 3, 1]).svg


def many() -> str:
    """What many questions at a tenth cost together: summed, and kept as rho."""
    counts = [1, 2, 5, *range(10, 201, 10)]
    each = Fraction("0.1") ** 2 / 2  # Bun and Steinke 2016, Proposition 1.4
    kept = [(count, float(to_approximate(Concentrated(count * each), "1e-6").epsilon)) for count in counts]
    return curves(
        "What many questions at ε = 0.1 cost together",
        Axis("questions", range(0, 201, 25)),
        Axis("ε", range(0, 21, 5)),
        {
            "sum of ε": [(count, count / 10) for count in counts],
            "as ρ (zCDP), δ = 1e-6": kept,
        },
    ).svg


def averaging() -> str:
    """How near the mean of many answers to one question would come, if each had fresh noise."""
    spread = math.sqrt(DiscreteLaplace(10).variance)
    counts = [1, 10, 100, 1000, 10_000]
    return curves(
        "Error of the mean of all answers, at ε = 0.1 each",
        Axis("times asked", counts, log=True),
        Axis("typical error", (0.1, 1, 10, 100), log=True),
        {
            "fresh noise": [(count, spread / math.sqrt(count)) for count in counts],
            "the stored answer": [(count, spread) for count in counts],
        },
    ).svg


def candidates() -> str:
    """How surely an adversary picks the one of four who is missing, by epsilon (Lee and Clifton's example)."""
    chosen = lee_clifton(4, "1/3", sensitivity="17/6", spread=3)
    epsilons = [step / 20 for step in range(41)]
    risk = [(one, 1 / (1 + 3 * math.exp(-one * 3 / (17 / 6)))) for one in epsilons]
    return curves(
        "Picking one out of four",
        Axis("ε", (0.0, 0.5, 1.0, 1.5, 2.0)),
        Axis("probability of a correct pick, at most", (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)),
        {"at most": risk, "accepted: 1/3": [(0.0, 1 / 3), (2.0, 1 / 3)]},
        dots={f"ε = {chosen:.4f}": (chosen, 1 / 3)},
    ).svg


def published() -> str:
    """What publishing with 5-anonymity does to the risk of people in a made-up town."""
    patients = dc.samples.hospital(rows=20_000, seed=1).table("patients")
    release = dc.publish(patients, dc.Generalize(suppress="0.05"), dc.KAnonymity(5))
    return next(picture.svg for picture in release.pictures if picture.title.startswith("Risk"))


def reconstruction() -> str:
    """How many of 500 secrets are computed from 2,000 noisy counts, as ``bench/reconstruct.py`` measured it."""
    curve = json.loads((HERE / "reconstruction.json").read_text())
    return curves(
        "Secrets computed from 2,000 noisy counts of 500 people",
        Axis(
            "standard deviation of the noise (the square root of the people is 22)",
            (1, 3, 10, 30, 100, 300, 500),
            log=True,
        ),
        Axis("share correct (guessing: 0.5)", (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)),
        {
            name: [(one["noise"], one[key]) for one in curve]
            for name, key in (("theory", "expected"), ("least squares", "squares"), ("linear program", "program"))
        },
    ).svg


def exposure_law() -> str:
    """How much tables tell together as they pile up, as ``bench/exposure.py --law`` measured it."""
    shares = json.loads((HERE / "exposure.json").read_text())["shares"]
    return curves(
        "Counts determined by all tables together, a million people",
        Axis("unprotected tables released", (1, 10, 100, 1000), log=True),
        Axis("share determined", (0, 0.25, 0.5, 0.75, 1)),
        {
            "of all counts": [(tables, share) for tables, share, _ in shares],
            "weighted by people": [(tables, share) for tables, _, share in shares],
        },
    ).svg


def exposure_growth() -> str:
    """How long it takes to check a table together with earlier ones, as ``bench/exposure.py --law`` measured it."""
    growth = json.loads((HERE / "exposure.json").read_text())["growth"]
    return curves(
        "Checking one more table, a million people",
        Axis("earlier tables", (10, 30, 100, 300, 1000), log=True),
        Axis("CPU seconds", range(0, 31, 5)),
        {"the check": [tuple(one) for one in growth]},
    ).svg


PAY = {"north": 31_000, "east": 42_000, "south": 27_500, "west": 55_000}


def combined(protocol: str, party: str = "", **more: int) -> str:
    """How four people learn the sum of their salaries, or what one of them sees of it."""
    return combine.simulate(protocol, PAY, bounds=(0, 100_000), seed=1, **more).show(party).svg


def dining() -> str:
    """How three people learn that one of them paid, and not who."""
    paid = {"north": 0, "east": 1, "south": 0}
    return combine.simulate("dining", paid, function="parity", seed=1).show().svg


# -- diagrams of the pages on concepts

WIDTH = 640
ROW = 22
SHEET = (
    "text{font:13px system-ui,sans-serif;fill:#243040}.head{font-weight:600}.soft{fill:#5b6878}.right{text-anchor:end}"
    ".mid{text-anchor:middle}.band0{fill:#d5e6ee}.band1{fill:#f3ddd0}.band2{fill:#e3e9d3}.bar{fill:#2f6f8f}"
    ".warn{fill:#a8501c}.line{stroke:#2f6f8f;stroke-width:1.6;fill:none}.rule{stroke:#8a97a6}"
    ".alert{stroke:#a8501c;stroke-width:1.6;fill:none}.cut{stroke-dasharray:4 3}.node{fill:#e8f0f4;stroke:#2f6f8f}"
    ".on{fill:#fff}"
    "@media(prefers-color-scheme:dark){text{fill:#dde4ec}.soft{fill:#a9b6c4}.band0{fill:#1f4252}.band1{fill:#5a351f}"
    ".band2{fill:#3d4a20}.bar{fill:#6fb3d2}.warn{fill:#e9a06f}.line{stroke:#6fb3d2}.rule{stroke:#7b8896}"
    ".alert{stroke:#e9a06f}.node{fill:#1d3340;stroke:#6fb3d2}.on{fill:#12202a}}"
)


def text(x: float, y: float, words: object, class_: str = "") -> Markup:
    """A line of text; ``class_`` may be head, soft, warn, right (end at x) or mid (centre at x)."""
    return tag("text", str(words), x=x, y=y, class_=class_ or None)


def line(x1: float, y1: float, x2: float, y2: float, class_: str = "line") -> Markup:
    """A straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def box(x: float, y: float, width: float, height: float, class_: str) -> Markup:
    """A rectangle with slightly rounded corners."""
    return tag("rect", x=x, y=y, width=width, height=height, rx=2, class_=class_)


def grid(x: float, y: float, widths: Sequence[float], rows: Sequence[Sequence[object]]) -> list[Markup]:
    """Rows of cells; the first row is the heading, and columns with a number are aligned on the right."""
    ends = list(accumulate(widths, initial=x))
    drawn = [line(x, y + ROW - 5, ends[-1], y + ROW - 5, "rule")]
    for start, end, cells in zip(ends, ends[1:], zip(*rows, strict=True), strict=False):
        numbers = any(isinstance(cell, int) for cell in cells)
        at, look = (end - 8, "right") if numbers else (start + 4, "")
        for down, cell in enumerate(cells):
            shown = f"{cell:,}" if isinstance(cell, int) else cell
            drawn.append(text(at, y + 12 + down * ROW, shown, look if down else f"head {look}"))
    return drawn


def classes() -> str:
    """Twelve inpatients before and after generalisation, with their equivalence classes."""
    inpatients = dc.samples.inpatient()
    coarse = inpatients.generalize({"zip": 2, "age": 1, "nationality": 1})
    names = ["zip", "age", "nationality", "condition"]
    after = [tuple(str(row[name]) for name in names) for row in coarse.fetch().to_pylist()]
    before = [tuple(str(row[name]) for name in names) for row in inpatients.fetch().to_pylist()]
    keys = list(dict.fromkeys(row[:3] for row in after))
    drawn = [text(4, 16, "As collected: each row is unique", "head"), text(340, 16, "Generalised: 4-anonymous", "head")]
    for place, row in enumerate(after):
        drawn += [box(x, 48 + place * ROW, 296, ROW, f"band{keys.index(row[:3])}") for x in (0, 336)]
    drawn += grid(0, 30, (64, 48, 100, 84), [names, *before]) + grid(336, 30, (64, 48, 100, 84), [names, *after])
    sizes = Counter(row[:3] for row in after)
    said = "; ".join(f"{', '.join(key)}: {sizes[key]} rows" for key in keys)
    return drawing(WIDTH, 54 + ROW * len(after), "Equivalence classes", drawn, said=said, sheet=SHEET)


CONTRIBUTIONS = [(20, 30), (10,), (25, 15, 40, 35, 20), (45, 120), (30, 5, 10)]
MOST_ROWS, UPPER = 3, 50


def contributions() -> str:
    """Rows of five people, and which parts of them contribution bounds cut off."""
    scale, left, drawn = 3.0, 72, [text(4, 16, "What each person adds to a sum", "head")]
    for place, values in enumerate(CONTRIBUTIONS):
        top, x = 34 + place * 32, float(left)
        drawn.append(text(4, top + 15, f"person {place + 1}"))
        for row, value in enumerate(values):
            kept = min(value, UPPER) if row < MOST_ROWS else 0
            for part, look in ((kept, "band0"), (value - kept, "alert cut")):
                if part:
                    drawn += [
                        box(x, top, part * scale - 2, ROW, look),
                        text(x + part * scale / 2, top + 15, part, "mid"),
                    ]
                    x += part * scale
    limit, bottom = left + MOST_ROWS * UPPER * scale, 34 + 32 * len(CONTRIBUTIONS)
    drawn += [
        line(limit, 26, limit, bottom),
        text(limit, 16, f"sensitivity {MOST_ROWS} × {UPPER} = {MOST_ROWS * UPPER}", "mid"),
    ]
    drawn += [box(left, bottom + 8, 28, 14, "band0"), text(left + 34, bottom + 20, "counts")]
    drawn += [box(left + 110, bottom + 8, 28, 14, "alert cut")]
    drawn += [text(left + 144, bottom + 20, f"cut off: above {UPPER}, or after {MOST_ROWS} rows")]
    said = "; ".join(
        f"person {place}: {sum(values)} before, {sum(min(one, UPPER) for one in values[:MOST_ROWS])} after"
        for place, values in enumerate(CONTRIBUTIONS, 1)
    )
    return drawing(WIDTH, bottom + 30, "Contribution bounds", drawn, said=said, sheet=SHEET)


TURNOVER = {
    "municipality": ["M1"] * 3 + ["M2"] * 3 + ["M3"] * 3,
    "profession": ["P1", "P2", "P3"] * 3,
    "value": [360, 450, 720, 1440, 540, 22, 722, 1178, 363],
    "count": [2, 15, 30, 72, 20, 1, 38, 38, 5],
    "largest_1": [200, 60, 40, 30, 50, 22, 40, 80, 350],
}


def intervals() -> str:
    """A table with hidden cells, and what an intruder can compute for each of them."""
    release = dc.tabulate(dc.read_table(pa.table(TURNOVER)), rules="n=1,k=0.7")
    cells = zip(release.payload.to_pylist(), release.holder.details.rows().to_pylist(), strict=True)
    known = {(row["municipality"], row["profession"]): cell for row, cell in cells}
    rows, columns = ["M1", "M2", "M3", "Total"], ["P1", "P2", "P3", "Total"]
    drawn = [text(4, 16, "What is published", "head"), text(300, 16, "What an intruder can compute", "head")]
    for down, row in enumerate(rows):
        for across, column in enumerate(columns):
            if known[row, column]["hidden"]:
                look = "band1" if known[row, column]["sensitive"] else "band0"
                drawn.append(box(50 + across * 52, 49 + down * ROW, 50, ROW - 2, look))
    shown = [["", *columns], *([row, *(known[row, one]["printed"] or "×" for one in columns)] for row in rows)]
    drawn += grid(0, 30, (50, 52, 52, 52, 52), shown)
    drawn += [box(4, 150, 28, 14, "band1"), text(38, 162, "sensitive (primary)")]
    drawn += [box(4, 172, 28, 14, "band0"), text(38, 184, "hidden to protect it (secondary)")]
    hidden = {name: cell for name, cell in known.items() if cell["hidden"]}
    scale = 200 / max(cell["high"] for cell in hidden.values())
    for place, (name, cell) in enumerate(hidden.items()):
        y, low, high = 42 + place * ROW, 376 + cell["low"] * scale, 376 + cell["high"] * scale
        drawn.append(text(300, y, " · ".join(name)))
        drawn.append(box(low, y - 11, high - low, 14, "band1" if cell["sensitive"] else "band0"))
        true = 376 + cell["value"] * scale
        drawn += [line(true, y - 13, true, y + 5, "alert"), text(high + 6, y, f"{cell['low']:.0f}–{cell['high']:,.0f}")]
    end = 42 + len(hidden) * ROW
    drawn += [
        line(300, end - 6, 300, end + 8, "alert"),
        text(308, end + 6, "true value, which only the holder knows", "soft"),
    ]
    said = "; ".join(f"{', '.join(name)}: {one['low']:.0f} to {one['high']:.0f}" for name, one in hidden.items())
    return drawing(WIDTH, end + 16, "Suppressed cells and their intervals", drawn, said=said, sheet=SHEET)


def two_coins() -> str:
    """Randomised response with two coins, and the probability of each report."""
    nodes = {  # the middle of each node
        "the true answer": (64, 80),
        "first coin": (212, 80),
        "report the truth": (396, 46),
        "second coin": (396, 114),
        "report yes": (576, 88),
        "report no": (576, 140),
    }
    ways = [
        ("the true answer", "first coin", ""),
        ("first coin", "report the truth", "heads ½"),
        ("first coin", "second coin", "tails ½"),
        ("second coin", "report yes", "heads ½"),
        ("second coin", "report no", "tails ½"),
    ]
    drawn = [text(4, 16, "What the device does", "head")]
    for start, end, coin in ways:
        (x1, y1), (x2, y2) = nodes[start], nodes[end]
        drawn.append(line(x1 + 60, y1, x2 - 60, y2))
        if coin:
            drawn.append(text((x1 + x2) / 2 - 6, (y1 + y2) / 2 + (-15 if y2 < y1 else 24), coin, "mid soft"))
    for name, (x, y) in nodes.items():
        drawn += [box(x - 60, y - 15, 120, 30, "node"), text(x, y + 5, name, "mid")]
    drawn.append(text(4, 192, "How likely each report is", "head"))
    truth = dict(zip(("yes", "no"), collect.Coins().report_distribution.rows, strict=True))
    for place, (answer, chances) in enumerate(truth.items()):
        y, yes = 204 + place * 32, float(chances[0]) * 440
        drawn += [text(4, y + 15, f"the true answer is {answer}"), box(170, y, yes - 2, ROW, "band0")]
        drawn += [box(170 + yes, y, 438 - yes, ROW, "band1"), text(178, y + 15, f"yes {chances[0]}")]
        drawn.append(text(602, y + 15, f"no {chances[1]}", "right"))
    said = "; ".join(f"if the answer is {name}, yes {one[0]} and no {one[1]}" for name, one in truth.items())
    return drawing(WIDTH, 264, "Randomised response with two coins", drawn, said=said, sheet=SHEET)


MODULUS = 1_000_000


def pieces() -> str:
    """Four salaries, each split into random pieces that add up to it modulo a million."""
    chance, names = random.Random(1), list(PAY)  # noqa: S311
    split = {}
    for name, value in PAY.items():
        random_pieces = [chance.randrange(MODULUS) for _ in names[1:]]
        split[name] = [*random_pieces, (value - sum(random_pieces)) % MODULUS]
    sums = [sum(row[column] for row in split.values()) % MODULUS for column in range(len(names))]
    total = sum(sums) % MODULUS
    drawn = [text(4, 16, "Each row: a salary, split into four random pieces", "head"), box(410, 32, 104, 114, "band0")]
    rows = [["", "salary", *(f"to {name}" for name in names)], *([name, PAY[name], *split[name]] for name in names)]
    drawn += grid(0, 34, (70, 132, 104, 104, 104, 104), rows)
    drawn += [line(0, 150, 618, 150, "rule"), text(4, 168, "sum of each column")]
    drawn += [text(298 + 104 * place, 168, f"{one:,}", "right") for place, one in enumerate(sums)]
    drawn.append(text(514, 192, "Besides its own row, south sees this column and the four sums.", "right soft"))
    drawn.append(text(4, 222, f"The four sums are broadcast. They add up to {total:,} (modulo {MODULUS:,}).", "head"))
    said = "; ".join(
        f"{name}: {PAY[name]} = {' + '.join(map(str, row))} modulo {MODULUS}" for name, row in split.items()
    )
    return drawing(WIDTH, 234, "Additive secret sharing", drawn, said=said, sheet=SHEET)


def nearest_rows() -> str:
    """People that an intruder knows, masked rows, and the nearest row to each person."""
    chance = random.Random(4)  # noqa: S311
    people = [(chance.uniform(60, 420), chance.uniform(40, 250)) for _ in range(16)]
    masked = [(x + chance.gauss(0, 24), y + chance.gauss(0, 24)) for x, y in people]
    drawn, right = [text(4, 16, "Nearest released row to each known person", "head")], 0
    for place, known in enumerate(people):
        nearest = min(range(len(masked)), key=lambda row: math.dist(known, masked[row]))
        right += nearest == place
        drawn.append(line(*known, *masked[nearest], "line" if nearest == place else "alert cut"))
    drawn += [tag("circle", cx=x, cy=y, r=5, class_="bar") for x, y in people]
    drawn += [tag("rect", x=x - 5, y=y - 5, width=10, height=10, class_="on node") for x, y in masked]
    drawn += [line(40, 26, 40, 270, "rule"), line(40, 270, 450, 270, "rule"), text(450, 286, "age", "right soft")]
    drawn.append(text(46, 36, "income", "soft"))
    drawn += [tag("circle", cx=480, cy=60, r=5, class_="bar"), text(496, 65, "known person")]
    drawn += [tag("rect", x=475, y=82, width=10, height=10, class_="on node"), text(496, 92, "released row")]
    drawn += [line(468, 116, 490, 116), text(496, 121, f"correct link: {right}")]
    drawn += [line(468, 144, 490, 144, "alert cut"), text(496, 149, f"wrong link: {len(people) - right}")]
    said = f"{right} of {len(people)} people are linked to their own row"
    return drawing(WIDTH, 294, "Record linkage by distance", drawn, said=said, sheet=SHEET)


def differencing() -> str:
    """Two tables of the clinic of the page on exposure, and their difference."""
    towns, illnesses = ["Ayr", "Bath", "Cork", "Dover"], ["flu", "cancer", "none"]
    rows = [(towns[n % 4], 79 if n == 17 else 18 + n % 60, illnesses[n % 3]) for n in range(400)]
    everyone = Counter((town, ill) for town, _, ill in rows)
    younger = Counter((town, ill) for town, age, ill in rows if age < 79)
    tables = {"Release 1: everyone": everyone, "Release 2: under 79": younger, "Difference": everyone - younger}
    widths = (46, 38, 60, 48)
    drawn, said = [], []
    for place, (title, counts) in enumerate(tables.items()):
        x = place * 224
        drawn += [text(x + 4, 16, title, "head")]
        if title == "Difference":
            for town, ill in counts:
                across = illnesses.index(ill) + 1
                left, top = x + sum(widths[:across]), 49 + ROW * towns.index(town)
                drawn.append(box(left, top, widths[across], ROW - 2, "band1"))
        rows_shown = [["", *illnesses], *([town, *(counts[town, ill] for ill in illnesses)] for town in towns)]
        drawn += grid(x, 30, widths, rows_shown)
        said.append(f"{title}: " + ", ".join(f"{town} {ill} {count}" for (town, ill), count in counts.items()))
    drawn += [text(207, 86, "−", "mid head"), text(431, 86, "=", "mid head")]
    drawn.append(text(WIDTH, 160, "the 79-year-old in Bath has no illness", "right warn"))
    return drawing(WIDTH, 170, "Differencing two safe tables", drawn, said="; ".join(said), sheet=SHEET)


PICTURES = {
    "averaging.svg": averaging,
    "belief.svg": belief,
    "candidates.svg": candidates,
    "classes.svg": classes,
    "combine-dining.svg": dining,
    "combine-leaving.svg": lambda: combined("masks", threshold=3),
    "combine-masks.svg": lambda: combined("masks"),
    "combine-paths.svg": lambda: combined("paths count=2"),
    "combine-ring.svg": lambda: combined("ring"),
    "combine-shares.svg": lambda: combined("shares"),
    "combine-south.svg": lambda: combined("ring", "south"),
    "combine-trusted.svg": lambda: combined("trusted"),
    "composition.svg": composition,
    "contributions.svg": contributions,
    "differencing.svg": differencing,
    "error.svg": error,
    "exposure-growth.svg": exposure_growth,
    "exposure-law.svg": exposure_law,
    "intervals.svg": intervals,
    "many.svg": many,
    "nearest-rows.svg": nearest_rows,
    "pieces.svg": pieces,
    "posterior.svg": posterior,
    "published.svg": published,
    "reconstruction.svg": reconstruction,
    "two-coins.svg": two_coins,
    "unique.svg": unique,
    "with-and-without.svg": with_and_without,
}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (HERE / name).write_text(draw())
