import json
import re

from tests.attack.cases import bare

import discreet as dc
from discreet.verbs.attack.attack import attack
from discreet.verbs.attack.finding import Finding, Outcome, failed_finding
from discreet.verbs.attack.report import Report, describe_details


def finding(name, figure, baseline, outcome=Outcome.BROKE):
    return Finding(name, "The attacker knows.", outcome, figure, (0.0, 1.0), baseline, "It means.", (3, 7))


REPORT = Report(
    "a <release>",
    "people",
    (
        failed_finding("stopped", "The attacker knows.", "The links are missing."),
        finding("nothing", 0.2, 0.3, Outcome.NOTHING),
        finding("much by luck", 0.9, 0.85),
        finding("worst", 0.6, 0.1),
    ),
    (("other", "It is for other releases."),),
)


def test_the_worst_comes_first_and_what_could_not_run_last():
    assert [one.attack for one in REPORT.findings] == ["worst", "much by luck", "nothing", "stopped"]
    assert REPORT.worst.attack == "worst"
    assert REPORT.summary == (
        "3 attacks on a <release>: 2 of them learned something. 1 more could not run. "
        "The worst: worst, 60.0 % where guessing gives 10.0 %."
    )


def test_found_nothing_and_could_not_run_are_told_apart():
    assert "nothing: found nothing" in str(REPORT)
    assert "stopped: could not run" in str(REPORT)
    assert "Why it could not run: The links are missing." in str(REPORT)
    assert "other: It is for other releases." in str(REPORT)
    quiet = Report("r", "people", (finding("nothing", 0.2, 0.3, Outcome.NOTHING),))
    assert quiet.worst is None
    assert "no proof of safety" in quiet.summary
    nobody = Report("r", "people", (failed_finding("stopped", "", "Why."),))
    assert nobody.summary.endswith("so its risk is unknown.")


def test_too_few_people_to_tell_is_said_of_what_is_neither():
    few = Report("r", "two", (finding("nothing", 0.2, 0.3, Outcome.NOTHING), finding("few", 1.0, 0.5, Outcome.UNSURE)))
    assert [one.attack for one in few.findings] == ["few", "nothing"]
    assert few.worst is None
    assert few.summary.startswith(
        "2 attacks on r: none of them learned something. For 1 of them there are too few people to tell."
    )
    assert "few: too few people to tell" in str(few)
    assert "too few people to rule out chance; it may also be worse." in str(few)
    assert '<span class="badge none">too few people to tell</span>' in few._repr_html_()


def test_victims_are_in_the_stewards_page_alone(tmp_path):
    page = REPORT.html(tmp_path / "report.html").read_text()
    assert "victim rows" in page
    assert "Confidential: it names" in page
    passed = REPORT.without_victims().html(tmp_path / "passed.html").read_text()
    assert "victims" not in passed
    assert "victims" not in repr(REPORT)
    assert "3, 7" not in repr(REPORT)
    assert "victims" not in json.dumps(REPORT.to_dict())
    assert REPORT.to_dict(victims=True)["findings"][0]["victims"] == [3, 7]


def test_the_page_opens_offline_and_runs_nothing(tmp_path):
    page = REPORT.html(tmp_path / "report.html").read_text()
    assert "default-src 'none'" in page
    assert "a &lt;release&gt;" in page
    assert "<release>" not in page
    assert not re.search(r"<script|https?://(?!www\.w3\.org)", page)
    assert page.count("<img") == 1


def test_details_are_told_in_words_and_shares_in_per_cent(tmp_path):
    raw = {"guesses": 1000, "guessing": 0.0333, "control": 0.2, "risk": 0.5, "risk from": 0.4, "risk to": 0.6}
    raw |= {"columns": ["age", "town"], "candidate rows": {"1": 2}, "TPR": 0.9, "a thing said in words": 1.5}
    assert describe_details(raw) == [
        ("guesses made", "1,000"),
        ("success rate without the release", "3.3 %"),
        ("success rate on the control group", "20.0 %"),
        ("risk added by the release, as a share of the maximum", "50.0 % (95 %: 40.0 % to 60.0 %)"),
        ("columns used", "age, town"),
        ("true positive rate", "90.0 %"),
        ("a thing said in words", "1.5"),
    ]
    assert describe_details({"columns": {"age": 0.25}}) == [("revealed, by column", "age: 25.0 %")]
    one = Finding("a", "k", Outcome.BROKE, 0.5, (0.4, 0.6), 0.1, "m", details=raw)
    page = Report("r", "people", (one,)).html(tmp_path / "r.html").read_text()
    assert "true positive rate" in page
    assert "TPR" not in page


def test_a_real_report_has_both_pictures_and_is_readable():
    table = dc.samples.tarragona5()
    report = attack(bare(table), table)
    assert [picture.title for picture in report.pictures()] == [
        "Success rate of each attack",
        "People by number of candidate rows",
    ]
    assert report._repr_html_().count("<img") == 2
    json.dumps(report.to_dict(victims=True))
