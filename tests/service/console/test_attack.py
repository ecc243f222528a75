"""The Attack page: what can be attacked, and the report as it is shown."""

import datetime as dt

from tests.service.console.conftest import seen, text

from discreet.core.loss import Pure
from discreet.curator.release_index import Shelved
from discreet.models.k_anonymity import KAnonymity
from discreet.samples import inpatient
from discreet.service.console.attack import figure, report, why_not
from discreet.verbs.attack.attack import attack
from discreet.verbs.publish.generalize import Generalize
from discreet.verbs.publish.publish import publish


def shelved(kind, loss=None):
    at = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    return Shelved("a" * 8, kind, "a title", ("visits",), "steward", at, "publish", loss, False, False, "published/a")


def test_only_published_rows_are_attacked_and_others_say_why_not():
    assert not why_not(shelved("published"))
    assert "ε 0.5" in why_not(shelved("answer", Pure("0.5")))
    assert "Tabulate page" in why_not(shelved("tabulated"))


def test_nothing_to_attack_yet(console):
    async def act(user):
        await user.open("/attack")
        assert "Nothing has been released yet" in text(user)

    console.visit("steward", act)


def test_a_report_says_what_each_attack_gets_beside_guessing(console):
    table = inpatient()
    release = publish(table, Generalize(levels={"zip": 2, "age": 1, "nationality": 1}), [KAnonymity(4)])
    found = attack(release, table, attacks=["homogeneity", "uniqueness", "distance linkage"]).to_dict(victims=True)

    async def act(user):
        await user.open("/attack")
        with user:
            report(found, "a-job")
        assert found["summary"] in text(user)
        assert "homogeneity" in text(user)
        assert all(figure(one) in text(user) for one in found["findings"])
        assert len(seen(user, "finding-0")) == 1
        assert "rows re-identified" in text(user)

    console.visit("steward", act)
    homogeneity = next(one for one in found["findings"] if one["attack"] == "homogeneity")
    assert figure(homogeneity).startswith("33.3 % (95 %: ")
