"""The worked cases that concern asking: sensitivities, prices, and what a question costs."""

from fractions import Fraction

import pyarrow as pa
import pytest

from discreet import samples
from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.core.loss import Pure, sequential
from discreet.engines.bounded_table import bounded
from discreet.engines.read import read
from discreet.noise.laplace import DiscreteLaplace
from discreet.verbs.ask.answer import answer, exact_answer
from discreet.verbs.ask.plan import plan
from discreet.verbs.ask.price import price


def measured(text, table):
    """What one unit can change each measure by, in the figure's own unit."""
    made = plan(text, {table.card.name: table})
    return [measure.most * measure.step for measure in made.measures.values()]


def test_a_count_has_sensitivity_1_and_the_sum_of_drug_x_has_4():
    trial = samples.drug_trial()
    assert measured("SELECT COUNT(*) FROM drug_trial", trial) == [1]
    (drug,) = measured("SELECT SUM(drug_x) FROM drug_trial", trial)
    assert drug == pytest.approx(4, rel=1e-6)
    assert drug >= 4


@pytest.mark.parametrize(("records", "scale"), [(5, 19_800), (10**6, Fraction(99, 1000))])
def test_the_mean_of_salaries_needs_noise_by_how_many_there_are(records, scale):
    columns = (Column("salary", Kind.REAL, bounds=(1_000.0, 100_000.0), required=True),)
    rows = pa.table({"salary": [1_000.0, 100_000.0, 50_500.0, 20_000.0, 81_000.0]})
    table = read(rows, Card("staff", columns, at_least=records))
    assert measured("SELECT AVG(salary) FROM staff", table) == [pytest.approx(float(scale), rel=2e-3)]
    made = plan("SELECT AVG(salary) AS mean FROM staff", {"staff": table})
    paid = price(made, 1)
    (noise,) = paid.noise.values()
    assert noise.scale * made.figures["f0"].step == pytest.approx(float(scale), rel=2e-3)
    if records == 5:
        assert exact_answer(made, {}).column("mean")[0].as_py() == pytest.approx(50_500, abs=0.01)
        means = [answer(made, paid).column("mean")[0].as_py() for _ in range(200)]
        assert min(means) >= 1_000 and max(means) <= 100_000


def test_a_mean_has_a_visible_mass_at_both_ends_of_its_bounds():
    incomes = [1000, 2000, 3000, 2000, 1000, 6000, 2000, 10000, 2000, 4000]
    card = Card("t", (Column("income", Kind.INTEGER, bounds=(2000, 4000), required=True),), at_least=10)
    table = bounded(read(pa.table({"income": incomes}), card))
    made = plan("SELECT AVG(income) AS mean FROM t", {"t": table})
    paid = price(made, Fraction(1, 10))
    means = [answer(made, paid).column("mean")[0].as_py() for _ in range(300)]
    assert min(means) == 2000 and max(means) == 4000
    assert means.count(2000) > 30 and means.count(4000) > 30


def test_laplace_noise_is_rarely_beyond_sensitivity_over_epsilon_times_ln_1_over_beta():
    noise = DiscreteLaplace.for_loss(Pure("0.1"), 1)
    assert noise.error("0.05") == pytest.approx(10 * 2.9957, abs=1)


def test_eight_prefix_questions_cost_eight_epsilon_and_one_grouped_question_one():
    bits = samples.bits()
    prefixes = [f"SELECT COUNT(*) FROM bits WHERE 4 * D1 + 2 * D2 + D3 <= {top}" for top in range(8)]
    tables = {"bits": bits}
    epsilon = Fraction(1, 2)
    prices = [price(plan(text, tables), epsilon) for text in prefixes]
    assert sequential(one.loss for one in prices) == Pure(8 * epsilon)
    histogram = plan("SELECT D1, D2, D3, COUNT(*) AS n FROM bits GROUP BY D1, D2, D3", tables)
    once = price(histogram, epsilon)
    assert once.loss == Pure(epsilon)
    found = answer(histogram, once)
    assert found.num_rows == 8, "every declared group is there, those without rows too"


def test_an_average_gives_ms_rich_away_without_noise_and_not_with():
    poor, rich = samples.psychiatric(), samples.psychiatric(rich=True)
    text = f"SELECT AVG({poor.columns[-1]}) AS mean FROM {poor.card.name}"
    for table in (poor, rich):
        made = plan(text, {poor.card.name: table})
        low, high = (float(end) for end in next(iter(made.figures.values())).within)
        (mean,) = answer(made, price(made, 1))["mean"].to_pylist()
        assert low <= mean <= high
    noise = max(measure.most * measure.step for measure in made.measures.values())
    assert noise >= (high - low) / 2, "one person can move the sum by half the bounds, and the noise hides that"
