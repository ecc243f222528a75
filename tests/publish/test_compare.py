"""The risk–utility map: what is on it, what it says, that it goes on where it was stopped."""

import json
import re
from functools import cache

import numpy as np
import pytest
from tests.utility.sides import people as all_people

import discreet as dc
from discreet.errors import BadInput, DataError, NotFound
from discreet.verbs.publish.compare import EXAMPLE, menu, read_menu
from discreet.verbs.publish.mask.noise import Noise
from discreet.verbs.publish.riskmap import ORIGINAL, Point, RiskMap

METHODS = ("noise alpha=0.05", "noise alpha=1", "rank-swap p=5", "pram keep=0.5 on town")


@cache
def people():
    """Few: risk is measured of every pair of them."""
    return dc.read(all_people().payload().slice(0, 100), card=all_people().card)


@pytest.fixture(scope="module")
def found():
    return dc.compare(people(), METHODS, processes=1)


def made(*points, failed=()):
    placed = tuple(Point(name, risk, loss) for name, risk, loss in points)
    return RiskMap("t", "pil", "Means.", placed + tuple(failed), 10, 1)


def test_the_original_is_at_its_end_and_more_noise_is_less_risk_and_more_loss(found):
    at = {point.method: point for point in found.points}
    assert at[ORIGINAL].loss == 0
    assert at[ORIGINAL].risk == max(point.risk for point in found.points)
    assert at["noise alpha=0.05"].risk > at["noise alpha=1"].risk
    assert at["noise alpha=0.05"].loss < at["noise alpha=1"].loss
    risk = at["rank-swap p=5"]
    assert risk.risk == pytest.approx(risk.interval / 2 + risk.distance / 4 + risk.probabilistic / 4)


@pytest.mark.slow
def test_processes_of_their_own_find_the_same(found):
    again = dc.compare(people(), METHODS[:1], processes=2)
    assert again.points == found.points[:2]


def test_what_was_measured_is_not_measured_again(tmp_path):
    seen = []
    first = dc.compare(people(), METHODS[:1], processes=1, keep=tmp_path / "k")
    again = dc.compare(
        people(), METHODS[:2], processes=1, keep=tmp_path / "k", progress=lambda share, what: seen.append((share, what))
    )
    assert seen == [(2 / 3, "2 of 3 already measured"), (1.0, METHODS[1])]
    assert again.points[:2] == first.points
    kept = sorted((tmp_path / "k").iterdir())
    assert len(kept) == 3
    forged = dict(json.loads(kept[0].read_text()), loss=0.5)
    kept[0].write_text(json.dumps(forged))
    kept[1].write_text("{broken")
    once_more = dc.compare(people(), METHODS[:2], processes=1, keep=tmp_path / "k")
    assert [p.loss for p in once_more.points].count(0.5) == 1  # taken from the shelf
    assert len([p for p in once_more.points if p in again.points]) == 2  # the broken one was measured again


def test_other_data_another_seed_or_measure_share_nothing(tmp_path):
    rows = people().payload()
    other = dc.read(rows.slice(1), card=people().card)
    for table, options in ((people(), {}), (other, {}), (people(), {"seed": 2}), (people(), {"loss": "il1"})):
        dc.compare(table, [], processes=1, keep=tmp_path / "k", **options)
    assert len(list((tmp_path / "k").iterdir())) == 4


def test_the_frontier_holds_what_nothing_beats():
    shown = made(("a", 0.5, 0.1), ("b", 0.5, 0.2), ("c", 0.2, 0.3), ("d", 0.3, 0.3), ("e", 0.1, 0.9), (ORIGINAL, 1, 0))
    assert [p.method for p in shown.frontier] == [ORIGINAL, "a", "c", "e"]
    rng = np.random.default_rng(1)
    many = made(*((str(i), *rng.random(2)) for i in range(100)))
    for p in many.points:
        beaten = any(
            q.risk <= p.risk and q.loss <= p.loss and (q.risk, q.loss) != (p.risk, p.loss) for q in many.points
        )
        assert beaten == (p not in many.frontier)


def test_it_explains_what_there_is_to_choose_between():
    said = made(("a", 0.5, 0.1), ("c", 0.15, 0.3), ("e", 0.04, 0.9), (ORIGINAL, 1, 0)).recommend
    assert "All 3 maskings are Pareto-optimal" in said
    beaten = made(("a", 0.5, 0.1), ("b", 0.6, 0.2), ("c", 0.15, 0.3), (ORIGINAL, 1, 0)).recommend
    assert "Of 3 maskings, 2 are Pareto-optimal" in beaten
    assert "For a maximum risk of 5%, “e” has the least loss (risk 4.0%, loss 0.900)" in said
    assert "For a maximum risk of 20%, “c” has the least loss" in said
    assert "from “a” to “c”: 35.0% less risk for 0.200 more loss" in said
    assert "“c” is best" in said
    assert "attack the release" in said
    assert "No method could be measured" in made((ORIGINAL, 1, 0)).recommend


def test_the_page_opens_offline_runs_nothing_and_escapes(tmp_path):
    shown = made(("<b>&", 0.5, 0.1), (ORIGINAL, 1, 0), failed=[Point("bad", why="<i>no")])
    page = shown.html(tmp_path / "map.html")
    assert (tmp_path / "map.html").read_text() == page
    assert "<b>&" not in page
    assert "<i>no" not in page
    assert "default-src 'none'" in page
    assert "http" not in page.replace("http-equiv", "")
    for label in ("&lt;b&gt;&amp;", "efficient frontier", ORIGINAL):
        assert label in shown.picture.svg or label in shown.picture.caption
    assert "polyline" in shown.picture.svg


def test_labels_do_not_lie_on_each_other():
    shown = made(*((f"method {i}", 0.5, 0.5) for i in range(10)), (ORIGINAL, 1, 0))
    places = re.findall(r'<text x="([0-9.]+)" y="([0-9.]+)">method', shown.picture.svg)
    assert len(places) == len(set(places)) == 10


def test_labels_do_not_lie_on_dots():
    shown = made(*((f"rank-swap p={i}", 0.1 * i, 0.0) for i in range(1, 7)), (ORIGINAL, 1, 0)).picture.svg
    dots = [(float(x), float(y)) for x, y in re.findall(r'cx="([0-9.]+)" cy="([0-9.]+)"', shown)]
    labels = re.findall(r'<text x="([0-9.]+)" y="([0-9.]+)">(rank-swap p=.|original)<', shown)
    assert len(labels) == len(dots) == 7
    for left, base, text in labels:
        for x, y in dots:
            across = float(left) - 4 < x < float(left) + 6.6 * len(text) + 4
            assert not (across and float(base) - 12 < y < float(base) + 4)


def test_a_measure_that_sees_nothing_names_no_winner():
    blind = made(("a", 0.5, 0.0), ("c", 0.15, 1e-17), (ORIGINAL, 1, 0))
    assert "pil does not measure these methods: use --loss il1" in blind.recommend
    assert "is best" not in blind.recommend
    assert [p.method for p in blind.frontier] == [ORIGINAL]
    assert "? a" in str(blind)
    some = made(("a", 0.5, 0.0), ("c", 0.15, 0.3), (ORIGINAL, 1, 0))
    assert some.recommend.startswith("pil does not measure “a”")
    assert "“c” is best" in some.recommend
    assert some.to_dict()["unseen"] == ["a"]


def test_a_method_that_cannot_be_measured_is_listed_with_the_reason(found):
    only = dc.read(people().payload().select(["town", "ill"]), card=dc.Card("t", people().card.columns[3:]))
    shown = dc.compare(only, ["pram keep=0.5"], processes=1)
    assert [p.method for p in shown.failed] == [ORIGINAL, "pram keep=0.5"]
    assert "holds numbers" in str(shown)
    assert not found.failed


def test_maskers_of_python_are_taken_too():
    shown = dc.compare(people(), [Noise(0.5)], processes=1)
    assert shown.points[1].method.startswith("Noise(alpha=0.5")
    assert shown.to_dict()["points"][1]["risk"] == shown.points[1].risk


def test_mistakes_are_told_before_anything_is_measured():
    for methods, options, message in (
        (["nonsense"], {}, "no masking method"),
        (["noise alpha=1", "noise  alpha=1"], {}, "named twice"),
        ([dc.KAnonymity(2)], {}, "Only masking methods"),
        ([], {"loss": "nonsense"}, "no measure"),
        ([], {"loss": "regressions"}, "better when larger"),
        ([], {"processes": 0}, "processes must be at least 1"),
    ):
        with pytest.raises(BadInput, match=message):
            dc.compare(people(), methods, **options)


def test_a_menu_names_methods_and_values_to_try(tmp_path):
    text = 'methods = ["a"]\n[[vary]]\nmethod = "b x={x} y={y}"\nx = [1, 2]\ny = [0.5]\n'
    assert menu(text) == ("a", "b x=1 y=0.5", "b x=2 y=0.5")
    (tmp_path / "m.toml").write_text(text)
    assert read_menu(tmp_path / "m.toml") == menu(text)
    assert "noise alpha=0.03" in menu()
    assert menu(EXAMPLE) == menu()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = [", "is not TOML"),
        ("x = 1", "unknown key 'x'"),
        ("methods = [1]", "list of texts"),
        ("vary = 1", "written as"),
        ("", "names no method"),
        ("[[vary]]\nx = [1]", "has no method"),
        ('[[vary]]\nmethod = "a"\nx = [1]', "no placeholder for x"),
        ('[[vary]]\nmethod = "a {y} {x}"\nx = [1]', "no values are given"),
    ],
)
def test_a_menu_that_cannot_be_read_says_why(text, message):
    with pytest.raises((BadInput, DataError), match=message):
        menu(text)


def test_a_menu_that_is_not_there():
    with pytest.raises(NotFound, match="no list of methods"):
        read_menu("nowhere.toml")
